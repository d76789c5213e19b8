//! `oomph status`: once, again and again, and over HTTP, with a fake of NVIDIA's library and without one.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use oomph_testkit::{exposition, nvml};

const GPU: &str = "\
driver 580.159.04
cuda 13000
gpu NVIDIA H200
uuid GPU-1
capability 9 0
memory 150754820096 644874240 2147483648
process compute 4194305 1073741824
";

/// The command with this library in place of NVIDIA's and no settings in the environment.
fn command(library: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oomph"));
    command.arg("status").args(words).env("OOMPH_NVML", library).env_remove("NO_COLOR");
    command.env_remove("PYTORCH_ALLOC_CONF").env_remove("PYTORCH_CUDA_ALLOC_CONF");
    command
}

fn run(library: &Path, words: &[&str]) -> Output {
    command(library, words).output().unwrap()
}

/// A library of a test's own.
fn fake(test: &str, scenario: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("status-{test}"));
    fs::create_dir_all(&folder).unwrap();
    nvml::library(&folder, scenario, &[]).unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The first words of each line that has a label.
fn labels(report: &str) -> Vec<&str> {
    let label = |line: &'_ str| line.starts_with("  ") && !line.starts_with("   ");
    report.lines().filter(|line| label(line)).map(|line| line[2..].split("  ").next().unwrap()).collect()
}

#[test]
fn without_a_driver_it_says_so_in_a_line_and_shows_the_rest() {
    let output = run(Path::new("/no/such/library.so"), &[]);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    let report = text(&output.stdout);
    // Jobs that oomph records elsewhere on this machine may come next.
    assert!(
        report.starts_with("no GPU: no NVIDIA driver is installed, or none is visible here\n"),
        "{report}"
    );
    let shown = labels(&report);
    assert!(shown.contains(&"RAM") && shown.iter().any(|label| label.starts_with("Settings")), "{report}");
    let json = text(&run(Path::new("/no/such/library.so"), &["--json"]).stdout);
    assert!(json.contains("\"no_gpu\": \"no NVIDIA driver") && json.contains("\"gpus\": []"), "{json}");
}

#[test]
fn a_gpu_is_shown_with_its_processes_as_text_and_as_json() {
    let library = fake("text", GPU);
    let report = text(&run(&library, &[]).stdout);
    let expected = "\
1 GPU, driver 580.159.04, CUDA up to 13.0
  GPU 0    NVIDIA H200: 2.00 GiB of 140.40 GiB used, 137.80 GiB free, 615.00 MiB
           kept by the driver

        pid  user      used  command
    4194305  ?     1.00 GiB  (not of this container)
       rest        1.00 GiB  no process that is listed

";
    assert!(report.starts_with(expected), "{report}");
    assert!(report.lines().all(|line| line.chars().count() <= 80), "{report}");
    let json = text(&run(&library, &["--json"]).stdout);
    for part in ["\"used\": 2147483648", "\"pid\": 4194305", "\"visible\": false", "\"obeyed\": null"] {
        assert!(json.contains(part), "{part} is not in\n{json}");
    }
    let set = command(&library, &[]).env("PYTORCH_ALLOC_CONF", "expandable_segments:True").output().unwrap();
    assert!(
        text(&set.stdout).contains(
            "PYTORCH_ALLOC_CONF=expandable_segments:True,\n           which PyTorch before 2.10 ignores"
        ),
        "{}",
        text(&set.stdout)
    );
}

/// Ends a process however the test ends.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn watching_goes_on_until_it_is_interrupted() {
    let library = fake("watch", GPU);
    let child = command(&library, &["--watch", "0.1"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut child = Ended(child);
    let lines = BufReader::new(child.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let titles = lines.filter(|line| line.starts_with("1 GPU, driver")).take(3).count();
    assert_eq!(titles, 3);
    // Where the tests run in the background, a shell has made them and what they start ignore the interrupt.
    let mut words = Command::new("env");
    words.arg("--default-signal=INT").arg(env!("CARGO_BIN_EXE_oomph")).args(["status", "--watch", "0.1"]);
    let mut child = Ended(words.env("OOMPH_NVML", &library).stdout(Stdio::piped()).spawn().unwrap());
    let mut out = BufReader::new(child.0.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    let interrupt = Command::new("kill").args(["-INT", &child.0.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    // A shell calls this 130.
    assert_eq!(child.0.wait().unwrap().signal(), Some(2));
}

#[test]
fn watching_ends_quietly_when_its_reader_leaves() {
    let library = fake("pipe", GPU);
    let mut child =
        command(&library, &["--watch", "0.1"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
}

/// A server on a port that the system chose, and its address.
fn serve(library: &Path) -> (Ended, String) {
    let child = command(library, &["--serve", "0"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut child = Ended(child);
    let mut line = String::new();
    BufReader::new(child.0.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.strip_prefix("oomph: serving http://").unwrap().strip_suffix("/metrics; ^C ends it\n");
    (child, address.unwrap().to_owned())
}

fn ask(address: &str, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn prometheus_is_answered_over_http() {
    let (_server, address) = serve(&fake("serve", GPU));
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    for _ in 0..2 {
        let answer = ask(&address, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let expected = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
             Content-Length: {}\r\nConnection: close",
            body.len()
        );
        assert_eq!(head, expected);
        exposition::check(body);
        assert!(body.contains("pid=\"4194305\",class=\"unknown\""), "{body}");
    }
    // Who leaves without a word, or sends too much, harms nobody.
    drop(TcpStream::connect(&address).unwrap());
    let long = [b"GET /metrics HTTP/1.1\r\nX: ".as_slice(), &[b'x'; 20_000], b"\r\n\r\n"].concat();
    assert!(ask(&address, &long).starts_with("HTTP/1.1 431 "));
    let head = ask(&address, b"HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
    assert!(ask(&address, b"POST /metrics HTTP/1.1\r\n\r\nx").starts_with("HTTP/1.1 405 "));
    assert!(ask(&address, b"GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
}

#[track_caller]
fn check_fails(words: &[&str], code: i32, expected: &str) {
    let output = run(Path::new("/no/such/library.so"), words);
    let found = (output.status.code(), text(&output.stderr), text(&output.stdout));
    assert_eq!(found, (Some(code), format!("{expected}\n"), String::new()), "{words:?}");
}

#[test]
fn a_port_in_use_is_a_line_and_exit_code_1() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    check_fails(
        &["--serve", &address],
        1,
        &format!(
            "oomph: cannot listen on {address}: Address already in use (os error 98): \
             name another address with --serve HOST:PORT"
        ),
    );
}

#[test]
fn mistakes_in_the_command_line_are_exit_code_2() {
    check_fails(
        &["--serve", "nowhere"],
        2,
        "oomph: `nowhere` is not an address: write HOST:PORT or PORT, such as 127.0.0.1:9751",
    );
    check_fails(&["--watch", "0"], 2, "oomph: --watch 0: write a pause between 0.1 and 86400 seconds");
    check_fails(
        &["--watch", "-o", "x.txt"],
        2,
        "oomph: --watch has no end to write to a file: leave --output out",
    );
    for words in [&["--watch", "soon"][..], &["--watch", "--serve"], &["extra"]] {
        assert_eq!(run(Path::new("/no/such/library.so"), words).status.code(), Some(2), "{words:?}");
    }
}

//! What the verbs print of recordings made by oomph's recorder. `OOMPH_BLESS=1` writes the expected files anew.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use oomph_testkit::generate::{Ending, Job};
use oomph_testkit::pickle::{self, Format};
use oomph_trace::sidecar::{Exception, Framework, Host, Identity, Sidecar, Why};
use oomph_trace::{Bytes, Snapshot};

/// A folder of this test's own, gone at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("oomph-recorded-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn oomph(&self, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_oomph")).args(words).current_dir(&self.0).output().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The failure in a forward pass of a job whose stacks are recorded in every sixth step.
fn failure() -> Snapshot {
    Job { events: 15_000, ending: Ending::OutOfMemory, sampled: Some(6), stacks: 40, ..Job::default() }
        .record()
}

/// A process that used no GPU and ended with this exception.
fn without_a_gpu(exception: Option<Exception>) -> Snapshot {
    let sidecar = Sidecar {
        identity: Identity {
            pid: Some(4711),
            argv: vec!["load.py".to_owned()],
            rank: Some(1),
            world_size: Some(2),
            ..Identity::default()
        },
        why: Some(Why::Exit),
        framework: Some(Framework::Torch),
        host: Some(Host {
            rss: Some(Bytes::gib(3)),
            peak_rss: Some(Bytes::gib(30)),
            available: Some(Bytes::mib(700)),
            total: Some(Bytes::gib(32)),
            cgroup_oom_kills: Some(1),
            shm_total: Some(Bytes::mib(64)),
            shm_free: Some(Bytes::ZERO),
            ..Host::default()
        }),
        exception,
        ..Sidecar::default()
    };
    Snapshot { sidecar: Some(sidecar), ..Snapshot::default() }
}

fn exception(class: &str, text: &str) -> Exception {
    Exception {
        class: Some(class.to_owned()),
        text: Some(text.to_owned()),
        traceback: Some(format!(
            "Traceback (most recent call last):\n  File \"/home/user/load.py\", line 12, in <module>\n    \
             table = build()\n{class}: {text}\n"
        )),
        uncaught: true,
        ..Exception::default()
    }
}

/// Explains the recording as text and as JSON, and compares both with the expected files.
fn check(name: &str, snapshot: &Snapshot) {
    let folder = Folder::new(name);
    fs::write(folder.0.join("main.pickle"), pickle::bytes(snapshot, Format::default())).unwrap();
    for (form, words) in
        [("txt", vec!["explain", "main.pickle"]), ("json", vec!["explain", "main.pickle", "--json"])]
    {
        let output = folder.oomph(&words);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let found = String::from_utf8(output.stdout).unwrap();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/expected/{name}.{form}"));
        if std::env::var_os("OOMPH_BLESS").is_some() {
            fs::write(&path, &found).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert!(expected == found, "{} differs from:\n{found}", path.display());
        let wide = found.lines().find(|line| form == "txt" && line.chars().count() > 80);
        assert_eq!(wide, None, "wider than 80 columns");
    }
}

#[test]
fn a_failure_with_its_step_phase_classes_and_card() {
    check("recorded-failure", &failure());
}

#[test]
fn a_run_without_failure() {
    check("recorded-quiet", &Job { events: 9_000, sampled: Some(6), stacks: 40, ..Job::default() }.record());
}

#[test]
fn a_process_that_ran_out_of_host_memory() {
    let text = "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: \
                you tried to allocate 34359738368 bytes. Error code 12 (Cannot allocate memory)";
    check("recorded-host", &without_a_gpu(Some(exception("RuntimeError", text))));
}

#[test]
fn a_process_that_died_of_something_else() {
    check("recorded-other", &without_a_gpu(Some(exception("KeyError", "'lr'"))));
}

#[test]
fn a_process_of_a_group_of_which_another_was_killed() {
    check("recorded-killed", &without_a_gpu(None));
}

#[test]
fn verbs_that_need_memory_of_a_gpu_say_so_in_a_line() {
    let folder = Folder::new("verbs");
    fs::write(folder.0.join("main.pickle"), pickle::bytes(&without_a_gpu(None), Format::default())).unwrap();
    for verb in ["replay", "tune", "inspect"] {
        let output = folder.oomph(&[verb, "main.pickle"]);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &[][..]), "{verb}");
        let expected = "oomph: main.pickle: the recording holds no memory of a GPU: `oomph explain` says what is known \
                        of the process\n";
        assert_eq!(String::from_utf8_lossy(&output.stderr), expected, "{verb}");
    }
}

#[test]
fn the_page_of_a_recording_says_it_too() {
    let folder = Folder::new("page");
    fs::write(folder.0.join("main.pickle"), pickle::bytes(&failure(), Format::default())).unwrap();
    let output = folder.oomph(&["explain", "main.pickle", "--html", "page.html"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(folder.0.join("page.html")).unwrap();
    for part in [
        "<h2>By class</h2>",
        "optimizer state",
        "NVIDIA H200",
        "CUDA context and libraries",
        "stacks are sampled",
    ] {
        assert!(page.contains(part), "{part} is not in the page");
    }
    let number = |text: &str| text.split('"').next().unwrap().parse::<u64>().unwrap();
    let bar = page.split("data-total=\"").nth(1).unwrap();
    let parts = bar.split("</svg>").next().unwrap().split("data-bytes=\"").skip(1);
    assert_eq!(parts.map(number).sum::<u64>(), number(bar));
    // Most of the card is beyond the limit: the bar is the limit, and the table the card.
    assert_eq!(Bytes(number(bar)), Bytes::gib(16));
    assert!(page.contains("All of it adds up to 81.51 GiB. The bar is the limit, 16.00 GiB;"));
}

//! `oomph mcp` by its messages: what is answered, what is refused, and that nothing outlives it.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What should have happened long before.
const LONG: Duration = Duration::from_secs(60);
const ERROR: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.27 GiB. GPU 0 has a total capacity \
                     of 15.00 GiB of which 3.13 GiB is free.";

/// A server, and what is read from it.
struct Server {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Server {
    fn start() -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oomph"));
        command.arg("mcp").current_dir(root()).stdin(Stdio::piped()).stdout(Stdio::piped());
        // The scripts here use no GPU: any file does in the place of the phantom's library.
        command.env("OOMPH_PHANTOM_LIB", env!("CARGO_BIN_EXE_oomph"));
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Server { child, to, from }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.to.as_ref().unwrap(), "{line}").unwrap();
    }

    fn read(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn ask(&mut self, line: &str) -> String {
        self.send(line);
        self.read()
    }

    /// Starts a plan of a script that tells its number and sleeps; gives that number.
    fn plan_that_sleeps(&mut self, id: u32, folder: &Path) -> i32 {
        let told = folder.join(format!("pid-{id}"));
        // Written beside and moved, so that it is whole as soon as it is there.
        let code = "import os, sys, time; open(sys.argv[1] + '.new', 'w').write(str(os.getpid())); \
                    os.rename(sys.argv[1] + '.new', sys.argv[1]); print('to standard output', flush=True); time.sleep(600)";
        let (told, folder) = (told.to_str().unwrap(), folder.to_str().unwrap());
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"plan","arguments":{{"code":"{code}","command":["{told}"],"gpu":["T4"],"folder":"{folder}"}}}}}}"#
        ));
        until(|| fs::read_to_string(told).ok()?.parse().ok())
    }

    /// Waits for its end; gives whether it ended well, and what it still wrote.
    fn ended(mut self) -> (bool, String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        let ended = until(|| self.child.try_wait().unwrap());
        self.from.read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (ended.success(), out, err)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A folder of its own for a test's files.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}

#[track_caller]
fn until<T>(found: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    let mut found = found;
    while began.elapsed() < LONG {
        if let Some(value) = found() {
            return value;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("nothing came of it");
}

fn is_gone(pid: i32) -> Option<()> {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let is_dead = state.is_empty() || state.contains(") Z ");
    is_dead.then_some(())
}

#[test]
fn a_client_begins_and_the_version_is_agreed() {
    let begin = |version: &str| {
        let mut server = Server::start();
        let params = format!(
            r#"{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"a","version":"1"}}}}"#
        );
        let answer =
            server.ask(&format!(r#"{{"jsonrpc":"2.0","id":"a","method":"initialize","params":{params}}}"#));
        server.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(
            server.ask(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#),
            r#"{"jsonrpc":"2.0","id":7,"result":{}}"#
        );
        answer
    };
    let expected = |version: &str| {
        let rest = r#""capabilities":{"tools":{}},"serverInfo":{"name":"oomph","title":"oomph: out of memory, explained","version":"0.1.0"},"instructions":"#;
        format!(r#"{{"jsonrpc":"2.0","id":"a","result":{{"protocolVersion":"{version}",{rest}"#)
    };
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let answer = begin(asked);
        assert!(answer.starts_with(&expected(agreed)), "{answer}");
    }
}

#[test]
fn what_is_not_a_request_is_refused_as_the_protocol_wants() {
    let mut server = Server::start();
    let mut check = |sent: &str, id: &str, code: i32, text: &str| {
        let expected =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{text}"}}}}"#);
        assert_eq!(server.ask(sent), expected, "{sent}");
    };
    let no_json = "this line is not one message of JSON: key must be a string at line 1 column 2";
    check("{nonsense", "null", -32700, no_json);
    check("[]", "null", -32600, "a message is one object; lists of them are not taken");
    check(r#"{"id":1,"method":"ping"}"#, "1", -32600, r#"a message has \"jsonrpc\": \"2.0\""#);
    check(
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        "null",
        -32600,
        "the id of a request is a string or a number",
    );
    check(r#"{"jsonrpc":"2.0","id":2}"#, "2", -32600, "a request has a method");
    check(r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}"#, "3", -32602, "params are an object");
    check(
        r#"{"jsonrpc":"2.0","id":4,"method":"roots/list"}"#,
        "4",
        -32601,
        "there is no method roots/list here",
    );
    let begin = r#"{"jsonrpc":"2.0","id":5,"method":"initialize","params":{}}"#;
    check(begin, "5", -32602, "initialize needs a protocolVersion, such as 2025-11-25");
    let mut call = |params: &str, text: &str| {
        check(
            &format!(r#"{{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{params}}}"#),
            "6",
            -32602,
            text,
        );
    };
    call("{}", "tools/call needs the name of a tool");
    call(
        r#"{"name":"run"}"#,
        "there is no tool run: there are explain, lint, plan, replay, tune, diff, status",
    );
    call(r#"{"name":"status","arguments":[]}"#, "the arguments of a tool are an object");
    // Notifications and answers are never answered, whatever they say.
    server.send(r#"{"jsonrpc":"2.0","method":"notifications/nonsense"}"#);
    server.send(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    server.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#);
    server.to = None;
    assert_eq!(server.ended(), (true, String::new(), String::new()));
}

#[test]
fn a_message_that_is_too_long_is_refused_and_read_past() {
    let mut server = Server::start();
    let long = "7".repeat((64 << 20) + 5);
    let text = "a message may have 64 MiB: name a file instead of its text";
    let refused = format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":-32600,"message":"{text}"}}}}"#);
    assert_eq!(server.ask(&long), refused);
    let pong = server.ask(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    assert_eq!(pong, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
}

#[test]
fn there_is_no_result_to_write_to_a_file() {
    let output = Command::new(env!("CARGO_BIN_EXE_oomph")).args(["mcp", "-o", "x"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(said, "oomph: mcp has no result to write to a file: leave --output out\n");
    assert_eq!(output.stdout, b"");
}

#[test]
fn a_call_gives_the_document_of_the_verb() {
    let mut server = Server::start();
    let mut call = |tool: &str, arguments: &str| {
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        server.ask(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#))
    };
    let direct = |words: &[&str], input: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oomph"));
        command.args(words).current_dir(root()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let check = |answer: &str, document: &serde_json::Value| {
        let content = serde_json::json!([{ "type": "text", "text": document.to_string() }]);
        let result =
            serde_json::json!({ "content": content, "structuredContent": document, "isError": false });
        assert_eq!(answer, serde_json::json!({ "jsonrpc": "2.0", "id": 1, "result": result }).to_string());
    };
    let file = "fixtures/fragmentation-oom/snapshot.pickle.gz";
    let set = format!(r#"{{"file":"{file}","set":["expandable_segments:True"]}}"#);
    check(
        &call("replay", &set),
        &direct(&["replay", file, "--set", "expandable_segments:True", "--json"], ""),
    );
    check(&call("explain", &format!(r#"{{"text":"{ERROR}"}}"#)), &direct(&["explain", "-", "--json"], ERROR));
    let there = format!(
        r#"{{"files":["snapshot.pickle.gz"],"folder":"{}"}}"#,
        root().join("fixtures/streams").display()
    );
    check(
        &call("explain", &there),
        &direct(&["explain", "fixtures/streams/snapshot.pickle.gz", "--json"], ""),
    );
    // Of several there is a list, and the protocol wants an object.
    let both = direct(&["explain", file, "-", "--json"], ERROR);
    assert!(both.is_array());
    let two = format!(r#"{{"files":["{file}"],"text":"{ERROR}"}}"#);
    check(&call("explain", &two), &serde_json::json!({ "results": both }));
}

#[test]
fn a_call_that_fails_says_why_in_one_line() {
    let mut server = Server::start();
    let mut check = |tool: &str, arguments: &str, line: &str| {
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        let answer =
            server.ask(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#));
        let content = format!(r#"[{{"type":"text","text":"{line}"}}]"#);
        let result = format!(r#"{{"content":{content},"isError":true}}"#);
        assert_eq!(answer, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
    };
    let file = "fixtures/fragmentation-oom/snapshot.pickle.gz";
    check(
        "replay",
        r#"{"file":"no.pickle"}"#,
        "cannot open no.pickle: No such file or directory (os error 2)",
    );
    check("replay", "{}", "replay needs file");
    check(
        "tune",
        &format!(r#"{{"file":"{file}","limit":"much"}}"#),
        "invalid value 'much' for '--limit <SIZE>': `much` is not a size: write a number and a unit, such as 12GiB, \
         512MiB or 1073741824",
    );
    check("plan", r#"{"command":["no.py"]}"#, "no.py: not found");
    check(
        "status",
        r#"{"folder":"/no/such"}"#,
        "cannot open /no/such: No such file or directory (os error 2)",
    );
    check("status", r#"{"watch":1}"#, "status has no argument `watch`: it has folder");
}

#[test]
fn a_version_without_a_beginning_is_spoken_too() {
    let mut server = Server::start();
    let meta =
        |version: &str| format!(r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{version}"}}}}"#);
    let mut ask = |method: &str, version: &str| {
        server.ask(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{}}}"#, meta(version)))
    };
    let said = r#""resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"oomph","title":"oomph: out of memory, explained","version":"0.1.0"}}"#;
    assert_eq!(ask("ping", "2026-07-28"), format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{{said}}}}}"#));
    let kept = format!(r#"{said},"ttlMs":3600000,"cacheScope":"public"}}}}"#);
    assert!(ask("tools/list", "2026-07-28").ends_with(&kept));
    let discovered = ask("server/discover", "2026-07-28");
    let versions = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"],"#;
    assert!(discovered.starts_with(versions) && discovered.ends_with(&kept), "{discovered}");
    let unknown = r#"{"code":-32022,"message":"version 2031-01-01 of the protocol is not known here","data":{"supported":["2026-07-28"],"requested":"2031-01-01"}}"#;
    assert_eq!(ask("tools/list", "2031-01-01"), format!(r#"{{"jsonrpc":"2.0","id":1,"error":{unknown}}}"#));
}

#[test]
fn a_call_that_is_given_up_ends_its_script_and_is_not_answered() {
    let folder = folder("mcp-given-up");
    let mut server = Server::start();
    let pid = server.plan_that_sleeps(1, &folder);
    let same = server.ask(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let in_use = r#"{"code":-32600,"message":"a request with the id 1 is under way"}"#;
    assert_eq!(same, format!(r#"{{"jsonrpc":"2.0","id":1,"error":{in_use}}}"#));
    server.send(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}"#,
    );
    until(|| is_gone(pid));
    let pong = server.ask(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    assert_eq!(pong, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    server.to = None;
    assert_eq!(server.ended(), (true, String::new(), String::new()));
}

#[test]
fn nothing_outlives_the_end_of_input() {
    let folder = folder("mcp-end-of-input");
    let mut server = Server::start();
    let pids = [server.plan_that_sleeps(1, &folder), server.plan_that_sleeps(2, &folder)];
    server.to = None;
    assert_eq!(server.ended(), (true, String::new(), String::new()));
    for pid in pids {
        until(|| is_gone(pid));
    }
}

#[test]
fn nothing_outlives_a_call_given_up_at_the_end_of_input() {
    let folder = folder("mcp-given-up-at-the-end");
    let mut server = Server::start();
    let pid = server.plan_that_sleeps(1, &folder);
    server.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    server.to = None;
    assert_eq!(server.ended(), (true, String::new(), String::new()));
    until(|| is_gone(pid));
}

#[test]
fn nothing_outlives_a_server_that_is_ended() {
    let folder = folder("mcp-ended");
    let mut server = Server::start();
    let pid = server.plan_that_sleeps(1, &folder);
    let ended = Command::new("kill").arg(server.child.id().to_string()).status().unwrap();
    assert!(ended.success());
    assert_eq!(server.ended(), (false, String::new(), String::new()));
    until(|| is_gone(pid));
}

#[test]
fn too_many_calls_at_once_are_refused() {
    let folder = folder("mcp-many");
    let mut server = Server::start();
    for id in 1..=8 {
        server.plan_that_sleeps(id, &folder);
    }
    let params = r#"{"name":"status"}"#;
    let answer =
        server.ask(&format!(r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{params}}}"#));
    let content = r#"[{"type":"text","text":"8 calls are under way: wait for one to end"}]"#;
    let result = format!(r#"{{"content":{content},"isError":true}}"#);
    assert_eq!(answer, format!(r#"{{"jsonrpc":"2.0","id":9,"result":{result}}}"#));
    server.to = None;
    assert!(server.ended().0);
}

//! Signals reach the script exactly once, whoever sends them, and job control works.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::ground::{Ground, seen, shows};

/// Says when it is ready, counts what it gets, and says so when it is told to end by SIGUSR2. What is sent before that
/// has arrived by then, since one sender's signals are passed on in order, but for equal ones that wait together.
const COUNTER: &str = "
import os, signal, sys, time
counts = {}
def count(number, _):
    counts[number] = counts.get(number, 0) + 1
    # Not `print`: the next signal may come while it is at work, and it cannot be called within itself.
    os.write(1, (signal.Signals(number).name + '\\n').encode())
for name in ('SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH', 'SIGCONT', 'SIGTSTP'):
    signal.signal(getattr(signal, name), count)
print('ready', os.getpid(), flush=True)
while signal.SIGUSR2 not in counts:
    time.sleep(0.01)
print(sorted(signal.Signals(number).name for number in counts), sum(counts.values()), flush=True)
sys.exit(5)
";

fn started(command: &mut Command) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    (child, lines)
}

fn send(signal: &str, pid: &str) {
    assert!(Command::new("kill").args([&format!("-{signal}"), pid]).status().unwrap().success());
}

#[test]
fn every_signal_is_passed_on_once() {
    let ground = Ground::new("pass-on");
    let script = ground.file("counter.py", COUNTER);
    let (mut oomph, mut lines) = started(&mut ground.oomph(&["run", &script]));
    assert!(lines.next().unwrap().starts_with("ready "));
    let pid = oomph.id().to_string();
    for signal in ["TERM", "HUP", "INT", "QUIT", "USR1", "WINCH", "TSTP", "USR2"] {
        send(signal, &pid);
        assert_eq!(lines.next().unwrap(), format!("SIG{signal}"));
    }
    let all = "['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGTSTP', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] 8";
    assert_eq!(lines.next().unwrap(), all);
    assert_eq!(oomph.wait().unwrap().code(), Some(5));
}

#[test]
fn a_script_that_dies_of_a_signal_ends_with_128_and_its_number() {
    let ground = Ground::new("die");
    let script = ground.file("wait.py", "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)");
    for (signal, code) in [("TERM", 143), ("KILL", 137), ("HUP", 129), ("USR2", 140)] {
        let (mut oomph, mut lines) = started(&mut ground.oomph(&["run", "-q", &script]));
        let child = lines.next().unwrap();
        send(signal, &child);
        assert_eq!(oomph.wait().unwrap().code(), Some(code), "{signal} to the script");
        if signal == "KILL" {
            // Nobody can pass that on.
            continue;
        }
        let (mut oomph, mut lines) = started(&mut ground.oomph(&["run", "-q", &script]));
        lines.next().unwrap();
        send(signal, &oomph.id().to_string());
        assert_eq!(oomph.wait().unwrap().code(), Some(code), "{signal} to oomph");
    }
}

#[test]
fn what_was_ignored_stays_ignored() {
    let ground = Ground::new("ignored");
    let script = ground.file(
        "ignored.py",
        "import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN, \
         signal.getsignal(signal.SIGTERM) == signal.SIG_IGN)",
    );
    let line = format!("trap '' HUP; exec {} run {script}", env!("CARGO_BIN_EXE_oomph"));
    let output = ground.program("bash", &["-c", &line]).output().unwrap();
    assert_eq!(seen(&output), shows(0, "True False\n", ""));
}

/// A terminal with a shell in it that knows how to start one job. It runs the job in the foreground and prints when the
/// job stops or ends; the test's side of the terminal types ^C at `ready` or ^Z at `stop me`.
const TERMINAL: &str = r#"
import os, pty, signal, sys

def shell(words):
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execvp(words[0], words)
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            break
        os.tcsetpgrp(0, os.getpid())
        print("shell: stopped", flush=True)
        os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)
    os.tcsetpgrp(0, os.getpid())
    print("shell: ended", os.waitstatus_to_exitcode(status), flush=True)
    os._exit(0)

pid, terminal = pty.fork()
if pid == 0:
    shell(sys.argv[1:])
screen, typed = b"", {b"ready": b"\x03", b"stop me": b"\x1a"}
while True:
    try:
        screen += os.read(terminal, 4096)
    except OSError:
        break
    for prompt in [prompt for prompt in typed if prompt in screen]:
        os.write(terminal, typed.pop(prompt))
os.waitpid(pid, 0)
for line in screen.decode().replace("\r", "").splitlines():
    print(line.replace("^C", "").replace("^Z", ""))
"#;

fn in_a_terminal(ground: &Ground, words: &[&str]) -> (Option<i32>, String, String) {
    let driver = ground.file("terminal.py", TERMINAL);
    let mut all = vec![driver.as_str(), env!("CARGO_BIN_EXE_oomph")];
    all.extend(words);
    seen(&ground.program("python3", &all).output().unwrap())
}

/// Counts how often a signal arrives from the first on, and within a second after it. Python itself takes two that
/// follow each other closely for one; the descriptor that it writes to for each does not.
const ARRIVALS: &str = "
import os, select, signal, sys
number = getattr(signal, sys.argv[1])
read, write = os.pipe()
os.set_blocking(write, False)
signal.set_wakeup_fd(write)
signal.signal(number, lambda *_: None)
print(sys.argv[2], flush=True)
seen = os.read(read, 1)
while select.select([read], [], [], 1)[0]:
    seen += os.read(read, 100)
print(sys.argv[1], seen.count(number), flush=True)
sys.exit(6)
";

#[test]
fn an_interrupt_typed_at_the_terminal_arrives_once() {
    let ground = Ground::new("interrupt");
    let script = ground.file("arrivals.py", ARRIVALS);
    let shown = in_a_terminal(&ground, &["run", &script, "SIGINT", "ready"]);
    assert_eq!(shown, shows(0, "ready\nSIGINT 1\nshell: ended 6\n", ""));
}

/// Runs a job in a process group of its own, and sends the group a signal when the job says that it is ready.
const GROUP: &str = r#"
import os, signal, subprocess, sys
job = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, text=True, process_group=0)
print(job.stdout.readline(), end="")
os.killpg(job.pid, getattr(signal, sys.argv[1]))
print(job.stdout.read(), end="")
sys.exit(job.wait())
"#;

#[test]
fn what_is_sent_to_the_group_arrives_once() {
    let ground = Ground::new("group");
    let (driver, script) = (ground.file("group.py", GROUP), ground.file("arrivals.py", ARRIVALS));
    for signal in ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR2"] {
        let words = [driver.as_str(), signal, env!("CARGO_BIN_EXE_oomph"), "run", &script, signal, "ready"];
        let shown = seen(&ground.program("python3", &words).output().unwrap());
        assert_eq!(shown, shows(6, &format!("ready\n{signal} 1\n"), ""));
    }
}

#[test]
fn a_job_stops_and_goes_on_as_it_would_alone() {
    let ground = Ground::new("stop");
    let script = ground.file("arrivals.py", ARRIVALS);
    let shown = in_a_terminal(&ground, &["run", &script, "SIGCONT", "stop me"]);
    assert_eq!(shown, shows(0, "stop me\nshell: stopped\nSIGCONT 1\nshell: ended 6\n", ""));
}

//! `oomph top` without a terminal: once, and what it refuses. In one it is driven by python/tests/test_top.py.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oomph"));
    command.arg("top").args(words).env("OOMPH_NVML", "/no/such/library.so").env("LC_ALL", "C");
    command.stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn once_is_one_screen_of_plain_text() {
    let output = run(&["--once"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    let shown = text(&output.stdout);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("oomph top, ") && lines[0].contains(": 0 GPUs, "), "{shown}");
    assert_eq!(lines[1], "no GPU: no NVIDIA driver is installed, or none is visible here");
    assert!(lines[2].starts_with("RAM ") && lines[2].ends_with('%'), "{shown}");
    assert!(shown.is_ascii() && !shown.contains('\u{1b}'), "{shown}");
    assert!(lines.iter().all(|line| line.len() <= 80), "{shown}");
}

#[test]
fn json_is_one_document_with_or_without_once() {
    for words in [&["--json"][..], &["--once", "--json", "--sort", "growth"]] {
        let output = run(words);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["schema"], 1);
        assert_eq!(document["gpus"], serde_json::json!([]));
    }
}

#[test]
fn what_it_cannot_do_is_a_line_and_exit_code_2() {
    let check = |words: &[&str], expected: &str| {
        let output = run(words);
        let found = (output.status.code(), text(&output.stderr), text(&output.stdout));
        assert_eq!(found, (Some(2), format!("oomph: {expected}\n"), String::new()), "{words:?}");
    };
    check(&[], "top needs a terminal: `oomph top --once` prints one screen");
    check(&["--output", "x.txt"], "top has no end to write to a file: add --once");
    check(&["--every", "0"], "--every 0: write a pause between 0.1 and 3600 seconds");
    assert!(!Path::new("x.txt").exists());
    for words in [&["--sort", "size"][..], &["4711"], &["--every", "soon"]] {
        assert_eq!(run(words).status.code(), Some(2), "{words:?}");
    }
}

//! What every verb prints on every recording, byte by byte. `OOMPH_BLESS=1` writes the expected files anew.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Searching all settings on the longest recordings takes long; their other verbs are checked. Searching twice, for the text
/// and for the JSON, is for the short ones.
const LONGEST_TUNED: u64 = 45_000;
const LONGEST_TUNED_TWICE: u64 = 22_000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn fixtures() -> Vec<PathBuf> {
    let folders = fs::read_dir(root().join("fixtures")).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = folders.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn events(fixture: &Path) -> u64 {
    let measured = fs::read_to_string(fixture.join("measured.json")).unwrap();
    let line = measured.lines().find(|line| line.contains("\"events\"")).unwrap();
    line.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

fn oomph(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_oomph"))
        .args(words)
        .current_dir(root())
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?} says something beside its result");
    String::from_utf8(output.stdout).unwrap()
}

/// Compares with the expected file, or writes it; gives the difference, if there is one.
fn difference(path: &Path, found: &str) -> Option<String> {
    if std::env::var_os("OOMPH_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, found).unwrap();
        return None;
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    let (mut a, mut b) = (expected.lines(), found.lines());
    let mut number = 0;
    loop {
        number += 1;
        match (a.next(), b.next()) {
            (None, None) => return None,
            (x, y) if x == y => {}
            (x, y) => {
                return Some(format!("{}:{number}\n  expected {x:?}\n  found    {y:?}", path.display()));
            }
        }
    }
}

/// Runs one verb on recordings of fewer events than `longest`, as JSON, and as text if they are below `longest_text`.
fn check(verb: &str, longest: u64, longest_text: u64) {
    let mut differences = Vec::new();
    for fixture in fixtures().into_iter().filter(|fixture| events(fixture) < longest) {
        let snapshot = fixture.join("snapshot.pickle.gz");
        let snapshot = snapshot.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        let json = oomph(&[verb, &snapshot, "--json"]);
        differences.extend(difference(&fixture.join(format!("expected/{verb}.json")), &json));
        if events(&fixture) >= longest_text {
            continue;
        }
        let text = oomph(&[verb, &snapshot]);
        let too_long =
            text.lines().find(|line| line.chars().count() > 80 && !line.contains("PYTORCH_CUDA_ALLOC_CONF="));
        assert_eq!(too_long, None, "{verb} {snapshot} is wider than 80 columns");
        differences.extend(difference(&fixture.join(format!("expected/{verb}.txt")), &text));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn explain() {
    check("explain", u64::MAX, u64::MAX);
}

#[test]
fn replay() {
    check("replay", u64::MAX, u64::MAX);
}

#[test]
fn inspect() {
    check("inspect", u64::MAX, u64::MAX);
}

#[test]
fn tune() {
    check("tune", LONGEST_TUNED, LONGEST_TUNED_TWICE);
}

#[test]
fn diff() {
    let fixture = |name: &str| format!("fixtures/{name}/snapshot.pickle.gz");
    let expected = root().join("crates/cli/tests/expected");
    let (plain, expandable) = (fixture("gpt2-ragged"), fixture("gpt2-ragged-expandable"));
    let (static_, leak) = (fixture("gpt2-static"), fixture("leak-oom"));
    let cases = [
        ("diff-settings.txt", vec!["diff", &plain, &expandable]),
        ("diff-jobs.txt", vec!["diff", &static_, &plain]),
        ("diff-jobs.json", vec!["diff", &static_, &plain, "--fail-over", "200%", "--json"]),
        ("diff-same.txt", vec!["diff", &leak, &leak, "--fail-over", "0"]),
    ];
    let mut differences = Vec::new();
    for (file, words) in cases {
        let found = oomph(&words);
        assert!(file.ends_with("json") || found.lines().all(|line| line.chars().count() <= 80), "{found}");
        differences.extend(difference(&expected.join(file), &found));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn demo_and_help() {
    let expected = root().join("crates/cli/tests/expected");
    let cases = [
        ("demo.txt", vec!["demo"]),
        ("help.txt", vec!["--help"]),
        ("help-explain.txt", vec!["explain", "--help"]),
        ("help-replay.txt", vec!["replay", "--help"]),
        ("help-run.txt", vec!["run", "--help"]),
        ("help-plan.txt", vec!["plan", "--help"]),
        ("help-fit.txt", vec!["fit", "--help"]),
        ("help-tune.txt", vec!["tune", "--help"]),
        ("help-diff.txt", vec!["diff", "--help"]),
        ("help-export.txt", vec!["export", "--help"]),
        ("help-view.txt", vec!["view", "--help"]),
        ("help-status.txt", vec!["status", "--help"]),
        ("help-top.txt", vec!["top", "--help"]),
        ("help-lint.txt", vec!["lint", "--help"]),
        ("help-mcp.txt", vec!["mcp", "--help"]),
    ];
    let found = cases.iter().filter_map(|(file, words)| difference(&expected.join(file), &oomph(words)));
    let differences: Vec<String> = found.collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

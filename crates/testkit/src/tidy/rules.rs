//! One function per rule; each gives the places where it is broken.

use super::{File, Problem, Repository};

/// The longest a source file may be, in lines of code without its tests.
pub const LONGEST_FILE: usize = 300;

/// Whether `word` stands in `line` on its own, not as part of a longer name.
fn has_word(line: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back().is_some_and(joins);
        let after = line[at + word.len()..].chars().next().is_some_and(joins);
        !before && !after
    })
}

/// `unsafe` stays in the crates that talk to C, and in the fuzzer's own allocator.
pub fn unsafe_elsewhere(repository: &Repository) -> Vec<Problem> {
    let talks_to_c =
        |file: &File| matches!(file.crate_name(), Some("cuda" | "survive" | "phantom" | "fake-nvml"));
    let outside = |file: &&File| !talks_to_c(file) && file.path != "fuzz/src/bounds.rs";
    let mut problems = Vec::new();
    for file in repository.rust().filter(outside) {
        for (index, line) in file.code().iter().enumerate() {
            if has_word(line, concat!("un", "safe")) {
                problems.push(Problem::at(file, index + 1, "this crate must do without it"));
            }
        }
    }
    problems
}

/// What the pure crates must not touch.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::thread",
    "std::time",
    "std::process",
    "std::net",
    "println!",
    "eprintln!",
    "print!",
    "eprint!",
    "dbg!",
    "static mut",
    "OnceLock",
    "LazyLock",
    "OnceCell",
    "thread_local!",
];

/// trace, engine, diagnose, view and lint are pure: bytes in, values out.
pub fn impure(repository: &Repository) -> Vec<Problem> {
    let pure = |file: &&File| {
        file.is_source()
            && matches!(file.crate_name(), Some("trace" | "engine" | "diagnose" | "view" | "lint"))
    };
    let mut problems = Vec::new();
    for file in repository.rust().filter(pure) {
        for (index, line) in file.code_without_tests().iter().enumerate() {
            let named = IMPURE.iter().copied().find(|word| has_word(line, word));
            // `use std::{fs, io}` names a module without its path.
            let grouped = line.trim_start().starts_with("use std::{").then(|| {
                ["fs", "env", "thread", "time", "process", "net"]
                    .into_iter()
                    .find(|word| has_word(line, word))
            });
            if let Some(word) = named.or(grouped.flatten()) {
                problems.push(Problem::at(file, index + 1, format!("a pure crate does not use {word}")));
            }
        }
    }
    problems
}

/// Each of these libraries belongs to one layer.
const HOMES: &[(&str, &[&str])] = &[
    ("pyo3", &["py"]),
    ("clap", &["cli"]),
    ("serde_json", &["lint", "report", "machine", "launch", "cli", "testkit"]),
    ("ruff_python_parser", &["lint"]),
];

/// PyO3 only in py, clap only in cli, the parser of Python only in lint, JSON only where output is made, where notebooks and
/// the recorder's notes are read, and where an agent is answered.
pub fn dependency_in_the_wrong_crate(repository: &Repository) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in repository.with_suffix("Cargo.toml") {
        let Some(name) = file.crate_name() else { continue };
        for (index, line) in file.text.lines().enumerate() {
            let key = line.split(['.', '=', ' ']).next().unwrap_or_default();
            if HOMES.iter().any(|(library, homes)| *library == key && !homes.contains(&name)) {
                problems.push(Problem::at(file, index + 1, format!("`{key}` does not belong in `{name}`")));
            }
        }
    }
    problems
}

/// A file of more than 300 lines of code holds more than one idea.
pub fn too_long(repository: &Repository) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in repository.rust().filter(|file| file.is_source()) {
        let lines = file.code_without_tests().iter().filter(|line| !line.trim().is_empty()).count();
        if lines > LONGEST_FILE {
            let what = format!("{lines} lines of code; split it by {LONGEST_FILE}");
            problems.push(Problem::at(file, 0, what));
        }
    }
    problems
}

/// Module names that say nothing about what is inside.
pub fn name_without_meaning(repository: &Repository) -> Vec<Problem> {
    let empty = ["util", "utils", "helper", "helpers", "common", "manager"];
    let meaningless = |file: &&File| {
        let path = file.path.strip_suffix(".rs").unwrap_or(&file.path);
        path.split('/').any(|part| empty.contains(&part))
    };
    let say = |file: &File| Problem::at(file, 0, "name it after its idea");
    repository.rust().filter(meaningless).map(say).collect()
}

/// Nothing is left for later.
pub fn left_for_later(repository: &Repository) -> Vec<Problem> {
    // Put together here so that this file does not break its own rule.
    let words =
        [concat!("to", "do!"), concat!("unimple", "mented!"), concat!("FIX", "ME"), concat!("XX", "X")];
    let mut problems = Vec::new();
    for file in &repository.files {
        for (index, line) in file.text.lines().enumerate() {
            if let Some(word) = words.iter().find(|word| has_word(line, word)) {
                problems.push(Problem::at(file, index + 1, format!("`{word}` is left")));
            }
        }
    }
    problems
}

/// No path of the machine it was written on; `/home/user/` is made up and allowed.
pub fn path_of_a_machine(repository: &Repository) -> Vec<Problem> {
    let roots = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];
    let made_up = concat!("/ho", "me/user/");
    let mut problems = Vec::new();
    let read = |file: &&File| {
        let text = [".rs", ".md", ".toml", ".sh"].iter().any(|suffix| file.path.ends_with(suffix));
        text && !file.path.split('/').any(|part| part == "fixtures")
    };
    for file in repository.files.iter().filter(read) {
        for (index, line) in file.text.lines().enumerate() {
            let line = line.replace(made_up, "");
            // `network/work/` and the like are no roots.
            let is_root = |root: &&&str| {
                line.match_indices(**root).any(|(at, _)| {
                    !line[..at]
                        .chars()
                        .next_back()
                        .is_some_and(|c| c.is_alphanumeric() || "_-./}~".contains(c))
                })
            };
            if let Some(root) = roots.iter().find(is_root) {
                problems.push(Problem::at(file, index + 1, format!("`{root}` is a path of one machine")));
            }
        }
    }
    problems
}

/// Every crate obeys the workspace's lints.
pub fn without_workspace_lints(repository: &Repository) -> Vec<Problem> {
    let obeys = |file: &File| {
        let mut lines = file.text.lines().map(str::trim).skip_while(|line| *line != "[lints]").skip(1);
        lines.find(|line| !line.is_empty() && !line.starts_with('#')) == Some("workspace = true")
    };
    let manifests = repository.with_suffix("/Cargo.toml").filter(|file| file.path.matches('/').count() == 2);
    manifests
        .filter(|file| file.crate_name().is_some() && !obeys(file))
        .map(|file| Problem::at(file, 0, "`[lints] workspace = true` is missing"))
        .collect()
}

/// Links of Markdown files to files of the repository lead somewhere.
pub fn dead_link(repository: &Repository) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in repository.with_suffix(".md") {
        let mut fenced = false;
        for (index, line) in file.text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            }
            if fenced {
                continue;
            }
            for target in line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()) {
                let path = target.split('#').next().unwrap_or_default();
                let elsewhere = path.is_empty() || path.contains("://") || path.starts_with("mailto:");
                if !elsewhere && !resolve(&file.path, path).is_some_and(|path| repository.has(&path)) {
                    problems.push(Problem::at(file, index + 1, format!("`{target}` leads nowhere")));
                }
            }
        }
    }
    problems
}

/// The path that a link in `from` means; `None` where it leaves the repository.
fn resolve(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = if link.starts_with('/') { Vec::new() } else { from.split('/').collect() };
    parts.pop();
    for part in link.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop()?;
        } else {
            parts.push(part);
        }
    }
    Some(parts.join("/"))
}

/// Every file of tests is run: where a crate has one program for its tests, `all.rs` names each of them.
pub fn test_left_out(repository: &Repository) -> Vec<Problem> {
    let mut problems = Vec::new();
    for all in repository.with_suffix("/tests/all.rs") {
        let folder = all.path.trim_end_matches("all.rs");
        for file in repository.rust() {
            let Some(name) = file.path.strip_prefix(folder) else { continue };
            let name = name.strip_suffix("/mod.rs").or(name.strip_suffix(".rs")).unwrap_or(name);
            let is_named = all.code().iter().any(|line| *line == format!("mod {name};"));
            if file.path != all.path && !name.contains('/') && !is_named {
                problems.push(Problem::at(file, 0, format!("nobody runs it: write `mod {name};` in all.rs")));
            }
        }
    }
    problems
}

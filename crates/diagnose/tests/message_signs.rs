//! The table of signs: every row's examples are read as the row says, and no pattern goes without an example.

use std::fs;
use std::path::Path;

use oomph_diagnose::message::{Report, read};
use toml::{Table, Value};

use crate::numbers;

/// The rows of every file, each with the file's name.
fn rows() -> Vec<(String, Table)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/message/signs");
    let mut rows = Vec::new();
    for file in fs::read_dir(folder).expect("the table of signs") {
        let path = file.expect("a file").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let table: Table = fs::read_to_string(&path).expect("text").parse().expect("TOML");
        let signs = table["sign"].as_array().expect("rows").iter();
        rows.extend(signs.map(|row| (name.clone(), row.as_table().expect("a row").clone())));
    }
    rows
}

fn texts(row: &Table, column: &str) -> Vec<String> {
    let cells = row.get(column).and_then(Value::as_array).into_iter().flatten();
    cells.map(|cell| cell.as_str().expect("text").to_owned()).collect()
}

fn examples(row: &Table) -> Vec<(String, String)> {
    let examples = row.get("example").and_then(Value::as_array).into_iter().flatten();
    let cell =
        |example: &Value, name| example.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    examples.map(|example| (cell(example, "text"), cell(example, "gives"))).collect()
}

/// `framework cause confidence tried=… total=…, versions`: the numbers that are there.
fn shown(report: &Report) -> String {
    let versions = report.writer.map_or_else(String::new, |versions| format!(", {versions}"));
    let verdict = &report.verdict;
    let (cause, confidence) = (verdict.cause.name(), verdict.confidence.name());
    format!("{} {cause} {confidence}{}{versions}", report.framework.name(), numbers::shown(&report.facts))
}

#[test]
fn every_example_is_read_as_its_row_says() {
    let mut wrong = Vec::new();
    for (file, row) in rows() {
        for (text, gives) in examples(&row) {
            let log = read(text.as_bytes()).expect("memory can be read");
            let found: Vec<String> = log.reports.iter().map(shown).collect();
            let framework = row["framework"].as_str().expect("a name");
            if found != [gives.clone()] || !gives.starts_with(&format!("{framework} ")) {
                wrong.push(format!("{file}: {text}\n  expected {gives}\n  found    {}", found.join(" / ")));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_pattern_has_an_example() {
    let mut missing = Vec::new();
    for (file, row) in rows() {
        let examples = examples(&row);
        for pattern in texts(&row, "says").into_iter().chain(texts(&row, "line")) {
            let is_there = |text: &str| fixed(&pattern).iter().all(|words| plain(text).contains(words));
            if !examples.iter().any(|(text, _)| is_there(text)) {
                missing.push(format!("{file}: {pattern}"));
            }
        }
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}

/// What stands between the holes of a pattern.
fn fixed(pattern: &str) -> Vec<String> {
    let pieces = pattern.replace("...", "{}").replace(['*', '#'], "{}");
    let pieces = pieces.split('{').map(|piece| piece.split_once('}').map_or(piece, |(_, words)| words));
    pieces.map(plain).filter(|words| !words.is_empty()).collect()
}

/// In lower case and without white space, as patterns are compared.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
}

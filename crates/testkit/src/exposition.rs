//! A strict reader of Prometheus' text format, version 0.0.4, and of the naming rules.

use std::collections::{BTreeMap, BTreeSet};

/// What a gauge's name ends with: its unit.
const UNITS: [&str; 3] = ["_bytes", "_seconds", "_bytes_per_second"];

/// Fails where the page breaks a rule of the format or of the names.
pub fn check(page: &str) {
    assert!(page.is_empty() || page.ends_with('\n'), "the last line must end");
    let mut helped = BTreeSet::new();
    let mut types: BTreeMap<&str, &str> = BTreeMap::new();
    let mut samples = BTreeSet::new();
    let mut current = "";
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, text) = rest.split_once(' ').expect("a HELP has a name and a text");
            assert!(helped.insert(name) && !text.is_empty(), "{line}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a TYPE has a name and a kind");
            assert!(helped.contains(name), "HELP comes first: {line}");
            assert!(types.insert(name, kind).is_none(), "one TYPE each: {line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            let has_unit = UNITS.iter().any(|unit| name.ends_with(unit));
            assert!(kind == "counter" || (kind == "gauge" && has_unit), "{line}");
            assert!(name.starts_with("oomph_") && is_name(name), "{line}");
            current = name;
        } else {
            let (name, labels, value) = sample(line);
            assert_eq!(name, current, "samples stand below their TYPE: {line}");
            assert!(samples.insert((name.to_owned(), labels)), "a sample twice: {line}");
            assert!(value.parse::<f64>().is_ok_and(|value| value >= 0.0), "{line}");
        }
    }
}

fn is_name(text: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(first) && text.chars().all(|c| first(c) || c.is_ascii_digit())
}

/// The name, the labels and the value of a sample line.
fn sample(line: &str) -> (&str, Vec<(String, String)>, &str) {
    let Some((name, rest)) = line.split_once('{') else {
        let (name, value) = line.split_once(' ').expect("a sample has a value");
        return (name, Vec::new(), value);
    };
    let mut labels: Vec<(String, String)> = Vec::new();
    let mut rest = rest;
    loop {
        let (label, after) = rest.split_once("=\"").expect("a label has a quoted value");
        assert!(is_name(label) && !label.starts_with("__"), "{line}");
        assert!(labels.iter().all(|(known, _)| known != label), "a label twice: {line}");
        let mut text = String::new();
        let mut chars = after.char_indices();
        let end = loop {
            match chars.next().expect("a value is closed") {
                (at, '"') => break at,
                (_, '\\') => match chars.next().expect("an escape is whole").1 {
                    'n' => text.push('\n'),
                    c @ ('\\' | '"') => text.push(c),
                    c => panic!("no such escape: \\{c} in {line}"),
                },
                (_, c) => text.push(c),
            }
        };
        labels.push((label.to_owned(), text));
        rest = &after[end + 1..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => break,
        }
    }
    let value = rest.strip_prefix("} ").expect("labels are closed and a value follows");
    (name, labels, value)
}

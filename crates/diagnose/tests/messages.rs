//! The labelled messages: every number to the byte, and the cause wherever the label is sure of it.

use std::fs;
use std::path::PathBuf;

use oomph_diagnose::message::{Report, read};

/// One line of `cases.jsonl`. Its objects are flat.
struct Case(String);

impl Case {
    /// What stands behind a key, up to the next one.
    fn value(&self, key: &str) -> Option<&str> {
        let (_, rest) = self.0.split_once(&format!("\"{key}\": "))?;
        match rest.strip_prefix('"') {
            Some(text) => text.split('"').next(),
            None => rest.split([',', '}']).next(),
        }
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.value(key).and_then(|value| value.parse().ok())
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/messages")
}

fn cases() -> Vec<(Case, Option<Report>)> {
    let list = fs::read_to_string(folder().join("cases.jsonl")).expect("the labels can be read");
    let read = |line: &str| {
        let case = Case(line.to_owned());
        let text = fs::read(folder().join(case.value("file").expect("a file"))).expect("a message");
        let oom = read(text.as_slice()).expect("memory can be read").reports.into_iter().next();
        (case, oom)
    };
    list.lines().map(read).collect()
}

#[test]
fn every_number_of_the_labelled_messages_is_read_to_the_byte() {
    let mut wrong = Vec::new();
    for (case, oom) in cases() {
        let id = case.value("id").unwrap();
        let Some(oom) = oom else {
            wrong.push(format!("{id}: nothing found"));
            continue;
        };
        let facts = oom.facts;
        for (key, found) in [
            ("tried_bytes", facts.tried),
            ("total_bytes", facts.total),
            ("allocated_bytes", facts.allocated),
            ("reserved_bytes", facts.reserved),
            ("free_bytes", facts.free),
            ("other_process_bytes", facts.other_process),
        ] {
            if found.map(|bytes| bytes.0) != case.number(key) {
                wrong.push(format!("{id}: {key} is {:?}, found {found:?}", case.number(key)));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn causes_agree_with_the_labels_that_are_sure() {
    let (mut sure, mut right, mut wrong) = (0, 0, Vec::new());
    for (case, oom) in cases() {
        let (label, confidence) = (case.value("label").unwrap(), case.value("confidence").unwrap());
        let found = oom.as_ref().map_or("nothing found", |oom| oom.verdict.cause.name());
        let agrees = found == label;
        if confidence == "high" {
            sure += 1;
            right += usize::from(agrees);
        }
        if !agrees {
            let why = oom.map(|oom| oom.verdict.why.join("; ")).unwrap_or_default();
            wrong.push(format!(
                "{} ({confidence}): label {label}, found {found}: {why}",
                case.value("id").unwrap()
            ));
        }
    }
    println!("{right} of {sure}\n{}", wrong.join("\n"));
    assert!(right * 100 >= sure * 95, "{right} of {sure}\n{}", wrong.join("\n"));
}

//! The schemas and the reference of the JSON documents are made of their types, and what is printed is what they say.
//! `OOMPH_BLESS=1` writes both anew.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

mod made;
mod reference;
mod valid;
mod verbs;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use valid::problems;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Compares with the file in the repository, or writes it.
fn check_file(path: &str, expected: &str) {
    let file = root().join(path);
    if std::env::var_os("OOMPH_BLESS").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, expected).unwrap();
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert!(found == expected, "{path} is not what the types say: OOMPH_BLESS=1 writes it anew");
}

#[test]
fn every_verb_has_its_schema() {
    for (verb, schema) in verbs::schemas() {
        let text = serde_json::to_string_pretty(&schema).unwrap().replace("`None`", "`null`") + "\n";
        check_file(&format!("docs/reference/schema/{verb}.json"), &text);
    }
    let known: Vec<String> = verbs::schemas().into_iter().map(|(verb, _)| format!("{verb}.json")).collect();
    for entry in fs::read_dir(root().join("docs/reference/schema")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(known.contains(&name), "docs/reference/schema/{name} is the schema of no verb");
    }
}

#[test]
fn the_reference_says_what_the_types_say() {
    check_file("docs/reference/json.md", &reference::page(&root()));
}

/// Every expected document in the repository, with the verb that prints it.
fn expected() -> Vec<(String, PathBuf)> {
    let files = |folder: PathBuf| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for fixture in files(root().join("fixtures")).filter(|path| path.is_dir()) {
        for path in
            files(fixture.join("expected")).filter(|path| path.extension().is_some_and(|end| end == "json"))
        {
            found.push((path.file_stem().unwrap().to_str().unwrap().to_owned(), path));
        }
    }
    for path in files(root().join("crates/cli/tests/expected")) {
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with("recorded-") && name.ends_with(".json") {
            found.push(("explain".to_owned(), path));
        }
    }
    found.push(("diff".to_owned(), root().join("crates/cli/tests/expected/diff-jobs.json")));
    for (verb, file) in [("status", "two-gpus.json"), ("top", "top.json")] {
        found.push((verb.to_owned(), root().join("crates/machine/tests/expected").join(file)));
    }
    found
}

#[test]
fn what_is_printed_is_what_the_schemas_say() {
    let schemas = verbs::schemas();
    let printed = expected().into_iter().map(|(verb, path)| (verb, fs::read_to_string(path).unwrap()));
    let made = made::documents().into_iter().map(|(verb, text)| (verb.to_owned(), text));
    let mut seen = Vec::new();
    for (verb, text) in printed.chain(made) {
        let schema = &schemas.iter().find(|(known, _)| *known == verb).unwrap().1;
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(problems(schema, &document), Vec::<String>::new(), "{verb}: {text}");
        seen.push(verb);
    }
    for (verb, _) in &schemas {
        assert!(seen.iter().any(|one| one == verb), "no document of {verb} was checked");
    }
}

#[test]
fn what_a_schema_does_not_say_is_a_problem() {
    let schemas = verbs::schemas();
    let schema = &schemas.iter().find(|(verb, _)| *verb == "replay").unwrap().1;
    let path = root().join("fixtures/fragmentation-oom/expected/replay.json");
    let document: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let check = |pointer: &str, value: Option<Value>, expected: &str| {
        let mut document = document.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = document.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        match value {
            Some(value) => drop(parent.insert(key.to_owned(), value)),
            None => drop(parent.remove(key)),
        }
        assert_eq!(problems(schema, &document), [expected]);
    };
    check("/trace/device", Some(json!("0")), "/trace/device is \"0\", not of type integer");
    check("/trace/origin", Some(json!("later")), "/trace/origin is \"later\", which is none of its values");
    check(
        "/trace/limit_source",
        Some(json!("x")),
        "/trace/limit_source is \"x\", which is none of its values",
    );
    check("/trace/events", None, "/trace/events is missing");
    check("/replayed/more", Some(json!(1)), "/replayed/more is unknown");
}

//! Findings in the forms that other tools show beside the code: SARIF, and the annotations of a GitHub workflow.

use oomph_lint::{Diagnostic, FileResult, Rule};
use serde_json::{Value, json};

/// SARIF 2.1.0, as code scanning takes it.
pub fn sarif(files: &[FileResult], version: &str) -> String {
    let rules: Vec<Value> = Rule::ALL.iter().map(|rule| {
        let (name, claim) = rule.words();
        json!({ "id": rule.id(), "name": name, "shortDescription": { "text": claim }, "help": { "text": rule.page() } })
    }).collect();
    let results: Vec<Value> = files
        .iter()
        .flat_map(|file| file.found.iter().flatten().map(|found| result(&file.path, found)))
        .collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "oomph", "version": version, "rules": rules } },
            "results": results,
        }],
    });
    crate::json::printed(&document)
}

fn result(path: &str, found: &Diagnostic) -> Value {
    json!({
        "ruleId": found.rule.id(),
        "level": "warning",
        "message": { "text": found.message },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": path },
            "region": {
                "startLine": found.line,
                "startColumn": found.column,
                "endLine": found.end_line,
                "endColumn": found.end_column,
            },
        } }],
    })
}

/// Commands of a GitHub workflow, which shows them beside the lines of a pull request.
pub fn github(files: &[FileResult]) -> String {
    let mut text = String::new();
    for file in files {
        for found in file.found.iter().flatten() {
            text.push_str(&format!(
                "::warning file={},line={},col={},endLine={},endColumn={},title={} {}::{}\n",
                property(&file.path),
                found.line,
                found.column,
                found.end_line,
                found.end_column,
                found.rule.id(),
                found.rule.words().0,
                escaped(&found.message),
            ));
        }
        if let Err(error) = &file.found {
            text.push_str(&format!(
                "::error file={},line={}::{}\n",
                property(&file.path),
                error.line,
                escaped(&error.message)
            ));
        }
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

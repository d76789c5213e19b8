//! docs/reference/json.md, made of the types' doc comments.

use std::fs;
use std::path::Path;

use oomph_diagnose::rules::RuleInfo;
use oomph_report::json;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

use super::verbs::generator;

const INTRODUCTION: &str = "\
# JSON, schema 1

The same input gives the same bytes. Fields are added, never renamed or removed; a reader should ignore those
it does not know. Sizes are integers in bytes. Events are indices into the device's trace, from 0. `null`
means that something is missing or unknown.

A file with one GPU gives one object. A file with several gives a list, in order of the device's number. Host
memory is left out. `demo --json` gives a list of `explain`, `replay` as recorded, and `replay` with the fix.

A field whose type says *absent* is not always there: most of them only in a [recording](recording.md) made by `oomph
run`, which holds more than a snapshot.

For programs that check documents there is a JSON Schema (draft 2020-12) of each verb: [explain](schema/explain.json),
[replay](schema/replay.json), [tune](schema/tune.json), [diff](schema/diff.json), [export](schema/export.json), [inspect](schema/inspect.json), [run](schema/run.json),
[plan](schema/plan.json), [plan --serve](schema/serve.json), [fit](schema/fit.json), [lint](schema/lint.json), [status](schema/status.json), [top](schema/top.json), [dump](schema/dump.json), [rule](schema/rule.json). The schemas
and this page are made of the types in [crates/report/src/json](../../crates/report/src/json/mod.rs).
";

/// A section of the page: its heading, and the type it describes.
struct Section {
    heading: &'static str,
    of: String,
}

/// Everything that is described.
struct Page {
    generator: SchemaGenerator,
    definitions: Map<String, Value>,
    sections: Vec<Section>,
}

/// The whole page.
pub(crate) fn page(root: &Path) -> String {
    let mut page = Page { generator: generator(), definitions: Map::new(), sections: Vec::new() };
    page.add::<json::Explain>("`oomph explain`");
    page.add::<json::Message>("`oomph explain` of a log or a message");
    page.add::<json::Replay>("`oomph replay`");
    page.add::<json::Tune>("`oomph tune`");
    page.add::<json::Diff>("`oomph diff`");
    page.add::<json::Export>("`oomph export`");
    page.add::<json::Inspect>("`oomph inspect`");
    page.add::<json::Run>("`oomph run`");
    page.add::<json::Plan>("`oomph plan`");
    page.add::<json::Serve>("`oomph plan --serve`");
    page.add::<json::Fit>("`oomph fit`");
    page.add::<json::Lint>("`oomph lint`");
    page.add::<json::Machine>("`oomph status`");
    page.add::<json::Top>("`oomph top`");
    page.add::<json::Dump>("`oomph dump`");
    page.add::<RuleInfo>("`oomph rule`");
    page.definitions = page.generator.take_definitions(true);
    page.text(root)
}

impl Page {
    fn add<T: JsonSchema>(&mut self, heading: &'static str) {
        let link = self.generator.subschema_for::<T>().to_value();
        self.sections.push(Section { heading, of: name_of(&link).unwrap().to_owned() });
    }

    fn text(&self, root: &Path) -> String {
        let parts: Vec<Vec<&str>> = self.sections.iter().map(|section| self.parts(&section.of)).collect();
        let uses = |name: &str| parts.iter().filter(|parts| parts.contains(&name)).count();
        let mut shared: Vec<&str> = Vec::new();
        for name in parts.iter().flatten().filter(|name| uses(name) > 1) {
            if !shared.contains(name) {
                shared.push(name);
            }
        }
        let mut text = format!("{INTRODUCTION}\nThe parts that several verbs share come first.\n");
        for name in shared {
            text += &self.described(&format!("## {}", words(name)), name);
        }
        for (section, parts) in self.sections.iter().zip(&parts) {
            text += &self.described(&format!("## {}", section.heading), &section.of);
            for name in parts.iter().filter(|name| uses(name) == 1) {
                text += &self.described(&format!("### {}", words(name)), name);
            }
            if section.of == "Replay" {
                let file = root.join("fixtures/fragmentation-oom/expected/replay.json");
                let document = fs::read_to_string(file).unwrap();
                text += "\nA whole document:\n\n```console\n$ oomph replay fixtures/fragmentation-oom/snapshot.pickle.gz --json\n";
                text += &format!("{document}```\n");
            }
        }
        text
    }

    /// The objects that a type consists of, in the order they are met, without those that have a section.
    fn parts<'a>(&'a self, of: &str) -> Vec<&'a str> {
        let mut found = Vec::new();
        self.collect(&self.definitions[of], &mut found);
        found
    }

    fn collect<'a>(&'a self, schema: &'a Value, found: &mut Vec<&'a str>) {
        if let Some(name) = name_of(schema) {
            let has_section = self.sections.iter().any(|section| section.of == name);
            if !has_section && !found.contains(&name) {
                if !fields(&self.definitions[name]).is_empty() {
                    found.push(name);
                }
                self.collect(&self.definitions[name], found);
            }
            return;
        }
        match schema {
            Value::Object(all) => all.values().for_each(|one| self.collect(one, found)),
            Value::Array(all) => all.iter().for_each(|one| self.collect(one, found)),
            _ => {}
        }
    }

    fn described(&self, heading: &str, name: &str) -> String {
        let schema = &self.definitions[name];
        let mut text =
            format!("\n{heading}\n\n{}\n\n| field | type | is |\n|---|---|---|\n", description(schema));
        for (field, schema, described, required) in fields(schema) {
            let absent = if required { "" } else { ", absent" };
            text += &format!("| `{field}` | {}{absent} | {described} |\n", self.type_of(schema));
        }
        text
    }

    /// A type in words.
    fn type_of(&self, schema: &Value) -> String {
        if let Some(name) = name_of(schema) {
            let definition = &self.definitions[name];
            let section = self.sections.iter().find(|section| section.of == name);
            return match section {
                Some(section) => format!("[{0}](#{1})", section.heading, anchor(section.heading)),
                None if fields(definition).is_empty() => self.type_of(definition),
                None => format!("[{0}](#{1})", words(name), anchor(&words(name))),
            };
        }
        if let Some(values) = schema["enum"].as_array() {
            return quoted(values.iter());
        }
        if let Some(any) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            if any.iter().all(|one| one.get("const").is_some()) {
                return quoted(any.iter().map(|one| &one["const"]));
            }
            return any.iter().map(|one| self.type_of(one)).collect::<Vec<_>>().join(", ");
        }
        let names = match &schema["type"] {
            Value::String(one) => vec![one.as_str()],
            several => several.as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect(),
        };
        let shown = names.iter().map(|name| match *name {
            "array" => format!("list of {}", self.type_of(&schema["items"])),
            "object" => format!("object of {}", self.type_of(&schema["additionalProperties"])),
            "boolean" => "bool".to_owned(),
            other => other.to_owned(),
        });
        shown.collect::<Vec<_>>().join(", ")
    }
}

fn quoted<'a>(values: impl Iterator<Item = &'a Value>) -> String {
    let shown = values.map(|value| if value.is_null() { "null".to_owned() } else { format!("`{value}`") });
    shown.collect::<Vec<_>>().join(", ")
}

/// The definition that a schema refers to.
fn name_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// The fields of an object, or of the objects that it is one of: name, type, description, and whether it is always there.
fn fields(schema: &Value) -> Vec<(&str, &Value, String, bool)> {
    let own = schema["properties"].as_object().into_iter().flatten().map(|(key, field)| {
        let mut required = schema["required"].as_array().into_iter().flatten();
        (key.as_str(), field, description(field), required.any(|one| one == key.as_str()))
    });
    let variants = schema["oneOf"].as_array().into_iter().flatten().flat_map(|one| {
        let fields = one["properties"].as_object().into_iter().flatten();
        fields.map(|(key, field)| (key.as_str(), field, description(one), false))
    });
    own.chain(variants).collect()
}

fn description(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ").replace("`None`", "null")
}

/// `InspectedDevice` as words: Inspected device.
fn words(name: &str) -> String {
    let name = name.replace("Gpu", "GPU ").replace("Ram", "RAM");
    let name = name.trim_end();
    let mut shown = String::new();
    for c in name.chars() {
        let follows_small = shown.ends_with(|last: char| last.is_lowercase());
        if c.is_uppercase() && follows_small {
            shown.push(' ');
            shown.extend(c.to_lowercase());
        } else if shown.ends_with(' ') {
            shown.extend(c.to_lowercase());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// The address of a heading within the page.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || *c == ' ' || *c == '-');
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

//! What each verb prints with `--json`, as a schema.

use oomph_diagnose::rules::RuleInfo;
use oomph_report::json;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// How many documents a verb prints.
#[derive(Clone, Copy)]
enum Many {
    /// One.
    One,
    /// One for one device, a list for several.
    Devices,
    /// Always a list.
    List,
}

pub(crate) fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_serialize().into_generator()
}

/// The schema of every verb that prints JSON.
pub(crate) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("explain", schema::<json::Explained>("explain", Many::Devices)),
        ("replay", schema::<json::Replay>("replay", Many::Devices)),
        ("tune", schema::<json::Tune>("tune", Many::Devices)),
        ("diff", schema::<json::Diff>("diff", Many::Devices)),
        ("export", schema::<json::Export>("export", Many::One)),
        ("inspect", schema::<json::Inspect>("inspect", Many::One)),
        ("run", schema::<json::Run>("run", Many::One)),
        ("plan", schema::<json::Plan>("plan", Many::Devices)),
        ("serve", schema::<json::Serve>("plan --serve", Many::Devices)),
        ("fit", schema::<json::Fit>("fit", Many::One)),
        ("lint", schema::<json::Lint>("lint", Many::One)),
        ("status", schema::<json::Machine>("status", Many::One)),
        ("top", schema::<json::Top>("top", Many::One)),
        ("dump", schema::<json::Dump>("dump", Many::One)),
        ("rule", schema::<RuleInfo>("rule", Many::List)),
    ]
}

fn schema<T: JsonSchema>(verb: &str, many: Many) -> Value {
    let mut generator = generator();
    let one = generator.subschema_for::<T>();
    let list = json!({ "type": "array", "items": one });
    let shape = match many {
        Many::One => json!({ "allOf": [one] }),
        Many::Devices => json!({ "anyOf": [one, list] }),
        Many::List => list,
    };
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!(format!("oomph {verb} --json")));
    schema.extend(shape.as_object().cloned().unwrap());
    schema.insert("$defs".to_owned(), Value::Object(generator.take_definitions(true)));
    Value::Object(schema)
}

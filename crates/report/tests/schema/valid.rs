//! A document against a schema, as far as the schemas of this repository go. Stricter than JSON Schema: a key that no
//! schema names is a problem.

use serde_json::Value;

/// What is wrong with a document, each with its place.
pub(crate) fn problems(schema: &Value, document: &Value) -> Vec<String> {
    Check { root: schema }.value(schema, document, "")
}

struct Check<'a> {
    root: &'a Value,
}

impl Check<'_> {
    fn value(&self, schema: &Value, value: &Value, at: &str) -> Vec<String> {
        if let Some(name) = schema["$ref"].as_str().and_then(|link| link.strip_prefix("#/$defs/")) {
            return self.value(&self.root["$defs"][name], value, at);
        }
        if let Some(all) = schema["allOf"].as_array() {
            return all.iter().flat_map(|one| self.value(one, value, at)).collect();
        }
        if let Some(any) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            // Of several, the one that comes nearest tells what is wrong.
            let each = any.iter().map(|one| self.value(one, value, at));
            return each
                .min_by_key(|found| (found.len(), found.iter().any(|one| one.contains("not of type"))))
                .unwrap();
        }
        if let Some(types) = types(schema)
            && !types.iter().any(|name| is_of(value, name))
        {
            return vec![format!("{at} is {value}, not of type {}", types.join(" or "))];
        }
        let values = schema["enum"].as_array().cloned().or(schema.get("const").map(|one| vec![one.clone()]));
        if values.is_some_and(|values| !values.contains(value)) {
            return vec![format!("{at} is {value}, which is none of its values")];
        }
        match value {
            Value::Object(fields) => {
                let named = |key: &str| schema["properties"].get(key).or(schema.get("additionalProperties"));
                let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let missing = required.filter(|key| !fields.contains_key(*key));
                let mut found: Vec<String> = missing.map(|key| format!("{at}/{key} is missing")).collect();
                for (key, field) in fields {
                    match named(key).filter(|schema| schema.is_object()) {
                        Some(schema) => found.extend(self.value(schema, field, &format!("{at}/{key}"))),
                        None => found.push(format!("{at}/{key} is unknown")),
                    }
                }
                found
            }
            Value::Array(items) => {
                let each = items.iter().enumerate();
                each.flat_map(|(n, item)| self.value(&schema["items"], item, &format!("{at}/{n}"))).collect()
            }
            _ => Vec::new(),
        }
    }
}

fn types(schema: &Value) -> Option<Vec<&str>> {
    match &schema["type"] {
        Value::String(one) => Some(vec![one]),
        Value::Array(several) => Some(several.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("a schema names the type {other}"),
    }
}

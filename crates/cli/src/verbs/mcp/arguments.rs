//! Arguments of a tool: what they are comes from the command line's own definition, and they become its words.

use std::any::TypeId;

use clap::{Arg, ArgAction, Command, CommandFactory};
use serde_json::{Map, Value, json};

use super::tools::Tool;
use crate::args::Args;

/// The folder that a tool works in: every tool has it.
const FOLDER: &str = "folder";
const FOLDER_IS: &str =
    "The folder to work in: relative paths begin there. Without it, where this server was started";

/// A call as it is started.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// The words of the command line.
    pub(super) words: Vec<String>,
    /// The folder it works in, where one is named.
    pub(super) folder: Option<String>,
    /// What it reads.
    pub(super) input: Option<String>,
}

/// The type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Texts,
    Number,
    Flag,
}

impl Kind {
    fn of(arg: &Arg) -> Kind {
        match arg.get_action() {
            ArgAction::SetTrue => Kind::Flag,
            ArgAction::Append => Kind::Texts,
            _ if arg.get_value_parser().type_id() == TypeId::of::<u64>() => Kind::Number,
            _ => Kind::Text,
        }
    }

    fn schema(self) -> Value {
        match self {
            Kind::Text => json!({ "type": "string" }),
            Kind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            Kind::Number => json!({ "type": "integer", "minimum": 1 }),
            Kind::Flag => json!({ "type": "boolean" }),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Text => "a string",
            Kind::Texts => "a list of strings",
            Kind::Number => "a whole number",
            Kind::Flag => "true or false",
        }
    }

    /// The values as words: none for a flag that is off. `None` where they are of another type.
    fn values(self, given: &Value) -> Option<Vec<String>> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        match self {
            Kind::Text => Some(vec![text(given)?]),
            Kind::Texts => given.as_array()?.iter().map(text).collect(),
            Kind::Number => Some(vec![given.as_u64()?.to_string()]),
            Kind::Flag => Some(if given.as_bool()? { vec![String::new()] } else { Vec::new() }),
        }
    }
}

/// The verb as the command line defines it.
fn verb(tool: &Tool) -> Command {
    Args::command().find_subcommand(tool.verb).cloned().unwrap_or_default()
}

fn arg<'a>(verb: &'a Command, name: &str) -> Option<&'a Arg> {
    let own = |arg: &Arg| arg.get_long().unwrap_or(arg.get_id().as_str()).replace('-', "_");
    verb.get_arguments().find(|arg| own(arg) == name)
}

/// What a tool takes, as JSON Schema.
pub(super) fn schema(tool: &Tool) -> Value {
    let verb = verb(tool);
    let mut properties = Map::new();
    let mut add = |name: &str, kind: Kind, about: &str| {
        let mut schema = kind.schema();
        schema["description"] = json!(about);
        properties.insert(name.to_owned(), schema);
    };
    if let Some((name, about)) = tool.input {
        add(name, Kind::Text, about);
    }
    for (name, about) in tool.arguments {
        let Some(arg) = arg(&verb, name) else { continue };
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        add(name, Kind::of(arg), if about.is_empty() { &help } else { about });
    }
    add(FOLDER, Kind::Text, FOLDER_IS);
    let required = required(tool);
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// A call with these arguments; where they are wrong, one line that says why. What is null is not given.
pub(super) fn asked(tool: &Tool, given: &Map<String, Value>) -> Result<Asked, String> {
    let verb = verb(tool);
    let is_given = |name: &&str| given.get(*name).is_some_and(|value| !value.is_null());
    if !tool.needs.is_empty() && !tool.needs.iter().any(is_given) {
        return Err(format!("{} needs {}", tool.verb, tool.needs.join(" or ")));
    }
    if let Some(name) = required(tool).into_iter().find(|name| !is_given(name)) {
        return Err(format!("{} needs {name}", tool.verb));
    }
    let mut asked = Asked {
        words: [tool.verb, "--json", "--quiet"].map(str::to_owned).to_vec(),
        folder: None,
        input: None,
    };
    let (mut program, mut places) = (Vec::new(), Vec::new());
    // What has a place has it by the order of the table, not by that of the call.
    let place = |name: &str| {
        let has_place = arg(&verb, name).is_some_and(clap::Arg::is_positional);
        tool.arguments.iter().position(|(listed, _)| *listed == name).filter(|_| has_place)
    };
    let mut given: Vec<(&String, &Value)> = given.iter().filter(|(_, value)| !value.is_null()).collect();
    given.sort_by_key(|(name, _)| place(name));
    for (name, value) in given {
        let is_input = tool.input.is_some_and(|(input, _)| input == name);
        let listed = tool.arguments.iter().any(|(listed, _)| listed == name);
        let arg = arg(&verb, name).filter(|_| listed);
        let kind = match arg {
            Some(arg) => Kind::of(arg),
            None if is_input || name == FOLDER => Kind::Text,
            None => return Err(format!("{} has no argument `{name}`: it has {}", tool.verb, names(tool))),
        };
        let values = kind.values(value).ok_or_else(|| format!("`{name}` must be {}", kind.name()))?;
        for value in values {
            match arg.map(|arg| (arg.get_long(), arg.get_short())) {
                None if is_input => asked.input = Some(value),
                None => asked.folder = Some(value),
                Some((Some(long), _)) if kind == Kind::Flag => asked.words.push(format!("--{long}")),
                Some((Some(long), _)) => asked.words.push(format!("--{long}={value}")),
                Some((None, Some(short))) => program.extend([format!("-{short}"), value]),
                Some((None, None)) => places.push(value),
            }
        }
    }
    if asked.input.is_some() {
        places.push("-".to_owned());
    }
    // Behind `-m` and `-c` all words are the script's own, with no need to set them apart.
    if program.is_empty() && !places.is_empty() {
        program.push("--".to_owned());
    }
    asked.words.extend(program.into_iter().chain(places));
    Ok(asked)
}

/// The arguments that the verb cannot do without.
fn required(tool: &Tool) -> Vec<&'static str> {
    let verb = verb(tool);
    let needed = |name: &&str| arg(&verb, name).is_some_and(clap::Arg::is_required_set);
    tool.arguments.iter().map(|(name, _)| *name).filter(needed).collect()
}

fn names(tool: &Tool) -> String {
    let input = tool.input.map(|(name, _)| name);
    let all = input.into_iter().chain(tool.arguments.iter().map(|(name, _)| *name)).chain([FOLDER]);
    all.collect::<Vec<&str>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::tools::TOOLS;
    use super::*;

    /// The words behind the verb and what every call has.
    #[track_caller]
    fn words(tool: &str, given: Value) -> Result<Vec<String>, String> {
        let (Some(tool), Value::Object(given)) = (Tool::named(tool), given) else { panic!("no such tool") };
        let words = asked(tool, &given)?.words;
        assert_eq!(words[..3], [tool.verb, "--json", "--quiet"]);
        Ok(words[3..].to_vec())
    }

    #[track_caller]
    fn check(tool: &str, given: Value, expected: &[&str]) {
        assert_eq!(words(tool, given), Ok(expected.iter().map(|word| (*word).to_owned()).collect()));
    }

    #[test]
    fn every_argument_of_the_table_is_one_of_its_verb() {
        for tool in TOOLS {
            let verb = verb(tool);
            for (name, _) in tool.arguments {
                assert!(arg(&verb, name).is_some(), "{} has no {name}", tool.verb);
            }
        }
    }

    #[test]
    fn arguments_become_words_in_their_places() {
        check("status", json!({}), &[]);
        check(
            "replay",
            json!({ "file": "-x", "limit": "1GiB", "set": ["a:1", "b:2"] }),
            &["--limit=1GiB", "--set=a:1", "--set=b:2", "--", "-x"],
        );
        check("diff", json!({ "b": "y", "fail_over": "2%", "a": "x" }), &["--fail-over=2%", "--", "x", "y"]);
        check(
            "explain",
            json!({ "files": ["a", "b"], "text": "oom", "profile": null }),
            &["--", "a", "b", "-"],
        );
        check(
            "plan",
            json!({ "command": ["t.py", "--gpu", "8"], "vary": "--batch", "steps": 3 }),
            &["--vary=--batch", "--steps=3", "--", "t.py", "--gpu", "8"],
        );
        check(
            "plan",
            json!({ "module": "pkg", "command": ["-x"], "no_options": true, "options": false }),
            &["--no-options", "-m", "pkg", "-x"],
        );
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        let wrong = |tool: &str, given: Value| words(tool, given).err().unwrap_or_default();
        assert_eq!(wrong("explain", json!({})), "explain needs text or files");
        assert_eq!(wrong("replay", json!({ "file": null })), "replay needs file");
        assert_eq!(wrong("replay", json!({ "file": 3 })), "`file` must be a string");
        assert_eq!(wrong("diff", json!({ "a": "x" })), "diff needs b");
        assert_eq!(wrong("explain", json!({ "files": "a" })), "`files` must be a list of strings");
        let plan = |name: &str, value: Value| wrong("plan", json!({ "code": "1", name: value }));
        assert_eq!(plan("steps", json!("3")), "`steps` must be a whole number");
        assert_eq!(plan("options", json!(1)), "`options` must be true or false");
        // What writes files is not for agents.
        let others = "command, module, code, gpu, memory, capability, limit, set, vary, options, no_options, steps, \
                      timeout, python, folder";
        assert_eq!(plan("html", json!("x")), format!("plan has no argument `html`: it has {others}"));
    }
}

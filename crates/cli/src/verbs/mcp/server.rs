//! The server: a message in, its answer out.

use std::io::BufRead;

use anyhow::Result;
use oomph_launch::members;
use serde_json::{Map, Value, json};

use super::arguments;
use super::calls::{Calls, failure};
use super::message::{self, Fault, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Message};
use super::tools::{TOOLS, Tool};
use super::version;

/// Answers what is read until the input ends. What is under way then is given up, as when we are ended.
pub(super) fn serve(mut input: impl BufRead) -> Result<()> {
    let calls = Calls::default();
    let ended = calls.clone();
    let _listening = members::before_we_end(move || ended.end())?;
    let result = answer_all(&mut input, &calls);
    calls.end();
    result
}

fn answer_all(input: &mut impl BufRead, calls: &Calls) -> Result<()> {
    while let Some(line) = message::next_line(input)? {
        let read = line.map_err(|fault| (Value::Null, fault)).and_then(|line| message::read(&line));
        match read {
            Err((id, fault)) => message::answer(&id, Err(fault))?,
            Ok(None) => {}
            Ok(Some(Message { id: None, method, params })) => hear(&method, &params, calls),
            Ok(Some(Message { id: Some(id), method, params })) => {
                if let Some(result) = request(&id, &method, &params, calls).transpose() {
                    message::answer(&id, result)?;
                }
            }
        }
    }
    Ok(())
}

/// A notification. Others than this one ask for nothing.
fn hear(method: &str, params: &Map<String, Value>, calls: &Calls) {
    if let ("notifications/cancelled", Some(id)) = (method, params.get("requestId")) {
        calls.give_up(id);
    }
}

/// The result of a request; `None` where it comes later.
fn request(
    id: &Value,
    method: &str,
    params: &Map<String, Value>,
    calls: &Calls,
) -> Result<Option<Value>, Fault> {
    if calls.has(id) {
        return Err(Fault::new(INVALID_REQUEST, format!("a request with the id {id} is under way")));
    }
    let is_marked = version::is_said(params)?;
    let mark = move |result: Value, may_be_kept: bool| {
        if is_marked { version::marked(result, may_be_kept) } else { result }
    };
    Ok(match method {
        "initialize" => Some(version::agreed(params)?),
        "server/discover" => Some(version::marked(version::discovered(), true)),
        "ping" => Some(mark(json!({}), false)),
        "tools/list" => Some(mark(list(), true)),
        "tools/call" => call(id, params, calls, move |result| mark(result, false))?,
        _ => return Err(Fault::new(METHOD_NOT_FOUND, format!("there is no method {method} here"))),
    })
}

/// The tools, as `tools/list` gives them.
fn list() -> Value {
    let described = |tool: &Tool| {
        json!({
            "name": tool.verb,
            "description": tool.about,
            "inputSchema": arguments::schema(tool),
            "annotations": {
                "readOnlyHint": !tool.runs_code,
                "destructiveHint": tool.runs_code,
                "openWorldHint": tool.runs_code,
            },
        })
    };
    json!({ "tools": TOOLS.iter().map(described).collect::<Vec<Value>>() })
}

/// Starts a call. What is wrong with its arguments is a result that the agent reads, and mends.
fn call(
    id: &Value,
    params: &Map<String, Value>,
    calls: &Calls,
    mark: impl Fn(Value) -> Value + Clone + Send + 'static,
) -> Result<Option<Value>, Fault> {
    let name = params.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| Fault::new(INVALID_PARAMS, "tools/call needs the name of a tool"))?;
    let tool = Tool::named(name).ok_or_else(|| {
        let all: Vec<&str> = TOOLS.iter().map(|tool| tool.verb).collect();
        Fault::new(INVALID_PARAMS, format!("there is no tool {name}: there are {}", all.join(", ")))
    })?;
    let given = match params.get("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(given)) => given.clone(),
        Some(_) => return Err(Fault::new(INVALID_PARAMS, "the arguments of a tool are an object")),
    };
    let (later, told) = (mark.clone(), id.clone());
    let tell = move |result: Value| {
        // Where the client is gone, the end of input says so.
        let _ = message::answer(&told, Ok(later(result)));
    };
    let started = arguments::asked(tool, &given).and_then(|asked| calls.start(id, asked, tell));
    Ok(started.err().map(|line| mark(failure(&line))))
}

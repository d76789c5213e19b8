//! Messages of JSON-RPC 2.0, one a line.

use std::io::{self, BufRead, Read, Write};

use serde_json::{Map, Value, json};

/// The longest message that is read. A log that is longer is better named as a file.
const LONGEST: u64 = 64 << 20;

pub(super) const PARSE_ERROR: i32 = -32700;
pub(super) const INVALID_REQUEST: i32 = -32600;
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
pub(super) const INVALID_PARAMS: i32 = -32602;

/// A message that can be acted on. Without an id it is a notification, which nobody answers.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) id: Option<Value>,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
}

/// What cannot be done, as the protocol says it.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) code: i32,
    pub(super) text: String,
    pub(super) data: Option<Box<Value>>,
}

impl Fault {
    pub(super) fn new(code: i32, text: impl Into<String>) -> Fault {
        Fault { code, text: text.into(), data: None }
    }
}

/// The next line; `None` at the end of input. One that is too long is an error, and read past.
pub(super) fn next_line(input: &mut impl BufRead) -> io::Result<Option<Result<Vec<u8>, Fault>>> {
    let mut line = Vec::new();
    input.take(LONGEST).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.len() as u64 == LONGEST && line.last() != Some(&b'\n') {
        while !line.is_empty() && line.last() != Some(&b'\n') {
            line.clear();
            input.take(LONGEST).read_until(b'\n', &mut line)?;
        }
        let text = format!("a message may have {} MiB: name a file instead of its text", LONGEST >> 20);
        return Ok(Some(Err(Fault::new(INVALID_REQUEST, text))));
    }
    Ok(Some(Ok(line)))
}

/// What a line says; `None` where it is an answer, which nobody here waits for. An error has the id it can be told by.
pub(super) fn read(line: &[u8]) -> Result<Option<Message>, (Value, Fault)> {
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        (Value::Null, Fault::new(PARSE_ERROR, format!("this line is not one message of JSON: {error}")))
    })?;
    let invalid = |id: Value, text: &str| (id, Fault::new(INVALID_REQUEST, text));
    let Value::Object(mut message) = value else {
        return Err(invalid(Value::Null, "a message is one object; lists of them are not taken"));
    };
    let id = message.remove("id");
    let known = id.clone().filter(|id| id.is_string() || id.is_number()).unwrap_or_default();
    if id.is_some() && known.is_null() {
        return Err(invalid(known, "the id of a request is a string or a number"));
    }
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid(known, "a message has \"jsonrpc\": \"2.0\""));
    }
    let method = match message.remove("method") {
        Some(Value::String(method)) => method,
        None if message.contains_key("result") || message.contains_key("error") => return Ok(None),
        _ => return Err(invalid(known, "a request has a method")),
    };
    let params = match message.remove("params") {
        Some(Value::Object(params)) => params,
        None => Map::new(),
        Some(_) => return Err((known, Fault::new(INVALID_PARAMS, "params are an object"))),
    };
    Ok(Some(Message { id, method, params }))
}

/// Writes the answer to a request.
pub(super) fn answer(id: &Value, result: Result<Value, Fault>) -> io::Result<()> {
    let message = match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(Fault { code, text, data }) => {
            let mut error = json!({ "code": code, "message": text });
            if let Some(data) = data {
                error["data"] = *data;
            }
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
        }
    };
    let mut out = io::stdout().lock();
    writeln!(out, "{message}")?;
    out.flush()
}

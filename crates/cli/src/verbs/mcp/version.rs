//! The versions of the protocol. Up to 2025-11-25 the client begins with `initialize`. Since 2026-07-28 every request says
//! its version, and results say a little more of themselves.

use serde_json::{Map, Value, json};

use super::message::{Fault, INVALID_PARAMS};

/// Those that begin with `initialize`, the latest last.
const WITH_A_BEGINNING: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The one without.
const WITHOUT: &str = "2026-07-28";
/// A request of a version that is not known.
const UNSUPPORTED: i32 = -32022;
/// How long a client may keep the list of tools: it does not change as long as we run.
const KEPT_MS: u64 = 3_600_000;

/// What we say to a client that begins: its own version where it is known, else the latest that begins so.
pub(super) fn agreed(params: &Map<String, Value>) -> Result<Value, Fault> {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let asked = asked.ok_or_else(|| {
        Fault::new(INVALID_PARAMS, "initialize needs a protocolVersion, such as 2025-11-25")
    })?;
    let latest = WITH_A_BEGINNING.last().copied().unwrap_or_default();
    let version = WITH_A_BEGINNING.iter().copied().find(|known| *known == asked).unwrap_or(latest);
    Ok(json!({
        "protocolVersion": version,
        "capabilities": capabilities(),
        "serverInfo": ourselves(),
        "instructions": INSTRUCTIONS,
    }))
}

/// What we say to a client that asks who we are.
pub(super) fn discovered() -> Value {
    let versions: Vec<&str> = WITH_A_BEGINNING.iter().copied().chain([WITHOUT]).collect();
    json!({ "supportedVersions": versions, "capabilities": capabilities(), "instructions": INSTRUCTIONS })
}

/// Whether a request says its version; one that is not known is a fault.
pub(super) fn is_said(params: &Map<String, Value>) -> Result<bool, Fault> {
    let said = params.get("_meta").and_then(|meta| meta.get("io.modelcontextprotocol/protocolVersion"));
    match said.map(|said| said.as_str().unwrap_or_default()) {
        None => Ok(false),
        Some(WITHOUT) => Ok(true),
        Some(other) => Err(Fault {
            code: UNSUPPORTED,
            text: format!("version {other} of the protocol is not known here"),
            data: Some(Box::new(json!({ "supported": [WITHOUT], "requested": other }))),
        }),
    }
}

/// A result with what it says of itself in the later version.
pub(super) fn marked(mut result: Value, may_be_kept: bool) -> Value {
    result["resultType"] = json!("complete");
    result["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": ourselves() });
    if may_be_kept {
        result["ttlMs"] = json!(KEPT_MS);
        result["cacheScope"] = json!("public");
    }
    result
}

const INSTRUCTIONS: &str = "oomph finds out why a job ran out of GPU or host memory, and what makes it fit. Begin with \
    `explain`: give it the error's text, a log, or a memory snapshot. Before a job is run or changed, ask `plan` whether it \
    fits on a card: no GPU is needed. Sizes in results are in bytes.";

fn capabilities() -> Value {
    json!({ "tools": {} })
}

fn ourselves() -> Value {
    json!({ "name": "oomph", "title": "oomph: out of memory, explained", "version": env!("CARGO_PKG_VERSION") })
}

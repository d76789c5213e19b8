//! A log or a message, as JSON.

use oomph_diagnose::message::Log;
use oomph_diagnose::phase::Phase;
use serde_json::{Value, json};

use super::{SCHEMA, bytes};

/// `oomph explain --json` of a log or a message.
pub fn message(log: &Log) -> Value {
    let ooms = log.reports.iter().map(|oom| {
        let facts = &oom.facts;
        let processes = facts.processes.iter().map(|process| {
            json!({ "pid": process.pid, "bytes": bytes(process.bytes), "is_this": process.is_this })
        });
        let fixes = oom.fixes.iter().map(
            |fix| json!({ "title": fix.title, "helps": fix.helps, "how": fix.how.name(), "why": fix.why }),
        );
        json!({
            "framework": oom.framework.name(),
            "role": oom.role.name(),
            "line": oom.line,
            "offset": oom.offset,
            "class": oom.class,
            "written_by": oom.writer,
            "tried_bytes": facts.tried.map(bytes),
            "total_bytes": facts.total.map(bytes),
            "allocated_bytes": facts.allocated.map(bytes),
            "reserved_bytes": facts.reserved.map(bytes),
            "free_bytes": facts.free.map(bytes),
            "other_process_bytes": facts.other_process.map(bytes),
            "allowed_bytes": facts.allowed.map(bytes),
            "private_pool_bytes": facts.private_pools.map(bytes),
            "device": facts.device,
            "processes": processes.collect::<Vec<_>>(),
            "cause": oom.verdict.cause.name(),
            "confidence": oom.verdict.confidence.name(),
            "why": oom.verdict.why,
            "find_out": oom.verdict.ask,
            "place": oom.place.as_ref().map(|place| json!({
                "file": place.line.file,
                "line": (place.line.line > 0).then_some(place.line.line),
                "function": place.line.function,
                "phase": oom.phase.map(Phase::name),
            })),
            "shape": oom.shape.map(|shape| shape.sentence),
            "fixes": fixes.collect::<Vec<_>>(),
            "text": oom.text,
        })
    });
    json!({
        "schema": SCHEMA,
        "lines": log.extent.lines,
        "ooms": ooms.collect::<Vec<_>>(),
        "unread": log.unread,
    })
}

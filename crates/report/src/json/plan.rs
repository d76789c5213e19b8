//! `oomph plan --json`.

use serde_json::{Map, Value, json};

use super::{SCHEMA, bytes};
use crate::plan::{PlanResult, PlannedOption, PlannedVary};

/// The answer for one card.
pub fn plan(result: &PlanResult) -> Value {
    let peaks = result.peaks;
    let by_class: Map<String, Value> = result
        .by_class
        .iter()
        .map(|(class, size)| (class.name().replace(' ', "_"), json!(bytes(*size))))
        .collect();
    json!({
        "schema": SCHEMA,
        "script": result.script,
        "gpu": result.card.short,
        "gpu_name": result.card.name,
        "capability": format!("{}.{}", result.card.capability.0, result.card.capability.1),
        "seen_on": result.card.seen_on,
        "total_bytes": bytes(result.card.total),
        "context_bytes": bytes(result.card.context),
        "limit": result.limit.map(bytes),
        "peak_requested": peaks.map(|peaks| bytes(peaks.requested)),
        "peak_allocated": peaks.map(|peaks| bytes(peaks.allocated)),
        "peak_reserved": peaks.map(|peaks| bytes(peaks.reserved)),
        "process_bytes": result.process().map(bytes),
        "fits": result.fits,
        "retries": result.retries,
        "at": {
            "file": result.at.file,
            "line": result.at.line,
            "phase": result.at.phase.map(oomph_diagnose::phase::Phase::name),
            "step": result.at.step,
            "within": result.at.within.as_ref().map(|(file, line)| json!({ "file": file, "line": line })),
        },
        "by_class": by_class,
        "steps": result.steps,
        "options": result.options.iter().map(option).collect::<Vec<_>>(),
        "vary": result.vary.as_ref().map(vary),
        "caveats": result.caveats,
        "why_not": result.why_not,
    })
}

fn option(option: &PlannedOption) -> Value {
    json!({
        "change": option.change,
        "do": option.instruction,
        "how": option.how.name(),
        "peak_reserved": option.peak_reserved.map(bytes),
        "process_bytes": option.process.map(bytes),
        "fits": option.fits,
    })
}

fn vary(vary: &PlannedVary) -> Value {
    let kept = vary.accumulation();
    json!({
        "flag": vary.flag,
        "asked": vary.asked,
        "largest": vary.largest,
        "peak_reserved": vary.peak_reserved.map(bytes),
        "open": vary.is_open,
        "tried": vary.tried,
        "micro": kept.map(|(micro, _)| micro),
        "accumulate": kept.map(|(_, times)| times),
    })
}

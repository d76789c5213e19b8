//! The verdict on a recording, as JSON.

use oomph_engine::counters::Counters;
use oomph_engine::recording::Recording;
use oomph_trace::Bytes;
use serde_json::{Value, json};

use super::recorded::add;
use super::{SCHEMA, bytes, fidelity, place, recorded, trace};
use crate::results::ExplainResult;

/// `oomph explain --json`.
pub fn explain(result: &ExplainResult<'_>) -> Value {
    let (recording, explanation) = (result.recording, &result.explanation);
    let moment = &explanation.moment;
    let holders: Vec<Value> = moment
        .holders
        .iter()
        .map(|holder| {
            json!({ "bytes": bytes(holder.bytes), "count": holder.count, "place": holder.place.as_ref().map(place) })
        })
        .collect();
    let findings: Vec<Value> = explanation
        .findings
        .iter()
        .map(|finding| {
            json!({
                "rule": finding.rule,
                "cause": finding.cause.map(oomph_diagnose::cause::Cause::name),
                "claim": finding.claim,
                "evidence": finding.evidence,
            })
        })
        .collect();
    let fixes: Vec<Value> = explanation
        .fixes
        .iter()
        .map(|fix| {
            let settings = fix.candidate.options.to_string();
            json!({
                "title": if settings.is_empty() { "default settings".to_owned() } else { settings.clone() },
                "settings": settings,
                "peak_reserved": bytes(fix.candidate.peak_reserved),
                "retries": fix.candidate.retries,
                "room": fix.candidate.room.map(bytes),
                "completes": fix.candidate.completes,
                "helps": fix.helps,
                "how": "replayed",
            })
        })
        .collect();
    let ooms: Vec<Value> = explanation
        .ooms
        .iter()
        .map(|oom| {
            // The state is known for the failure that the verdict is about, the first.
            let verdict = (oom.event == moment.event).then_some(moment);
            let why = explanation.findings.iter().filter(|finding| finding.cause.is_some());
            json!({
                "framework": "pytorch",
                "event": oom.event.0,
                "size": bytes(oom.size),
                "tried_bytes": verdict.and_then(|moment| moment.failed).map(|failed| bytes(failed.segment)),
                "total_bytes": Value::Null,
                "allowed_bytes": recording.ceiling().map(bytes),
                "allocated_bytes": verdict.map(|moment| bytes(moment.counters.allocated)),
                "reserved_bytes": verdict.map(|moment| bytes(moment.counters.reserved)),
                "free_bytes": bytes(oom.device_free),
                "other_process_bytes": Value::Null,
                "cause": verdict.map(|_| explanation.cause.map_or("unknown", oomph_diagnose::cause::Cause::name)),
                "confidence": verdict.map(|_| if explanation.cause.is_some() && recording.is_exact() { "high" } else { "low" }),
                "why": verdict.map(|_| why.flat_map(|finding| &finding.evidence).collect::<Vec<_>>()),
                "device_free": bytes(oom.device_free),
                "step": oom.step,
                "place": oom.place.as_ref().map(place),
                "fixes": verdict.map(|_| fixes.clone()),
            })
        })
        .collect();
    let ruled_out: Vec<Value> = explanation
        .ruled_out
        .iter()
        .map(|(cause, reason)| json!({ "cause": cause.name(), "reason": reason }))
        .collect();
    let mut document = json!({
        "schema": SCHEMA,
        "trace": trace(recording),
        "recorded": recorded(recording),
        "fidelity": fidelity(recording),
        "ooms": ooms,
        "cause": explanation.cause.map(oomph_diagnose::cause::Cause::name),
        "ruled_out": ruled_out,
        "peak": {
            "event": recording.peaks.active.at.0,
            "active": bytes(recording.peaks.active.bytes),
            "reserved": bytes(recording.peaks.reserved.bytes),
        },
        "moment": moment_value(&moment.counters, moment.event.0, moment.releasable, recording),
        "stranded": moment.failed.map(|failed| json!({
            "size": bytes(failed.size),
            "segment": bytes(failed.segment),
            "other_pool": bytes(failed.stranded.other_pool),
            "other_stream": bytes(failed.stranded.other_stream),
            "too_small": bytes(failed.stranded.too_small),
            "refused": bytes(failed.stranded.refused),
            "largest": bytes(failed.stranded.largest),
            "spurious": failed.spurious,
        })),
        "holders": holders,
        "steps": {
            "count": explanation.steps.starts.len(),
            "baseline": explanation.steps.baseline.iter().copied().map(bytes).collect::<Vec<_>>(),
            "growth": explanation.steps.growth.as_ref().map(|growth| json!({
                "per_step": bytes(growth.per_step),
                "lines": growth.lines.iter().map(|(line, grown)| json!({
                    "bytes_per_step": bytes(*grown),
                    "place": line.as_ref().map(place),
                })).collect::<Vec<_>>(),
            })),
        },
        "findings": findings,
        "fixes": fixes,
        "advice": explanation.advice.iter().map(|advice| json!({
            "title": advice.title,
            "in_use": advice.in_use.map(bytes),
            "helps": advice.helps,
            "how": advice.how.name(),
            "why": advice.why,
        })).collect::<Vec<_>>(),
    });
    add(&mut document, result);
    document
}

fn moment_value(counters: &Counters, event: u32, releasable: Bytes, recording: &Recording<'_>) -> Value {
    json!({
        "event": event,
        "requested": bytes(counters.requested),
        "allocated": bytes(counters.allocated),
        "active": bytes(counters.active),
        "reserved": bytes(counters.reserved),
        "cached": bytes(counters.cached()),
        "releasable": bytes(releasable),
        "trapped": bytes(counters.cached().saturating_sub(releasable)),
        "not_held": recording.ceiling().map(|ceiling| bytes(ceiling.saturating_sub(counters.reserved))),
        "limit": recording.ceiling().map(bytes),
    })
}

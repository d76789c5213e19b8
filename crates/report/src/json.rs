//! Results as JSON, schema 1: the same bytes for the same input. Fields are added, never renamed or removed.

use oomph_diagnose::message::{Log, Phase, Shape};
use oomph_diagnose::place::Place;
use oomph_diagnose::rules::RuleInfo;
use oomph_diagnose::tune::Candidate;
use oomph_engine::counters::{Counters, Peaks};
use oomph_engine::program::{Origin, Unknown};
use oomph_engine::recording::{LimitSource, Recording};
use oomph_engine::torch::profile::Version;
use oomph_trace::{BlockState, Bytes, Snapshot, Trace};
use serde_json::{Value, json};

use crate::results::{ExplainResult, ReplayResult, TuneResult};

/// The schema's number.
pub const SCHEMA: u32 = 1;

/// Devices' results as one document: the object itself for one device, a list for several.
pub fn document(mut results: Vec<Value>) -> String {
    let value = if results.len() == 1 { results.remove(0) } else { Value::Array(results) };
    printed(&value)
}

fn printed(value: &Value) -> String {
    let mut text =
        serde_json::to_string_pretty(value).expect("maps with string keys and finite numbers always print");
    text.push('\n');
    text
}

/// `oomph rule --json`: always a list.
pub fn rules(rules: &[&RuleInfo]) -> String {
    let entry = |info: &&RuleInfo| json!({ "rule": info.id, "name": info.name, "summary": info.summary, "page": info.page });
    let list: Vec<Value> = rules.iter().map(entry).collect();
    printed(&Value::Array(list))
}

/// `oomph inspect --json`.
pub fn inspect(snapshot: &Snapshot) -> Value {
    let devices = snapshot.traces.iter().map(|trace| {
        json!({
            "device": trace.device,
            "events": trace.events.len(),
            "segments": trace.segments.len(),
            "held": bytes(trace.segments.iter().map(|segment| segment.size).sum()),
            "in_use": bytes(in_use(trace)),
        })
    });
    json!({
        "schema": SCHEMA,
        "version": Version::inferred_from(&snapshot.fields).to_string(),
        "settings": snapshot.settings.as_ref().map(|settings| settings.conf.clone().unwrap_or_default()),
        "stacks": snapshot.stacks.len(),
        "frames": snapshot.stacks.frame_count(),
        "devices": devices.collect::<Vec<_>>(),
    })
}

/// What serves an allocation, or waits for another stream, when the snapshot was taken.
pub(crate) fn in_use(trace: &Trace) -> Bytes {
    let blocks = trace.segments.iter().flat_map(|segment| &segment.blocks);
    blocks.filter(|block| block.state != BlockState::Free).map(|block| block.size).sum()
}

/// `oomph replay --json`.
pub fn replay(result: &ReplayResult<'_>) -> Value {
    let recording = result.recording;
    let tally = &result.replayed.tally;
    let mut replayed = peaks(&result.replayed.peaks);
    let more = json!({
        "settings": result.setup.options.to_string(),
        "limit": result.setup.limit.or(result.setup.capacity).map(bytes),
        "retries": tally.retries,
        "ooms": tally.ooms,
        "driver_calls": tally.driver_grows + tally.driver_shrinks,
        "completes": result.replayed.completes(),
        "died_at": result.replayed.died.map(|event| event.0),
    });
    extend(&mut replayed, more);
    let mut document = json!({
        "schema": SCHEMA,
        "trace": trace(recording),
        "recorded": recorded(recording),
        "replayed": replayed,
    });
    if result.as_recorded {
        extend(&mut document, json!({ "fidelity": fidelity(recording) }));
    }
    document
}

/// `oomph tune --json`.
pub fn tune(result: &TuneResult<'_>) -> Value {
    json!({
        "schema": SCHEMA,
        "trace": trace(result.recording),
        "recorded": recorded(result.recording),
        "fidelity": fidelity(result.recording),
        "limit": result.limit.map(bytes),
        "candidates": result.candidates.iter().map(candidate).collect::<Vec<_>>(),
        "best": best(result),
        "growth_per_step": result.growth.as_ref().map(|growth| bytes(growth.per_step)),
    })
}

/// The candidate to recommend; where none helps, the recorded one.
fn best(result: &TuneResult<'_>) -> Value {
    let chosen = &result.candidates[result.best.unwrap_or(0)];
    let mut value = candidate(chosen);
    let risks = oomph_diagnose::tune::risks(&chosen.options);
    extend(&mut value, json!({ "helps": result.best.is_some(), "risks": risks }));
    value
}

/// `oomph explain --json` of a log or a message.
pub fn message(log: &Log) -> Value {
    let ooms = log.ooms.iter().map(|oom| {
        let facts = &oom.facts;
        let processes = facts.processes.iter().map(|process| {
            json!({ "pid": process.pid, "bytes": bytes(process.bytes), "is_this": process.is_this })
        });
        let fixes = oom.fixes.iter().map(
            |fix| json!({ "title": fix.title, "helps": fix.helps, "how": fix.known.name(), "why": fix.why }),
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
                "file": place.file,
                "line": (place.line > 0).then_some(place.line),
                "function": place.function,
                "phase": place.phase.map(Phase::name),
            })),
            "shape": oom.shape.map(Shape::sentence),
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
                "cause": finding.cause.map(oomph_diagnose::rules::Cause::name),
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
                "cause": verdict.map(|_| explanation.cause.map_or("unknown", oomph_diagnose::rules::Cause::name)),
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
    json!({
        "schema": SCHEMA,
        "trace": trace(recording),
        "recorded": recorded(recording),
        "fidelity": fidelity(recording),
        "ooms": ooms,
        "cause": explanation.cause.map(oomph_diagnose::rules::Cause::name),
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
    })
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

fn trace(recording: &Recording<'_>) -> Value {
    let bounds = &recording.program.limit;
    json!({
        "device": recording.trace.device,
        "events": recording.trace.events.len(),
        "origin": match recording.program.origin {
            Origin::Complete => "complete",
            Origin::Windowed => "windowed",
        },
        "profile": recording.setup.profile.version.to_string(),
        "settings": recording.setup.options.to_string(),
        "limit": recording.ceiling().map(bytes),
        "limit_source": match recording.limit_source {
            LimitSource::None => Value::Null,
            LimitSource::Given => json!("given"),
            LimitSource::Refusals => json!("refusals"),
            LimitSource::GarbageCollection => json!("garbage_collection"),
        },
        "limit_at_least": bytes(bounds.at_least),
        "limit_below": bounds.below.map(bytes),
        "unknown": recording.program.unknown.iter().map(|unknown| match unknown {
            Unknown::SlackBeforeStart { blocks } => json!({ "slack_before_start": blocks }),
            Unknown::OutsideSegments { events } => json!({ "outside_segments": events }),
        }).collect::<Vec<_>>(),
    })
}

fn recorded(recording: &Recording<'_>) -> Value {
    let mut value = peaks(&recording.peaks);
    // Where no exact replay gives them, what was allocated lacks the bytes lost by not splitting.
    extend(&mut value, json!({ "estimated": !recording.is_exact() }));
    value
}

fn peaks(peaks: &Peaks) -> Value {
    json!({
        "peak_requested": bytes(peaks.requested.bytes),
        "peak_allocated": bytes(peaks.allocated.bytes),
        "peak_active": bytes(peaks.active.bytes),
        "peak_reserved": bytes(peaks.reserved.bytes),
    })
}

fn fidelity(recording: &Recording<'_>) -> Value {
    json!({
        "exact": recording.is_exact(),
        "first_divergence": recording.fidelity.divergence.as_ref().map(|parted| json!({
            "event": parted.event.0,
            "recorded": parted.recorded.to_string(),
            "replayed": parted.replayed.to_string(),
        })),
    })
}

fn candidate(candidate: &Candidate) -> Value {
    json!({
        "settings": candidate.options.to_string(),
        "peak_reserved": bytes(candidate.peak_reserved),
        "smallest_limit": candidate.smallest_limit.map(bytes),
        "completes": candidate.completes,
        "room": candidate.room.map(bytes),
        "retries": candidate.retries,
        "driver_calls": candidate.driver_calls,
    })
}

fn place(place: &Place) -> Value {
    json!({
        "file": place.line.file,
        "line": place.line.line,
        "function": place.line.function,
        "within": place.within.as_ref().map(|inner| json!({
            "file": inner.file,
            "line": inner.line,
            "function": inner.function,
        })),
    })
}

fn bytes(size: Bytes) -> u64 {
    size.0
}

/// Adds the fields of one object to another.
fn extend(object: &mut Value, more: Value) {
    if let (Value::Object(object), Value::Object(more)) = (object, more) {
        object.extend(more);
    }
}

//! Results as JSON, schema 1: the same bytes for the same input. Fields are added, never renamed or removed.

use oomph_diagnose::place::Place;
use oomph_diagnose::rules::RuleInfo;
use oomph_diagnose::tune::Candidate;
use oomph_engine::counters::Peaks;
use oomph_engine::program::{Origin, Unknown};
use oomph_engine::recording::{LimitSource, Recording};
use oomph_engine::torch::profile::Version;
use oomph_trace::{BlockState, Bytes, Snapshot, Trace};
pub use serde_json::Value;
use serde_json::json;

use oomph_diagnose::results::explain::{Explained, FileResult};
use oomph_diagnose::results::replay::ReplayResult;
use oomph_diagnose::results::tune::TuneResult;

mod message;
mod recorded;
mod explain;
mod plan;
mod run;
mod status;

pub use explain::explain;
pub use message::message;
pub use plan::plan;
pub use recorded::process;
pub use run::run;
pub use status::status;

/// The schema's number.
pub const SCHEMA: u32 = 1;

/// `oomph explain --json`: everything explained.
pub fn files(files: &[FileResult]) -> String {
    document(files.iter().flat_map(|file| &file.results).map(explained).collect())
}

/// One thing explained.
pub fn explained(result: &Explained) -> Value {
    match result {
        Explained::Device(result) => explain(result),
        Explained::Process(result) => process(result),
        Explained::Text(log) => message(log),
    }
}

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

/// `oomph dump --json`: where the recordings are.
pub fn dump(recordings: &[String]) -> String {
    printed(&json!({ "schema": SCHEMA, "recordings": recordings }))
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
pub fn replay(result: &ReplayResult) -> Value {
    let recording = &result.recording;
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
pub fn tune(result: &TuneResult) -> Value {
    json!({
        "schema": SCHEMA,
        "trace": trace(&result.recording),
        "recorded": recorded(&result.recording),
        "fidelity": fidelity(&result.recording),
        "limit": result.limit.map(bytes),
        "candidates": result.candidates.iter().map(candidate).collect::<Vec<_>>(),
        "best": best(result),
        "growth_per_step": result.growth.as_ref().map(|growth| bytes(growth.per_step)),
    })
}

/// The candidate to recommend; where none helps, the recorded one.
fn best(result: &TuneResult) -> Value {
    let chosen = &result.candidates[result.best.unwrap_or(0)];
    let mut value = candidate(chosen);
    let risks = oomph_diagnose::tune::risks(&chosen.options);
    extend(&mut value, json!({ "helps": result.best.is_some(), "risks": risks }));
    value
}

fn trace(recording: &Recording) -> Value {
    let bounds = &recording.program.limit;
    json!({
        "device": recording.trace().device,
        "events": recording.trace().events.len(),
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
            LimitSource::Recorded => json!("recorded"),
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

fn recorded(recording: &Recording) -> Value {
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

fn fidelity(recording: &Recording) -> Value {
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

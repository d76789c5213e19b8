//! What the page knows of a recording before it draws anything.

use std::sync::Arc;

use oomph_engine::recording::Recording;
use oomph_trace::{Bytes, PoolId, Snapshot};
use oomph_view::groups::Part;
use oomph_view::lives::Failed;
use oomph_view::map::{greatest_height, highest_level};
use oomph_view::marks;
use oomph_view::picture::{Picture, Subject};
use serde_json::{Value, json};

use super::foreign::{bytes, document, text};
use crate::recording as told;
use crate::settings;

/// Points of the clock that the page gets; between them time is taken to run evenly.
const TICKS: usize = 2048;

/// A recording in the page's list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// What its file is called.
    pub name: String,
    /// The file.
    pub snapshot: Arc<Snapshot>,
    /// The GPU.
    pub device: i32,
}

/// All recordings that were named. Files of one name are told apart by their folders.
pub fn list(all: &[Listed]) -> Vec<u8> {
    let last = |listed: &Listed, parts: usize| {
        let words: Vec<&str> = listed.name.split('/').collect();
        words[words.len().saturating_sub(parts)..].join("/")
    };
    let one = |listed: &Listed| {
        let rank = listed.snapshot.sidecar.as_ref().and_then(told::rank);
        let is_shared =
            all.iter().any(|other| other.name != listed.name && last(other, 1) == last(listed, 1));
        let name = last(listed, if is_shared { 2 } else { 1 });
        let rank = rank.map(|rank| format!(", {rank}")).unwrap_or_default();
        json!({
            "file": text(&listed.name),
            "name": text(&format!("{name}{rank}, GPU {}", listed.device)),
        })
    };
    document(&json!({ "recordings": all.iter().map(one).collect::<Vec<Value>>() }))
}

/// What is drawn of one replay, and how.
pub fn meta(subject: &Subject, picture: &Picture) -> Vec<u8> {
    let recording = &*subject.recording;
    let lives = &picture.lives;
    let names = |part: Part| -> Vec<Value> {
        picture.ranks.names[part as usize].iter().map(|name| text(name)).collect()
    };
    let (found, left_out) = marks::of(recording, &subject.phases, lives);
    let marks: Vec<Value> =
        found.iter().map(|mark| json!([mark.kind.name(), mark.from, mark.to, text(&mark.text)])).collect();
    let left_out: Vec<Value> = left_out.iter().map(|(kind, count)| json!([kind.name(), count])).collect();
    let stretches = picture.addresses.stretches.iter();
    let stretches: Vec<Value> =
        stretches.map(|stretch| json!([stretch.addr.to_string(), stretch.size.0, stretch.at])).collect();
    let pools = recording.program.owners.iter().map(|owner| pool(owner.id));
    let streams = recording.program.streams.iter().map(|stream| stream.0);
    let classes = &subject.groups.parts[Part::Class as usize].names;
    document(&json!({
        "slots": lives.slots,
        "events": subject.events(),
        "end": lives.end,
        "top": picture.top(),
        "map_top": highest_level(lives.slots),
        "map_height": greatest_height(picture.addresses.total),
        "unit": picture.addresses.unit,
        "units": picture.addresses.total,
        "stretches": stretches,
        "parts": Part::ALL.iter().map(|part| (part.name().to_owned(), Value::from(names(*part)))).collect::<serde_json::Map<_, _>>(),
        "has_classes": subject.groups.has_classes,
        "classes": classes,
        "streams": streams.map(|stream| format!("stream {stream:#x}")).collect::<Vec<_>>(),
        "pools": pools.collect::<Vec<_>>(),
        "marks": marks,
        "marks_left_out": left_out,
        "failures": lives.failed.iter().map(failure).collect::<Vec<_>>(),
        "peak": picture.peak(subject),
        "peaks": peaks(picture),
        "limit": picture.setup.limit.into_iter().chain(picture.setup.capacity).min().map(bytes),
        "limit_text": told::limit(recording).map(|(_, source)| source),
        "card": card(recording),
        "clock": clock(recording),
        "run": text(&told::run(recording)),
        "settings": settings::named(&picture.setup.options, "default settings"),
        "fidelity": text(&told::fidelity(recording)),
        "exact": recording.is_exact(),
        "command": command(recording),
    }))
}

/// What a replay on demand gave: its number, and how it went.
pub fn replayed(number: usize, title: &str, picture: &Picture, recorded: &Picture) -> Vec<u8> {
    let same = picture.lives.of == recorded.lives.of && picture.lives.extents == recorded.lives.extents;
    let died = picture.lives.outcome.died.map(|event| event.0);
    document(&json!({
        "variant": number,
        "title": text(title),
        "same": same,
        "died": died,
        "completes": picture.lives.outcome.completes(),
        "retries": picture.lives.outcome.tally.retries,
        "peaks": peaks(picture),
    }))
}

/// That a replay cannot be made, and why.
pub fn refused(why: &str) -> Vec<u8> {
    document(&json!({ "refused": text(why) }))
}

fn peaks(picture: &Picture) -> Value {
    let peaks = &picture.lives.outcome.peaks;
    json!({
        "active": bytes(peaks.active.bytes), "active_at": peaks.active.at.0,
        "reserved": bytes(peaks.reserved.bytes), "reserved_at": peaks.reserved.at.0,
    })
}

fn failure(failed: &Failed) -> Value {
    json!({ "slot": failed.event.0, "size": bytes(failed.size), "stream": failed.stream.0, "pool": failed.owner.0 })
}

fn pool(id: PoolId) -> String {
    match id {
        PoolId::DEFAULT => "default pool".to_owned(),
        PoolId(graph, 0) => format!("pool of graph {graph}"),
        PoolId(a, b) => format!("private pool ({a}, {b})"),
    }
}

/// The card's memory and what the driver called free when the recording was written.
fn card(recording: &Recording) -> Value {
    let found =
        recording.snapshot.sidecar.as_ref().and_then(|sidecar| sidecar.card(recording.trace().device));
    let free_at_failure = recording.program.failures.first().map(|failed| {
        recording
            .trace()
            .events
            .get(failed.event.index())
            .map_or(Bytes::ZERO, oomph_trace::Event::device_free)
    });
    json!({
        "name": found.and_then(|card| card.name.as_deref()).map(text),
        "total": found.and_then(|card| card.total).map(bytes),
        "free": found.and_then(|card| card.free).map(bytes),
        "others": found.and_then(|card| card.used_by_others).map(bytes),
        "free_at_failure": free_at_failure.map(bytes),
    })
}

/// The time of some slots, in microseconds since the first, never going back; `None` where the recording has no times.
fn clock(recording: &Recording) -> Value {
    let events = &recording.trace().events;
    let first = events.iter().map(|event| event.time_us).find(|time| *time > 0);
    let Some(first) = first else { return Value::Null };
    let every = events.len().div_ceil(TICKS).max(1);
    let (mut now, mut ticks) = (0u64, Vec::new());
    for (at, event) in events.iter().enumerate() {
        now = now.max(event.time_us.saturating_sub(first));
        if at % every == 0 || at + 1 == events.len() {
            ticks.push(json!([at, now]));
        }
    }
    Value::from(ticks)
}

fn command(recording: &Recording) -> Value {
    let sidecar = recording.snapshot.sidecar.as_ref();
    sidecar.map_or(Value::Null, |sidecar| text(&sidecar.identity.argv.join(" ")))
}

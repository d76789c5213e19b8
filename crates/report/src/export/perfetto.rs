//! A trace for Perfetto (ui.perfetto.dev): a counter for each class of memory, and slices for steps and phases.
//!
//! The numbers of the fields are those of Perfetto's own definitions: `trace_packet.proto`, `track_descriptor.proto`,
//! `counter_descriptor.proto` and `track_event.proto`.

use oomph_diagnose::tracks::{Slice, Tracks};

use super::protobuf::Message;

/// What an event of a track is.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;
/// The unit of a counter.
const BYTES: u64 = 3;
/// Who wrote a packet; there is only one writer.
const WRITER: u64 = 1;
/// Tracks of a device are numbered from here on.
const PER_DEVICE: u64 = 1000;

/// The trace of these recordings: a process for each GPU.
pub fn perfetto(all: &[Tracks]) -> Vec<u8> {
    let mut trace = Message::default();
    for (tracks, base) in all.iter().zip((1..).map(|device: u64| device * PER_DEVICE)) {
        trace = device(trace, tracks, base);
    }
    trace.into_bytes()
}

fn device(trace: Message, tracks: &Tracks, base: u64) -> Message {
    let process = Message::default().number(1, base).text(6, &format!("oomph: GPU {}", tracks.device));
    let mut trace = packet(trace, 60, &Message::default().number(1, base).message(3, &process), None);
    let counter = Message::default().number(3, BYTES);
    for (name, track) in tracks.counters.iter().zip(base + 10..) {
        trace = packet(trace, 60, &child(track, base, name).message(8, &counter), None);
    }
    let named = [("steps", base + 1), ("phases", base + 2), ("out of memory", base + 3)];
    let used = [!tracks.steps.is_empty(), !tracks.phases.is_empty(), !tracks.failures.is_empty()];
    for ((name, track), _) in named.into_iter().zip(used).filter(|(_, used)| *used) {
        trace = packet(trace, 60, &child(track, base, name), None);
    }
    for (time, event) in events(tracks, base) {
        trace = packet(trace, 11, &event, Some(time));
    }
    trace
}

/// A track of a process.
fn child(track: u64, process: u64, name: &str) -> Message {
    Message::default().number(1, track).text(2, name).number(5, process)
}

/// All events of a device, in order of time. What ends comes before what begins.
fn events(tracks: &Tracks, base: u64) -> Vec<(u64, Message)> {
    let event = |kind: u64, track: u64| Message::default().number(9, kind).number(11, track);
    let mut events: Vec<(u64, u64, Message)> = Vec::new();
    let slices = [(&tracks.steps, base + 1), (&tracks.phases, base + 2)];
    let slices = slices.iter().flat_map(|(slices, track)| slices.iter().map(|slice: &Slice| (slice, *track)));
    // What takes no time cannot be shown, and would end before it begins.
    for (slice, track) in slices.filter(|(slice, _)| slice.to > slice.from) {
        events.push((slice.from, SLICE_BEGIN + 1, event(SLICE_BEGIN, track).text(23, &slice.name)));
        events.push((slice.to, 0, event(SLICE_END, track)));
    }
    for (time, size) in &tracks.failures {
        let name = format!("{size} more was asked for");
        events.push((*time, INSTANT, event(INSTANT, base + 3).text(23, &name)));
    }
    let mut last: Vec<Option<u64>> = vec![None; tracks.counters.len()];
    for (time, values) in &tracks.points {
        for ((value, track), last) in values.iter().zip(base + 10..).zip(&mut last) {
            // A counter stays as it is until it is told otherwise.
            if last.replace(value.0) != Some(value.0) {
                events.push((*time, COUNTER, event(COUNTER, track).number(30, value.0)));
            }
        }
    }
    events.sort_by_key(|(time, order, _)| (*time, *order));
    events.into_iter().map(|(time, _, event)| (time, event)).collect()
}

/// The trace with one packet more.
fn packet(trace: Message, field: u32, content: &Message, time: Option<u64>) -> Message {
    let packet = time.into_iter().fold(Message::default(), |packet, time| packet.number(8, time));
    trace.message(1, &packet.message(field, content).number(10, WRITER))
}

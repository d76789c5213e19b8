//! One moment, for the page: what is held and where, and what it is in use for.

use oomph_trace::Snapshot;
use oomph_view::groups::Part;
use oomph_view::picture::{Picture, Subject};
use oomph_view::{flame as flames, slice as slices};
use serde_json::{Value, json};

use super::foreign::{bytes, document, text};

/// Every segment and every block of a slot.
pub fn slice(subject: &Subject, picture: &Picture, slot: u32) -> Vec<u8> {
    let group = |id: usize| -> Vec<u8> {
        let of = |part: Part| {
            picture.ranks.group[part as usize][subject.groups.parts[part as usize].of[id] as usize]
        };
        Part::ALL.iter().copied().map(of).collect()
    };
    let segments: Vec<Value> = slices::at(&picture.lives, slot)
        .iter()
        .map(|segment| {
            let pieces = segment.pieces.iter();
            let pieces: Vec<Value> = pieces
                .map(|piece| match piece.id {
                    Some(id) => json!([piece.size.0, id.0, group(id.index())]),
                    None => json!([piece.size.0]),
                })
                .collect();
            json!({
                "addr": segment.addr.to_string(), "size": segment.size.0, "stream": segment.stream.0,
                "pool": segment.owner.0, "small": segment.small, "pages": segment.pages, "pieces": pieces,
            })
        })
        .collect();
    document(&json!({ "slot": slot, "segments": segments }))
}

/// What is in use in a slot by the calls that led to it, the outermost first.
pub fn flame(subject: &Subject, picture: &Picture, slot: u32) -> Vec<u8> {
    let calls = flames::at(&subject.recording, &subject.groups, &picture.lives, slot);
    let calls: Vec<Value> = calls
        .iter()
        .map(|call| {
            let name = call.frame.map(|id| frame(&subject.recording.snapshot, id));
            json!([call.depth, name, bytes(call.bytes), call.blocks])
        })
        .collect();
    document(&json!({ "slot": slot, "calls": calls }))
}

/// What is in use in a slot by module, line and class.
pub fn modules(subject: &Subject, picture: &Picture, slot: u32) -> Vec<u8> {
    let branches = flames::modules(&subject.groups, &picture.lives, slot);
    let branches: Vec<Value> = branches
        .iter()
        .map(|branch| json!([branch.depth, text(&branch.name), bytes(branch.bytes), branch.blocks]))
        .collect();
    document(&json!({ "slot": slot, "branches": branches }))
}

/// `[function, file, line]`.
pub(super) fn frame(snapshot: &Snapshot, id: oomph_trace::FrameId) -> Value {
    let frame = snapshot.stacks.frame(id);
    json!([text(snapshot.texts.get(frame.function)), text(snapshot.texts.get(frame.file)), frame.line])
}

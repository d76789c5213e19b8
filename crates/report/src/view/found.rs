//! What was searched for, and one block.

use oomph_diagnose::place::Line;
use oomph_engine::program::AllocId;
use oomph_view::find::{self, Wanted};
use oomph_view::groups::Part;
use oomph_view::picture::{Picture, Subject};
use serde_json::{Value, json};

use super::foreign::{bytes, document, text};
use super::moment::frame;

/// Allocations that a search names, at most.
const NAMED: usize = 200;

/// The allocations of a line, of a size, or at an address.
pub fn found(subject: &Subject, picture: &Picture, wanted: &str) -> Vec<u8> {
    let found = find::find(&subject.groups, &picture.lives, &Wanted::read(wanted), NAMED);
    let first: Vec<Value> = found.first.iter().map(|id| short(subject, picture, *id)).collect();
    document(&json!({
        "count": found.count, "most": bytes(found.most.0), "most_at": found.most.1, "first": first,
    }))
}

/// Everything that is known of one allocation; `source` reads a line of a file that is there.
pub fn block(
    subject: &Subject,
    picture: &Picture,
    id: u32,
    source: &dyn Fn(&Line) -> Option<String>,
) -> Option<Vec<u8>> {
    let recording = &subject.recording;
    let allocation = recording.program.allocations.get(id as usize)?;
    let id = AllocId(id);
    let snapshot = &recording.snapshot;
    let noted = |line: &Line| {
        let sidecar = snapshot.sidecar.as_ref()?;
        sidecar.text_of(&line.file, line.line).map(str::to_owned)
    };
    let stack = subject.groups.stacks[id.index()];
    let frames: Vec<Value> = stack
        .map_or(&[][..], |stack| snapshot.stacks.frames_of(stack))
        .iter()
        .map(|member| {
            let found = snapshot.stacks.frame(*member);
            let line = Line {
                file: snapshot.texts.get(found.file).to_owned(),
                line: found.line,
                function: String::new(),
            };
            let code = noted(&line).or_else(|| source(&line)).map(|code| text(&code));
            json!({ "frame": frame(snapshot, *member), "code": code })
        })
        .collect();
    let step = allocation.born().and_then(|born| subject.phases.step_at(born));
    let before = find::before(&picture.lives, id).map(|other| short(subject, picture, other));
    let event = allocation.born().and_then(|born| recording.trace().events.get(born.index()));
    let said = event.and_then(|event| event.metadata).map(|said| text(snapshot.texts.get(said)));
    Some(document(&json!({
        "block": short(subject, picture, id),
        "stream": allocation.stream.0, "pool": allocation.owner.0, "step": step, "said": said,
        "was_there": allocation.born().is_none(),
        "lent": stack.is_some() && event.is_some_and(|event| event.stack.is_none()),
        "frames": frames, "before": before,
    })))
}

/// One allocation in a line of a table.
fn short(subject: &Subject, picture: &Picture, id: AllocId) -> Value {
    let life = &picture.lives.of[id.index()];
    let name = |part: Part| {
        let named = &subject.groups.parts[part as usize];
        text(&named.names[named.of[id.index()] as usize])
    };
    json!({
        "id": id.0, "from": life.from, "to": life.to, "addr": life.addr.to_string(),
        "size": bytes(life.size), "requested": bytes(life.requested),
        "line": name(Part::Line), "class": name(Part::Class), "phase": name(Part::Phase), "module": name(Part::Module),
        "units": picture.addresses.units(life.addr, life.size),
    })
}

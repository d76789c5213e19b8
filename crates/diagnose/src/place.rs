//! From a call stack to the line a person would name.

use std::fmt;

use oomph_engine::program::Allocation;
use oomph_engine::recording::Recording;
use oomph_trace::sidecar::SeenFrame;
use oomph_trace::{EventIdx, FrameId, Snapshot, StackId};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;

use crate::borrow::Loans;
use crate::frame::{self, Owner};
use crate::phases::Phases;

/// A line of source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Line {
    /// Its file, as recorded.
    pub file: String,
    /// Its number.
    pub line: u32,
    /// The function it is in.
    pub function: String,
}

impl Line {
    fn of((file, line, function): (&str, u32, &str)) -> Line {
        Line { file: file.to_owned(), line, function: function.to_owned() }
    }

    /// Whether it is this one.
    pub(crate) fn is(&self, (file, line, function): (&str, u32, &str)) -> bool {
        self.file == file && self.line == line && self.function == function
    }

    /// The last part of the file's path.
    pub fn file_name(&self) -> &str {
        self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file)
    }
}

/// As it is shown: `train.py:61 step`.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} {}", self.file_name(), self.line, self.function)
    }
}

/// Where memory was asked for: the innermost line that is not of an installed package; if all are, the innermost.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Place {
    /// That line.
    #[serde(flatten)]
    pub line: Line,
    /// The innermost line that tells something, where that is another.
    pub within: Option<Line>,
}

impl Place {
    /// Whether its line is the user's.
    pub fn is_users(&self) -> bool {
        frame::owner(&self.line.file) == Owner::User
    }
}

/// A line of a package that a place leads to: of a [`Places`] table too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InnerId(u32);

/// A place of a [`Places`] table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaceId(pub u32);

/// The places of a recording; each stack is looked at once.
#[derive(Debug)]
pub struct Places<'a> {
    recording: &'a Recording,
    loans: Loans,
    places: Vec<Option<Place>>,
    of_stack: FxHashMap<StackId, PlaceId>,
    of_line: FxHashMap<Line, PlaceId>,
    inner: Vec<Line>,
    inner_of_stack: FxHashMap<StackId, Option<InnerId>>,
    inner_of_line: FxHashMap<Line, InnerId>,
}

impl<'a> Places<'a> {
    /// The place of allocations without a recorded stack.
    pub const UNRECORDED: PlaceId = PlaceId(0);

    /// No places yet.
    pub fn new(recording: &'a Recording) -> Places<'a> {
        Places {
            recording,
            loans: Loans::find(recording, &Phases::of(recording)),
            places: vec![None],
            of_stack: FxHashMap::default(),
            of_line: FxHashMap::default(),
            inner: Vec::new(),
            inner_of_stack: FxHashMap::default(),
            inner_of_line: FxHashMap::default(),
        }
    }

    /// The stack of an event: its own, or one that another step lends.
    pub fn stack(&self, event: EventIdx) -> Option<StackId> {
        let own = self.recording.trace().events.get(event.index())?.stack;
        own.or_else(|| self.loans.stack(event))
    }

    /// The stack that asked for an allocation: its own, or one that another step lends.
    pub fn stack_of(&self, allocation: &Allocation) -> Option<StackId> {
        let lent = || self.loans.stack(allocation.born()?);
        self.recording.stack(allocation).or_else(lent)
    }

    /// Which steps lent stacks to others.
    pub fn loans(&self) -> &Loans {
        &self.loans
    }

    /// The place of a stack. Stacks that reach the same line of the user's are one place.
    pub fn of(&mut self, stack: Option<StackId>) -> PlaceId {
        let Some(stack) = stack else { return Places::UNRECORDED };
        if let Some(id) = self.of_stack.get(&stack) {
            return *id;
        }
        let id = place(&self.recording.snapshot, stack).map_or(Places::UNRECORDED, |place| {
            *self.of_line.entry(place.line.clone()).or_insert_with(|| {
                self.places.push(Some(place));
                PlaceId((self.places.len() - 1) as u32)
            })
        });
        self.of_stack.insert(stack, id);
        id
    }

    /// The innermost line of an installed package other than PyTorch that a stack reaches from its place: where a model
    /// that the user did not write asked for memory.
    pub fn inner(&mut self, stack: Option<StackId>) -> Option<InnerId> {
        let stack = stack?;
        if let Some(id) = self.inner_of_stack.get(&stack) {
            return *id;
        }
        let snapshot = &self.recording.snapshot;
        let id = inner(shown(snapshot, snapshot.stacks.frames_of(stack))).map(|line| {
            *self.inner_of_line.entry(line.clone()).or_insert_with(|| {
                self.inner.push(line);
                InnerId((self.inner.len() - 1) as u32)
            })
        });
        self.inner_of_stack.insert(stack, id);
        id
    }

    /// The line behind such an id.
    pub fn line(&self, id: InnerId) -> &Line {
        &self.inner[id.0 as usize]
    }

    /// What stands behind an id; `None` for [`Places::UNRECORDED`].
    pub fn get(&self, id: PlaceId) -> Option<&Place> {
        self.places[id.0 as usize].as_ref()
    }
}

/// The place a stack shows.
pub fn place(snapshot: &Snapshot, stack: StackId) -> Option<Place> {
    place_of(snapshot, snapshot.stacks.frames_of(stack))
}

/// The place that these frames show, innermost first.
pub(crate) fn place_of(snapshot: &Snapshot, frames: &[FrameId]) -> Option<Place> {
    named(shown(snapshot, frames).filter(|(file, ..)| !file.is_empty()))
}

/// The place that frames show which the recorder walked itself.
pub fn place_seen(frames: &[SeenFrame]) -> Option<Place> {
    named(shown_seen(frames))
}

/// The file, line and function of each frame.
pub(crate) fn shown<'a>(
    snapshot: &'a Snapshot,
    frames: &'a [FrameId],
) -> impl Iterator<Item = (&'a str, u32, &'a str)> + Clone {
    let text = |id| snapshot.texts.get(id);
    let frames = frames.iter().map(|id| snapshot.stacks.frame(*id));
    frames.map(move |frame| (text(frame.file), frame.line, text(frame.function)))
}

/// The same of frames that the recorder walked.
pub(crate) fn shown_seen(frames: &[SeenFrame]) -> impl Iterator<Item = (&str, u32, &str)> + Clone {
    frames.iter().map(|frame| (frame.file.as_str(), frame.line, frame.function.as_str()))
}

/// The innermost frame of a package that is not PyTorch, of those that the user's innermost line called. Where no line is the
/// user's, the place is the innermost of all, and nothing is inside it.
fn inner<'a>(frames: impl Iterator<Item = (&'a str, u32, &'a str)> + Clone) -> Option<Line> {
    let is_users = |(file, ..): &(&str, u32, &str)| !file.is_empty() && frame::owner(file) == Owner::User;
    let user = frames.clone().position(|frame| is_users(&frame))?;
    frames.take(user).find(|(file, ..)| frame::is_of_package(file)).map(Line::of)
}

/// The place that frames show, innermost first. The recorder's own are passed over, unless there are no others.
pub(crate) fn named<'a>(frames: impl Iterator<Item = (&'a str, u32, &'a str)> + Clone) -> Option<Place> {
    let owned = frames.map(|frame| (frame::owner(frame.0), frame));
    let mut python = owned.filter(|(owner, _)| *owner != Owner::Native);
    let foreign = python.clone().filter(|(owner, _)| *owner != Owner::Recorder);
    let Some((_, own)) = foreign.clone().find(|(owner, _)| *owner == Owner::User) else {
        let (_, innermost) = foreign.clone().next().or_else(|| python.next())?;
        return Some(Place { line: Line::of(innermost), within: None });
    };
    let mut inside = foreign.take_while(|(owner, _)| *owner != Owner::User);
    let within = inside.find(|(_, frame)| !frame::is_passage(frame.0));
    Some(Place { line: Line::of(own), within: within.map(|(_, frame)| Line::of(frame)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINEAR: (&str, u32, &str) = ("/venv/site-packages/torch/nn/modules/linear.py", 134, "forward");
    const LLAMA: (&str, u32, &str) = ("/venv/site-packages/transformers/modeling_llama.py", 312, "forward");
    const TRAINER: (&str, u32, &str) = ("/venv/site-packages/transformers/trainer.py", 99, "train");
    const MINE: (&str, u32, &str) = ("/jobs/train.py", 7, "main");

    #[test]
    fn a_place_leads_to_the_innermost_line_that_tells_something() {
        const BACKWARD: (&str, u32, &str) =
            ("/venv/site-packages/torch/autograd/graph.py", 869, "_engine_run_backward");
        const COMPILED: (&str, u32, &str) =
            ("/c/sh/cshh3ujk52hnmjmatoffcdvtw2n3c6mxfew64zfbk54dywxteqnf.py", 88, "call");
        let check = |frames: &[_], line: (&str, u32, &str), within: Option<_>| {
            let expected = Place { line: Line::of(line), within: within.map(Line::of) };
            assert_eq!(named(frames.iter().copied()), Some(expected), "{frames:?}");
        };
        check(&[LINEAR, LLAMA, MINE], MINE, Some(LINEAR));
        check(&[BACKWARD, MINE], MINE, None);
        check(&[COMPILED, LINEAR, MINE], MINE, Some(LINEAR));
        check(&[MINE, TRAINER], MINE, None);
        check(&[BACKWARD, TRAINER], BACKWARD, None);
        assert_eq!(named([].into_iter()), None);
    }

    #[test]
    fn a_line_of_a_package_stands_between_the_users_and_pytorchs() {
        let check = |frames: &[_], expected: Option<_>| {
            assert_eq!(inner(frames.iter().copied()), expected.map(Line::of), "{frames:?}");
        };
        check(&[LINEAR, LLAMA, TRAINER, MINE], Some(LLAMA));
        check(&[TRAINER, MINE], Some(TRAINER));
        check(&[LINEAR, MINE, TRAINER, MINE], None);
        check(&[MINE], None);
        check(&[LINEAR, LLAMA], None);
        check(&[], None);
    }
}

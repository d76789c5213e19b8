//! From a call stack to the line a person would name.

use oomph_trace::{Frame, FrameId, Snapshot, StackId};
use rustc_hash::FxHashMap;

/// A line of source, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line {
    /// The file, as recorded.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The function.
    pub function: String,
}

impl Line {
    fn of(snapshot: &Snapshot, frame: &Frame) -> Line {
        Line {
            file: snapshot.texts.get(frame.file).to_owned(),
            line: frame.line,
            function: snapshot.texts.get(frame.function).to_owned(),
        }
    }

    /// The last part of the file's path.
    pub fn file_name(&self) -> &str {
        self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file)
    }
}

/// Where memory was asked for: the user's own line, and the library's line it led to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The innermost line that is not a library's; the innermost of all where every line is.
    pub line: Line,
    /// The innermost line, where that is another.
    pub within: Option<Line>,
}

/// A place of a [`Places`] table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaceId(pub u32);

/// The places of a recording; each stack is looked at once.
#[derive(Debug)]
pub struct Places<'a> {
    snapshot: &'a Snapshot,
    places: Vec<Option<Place>>,
    of_stack: FxHashMap<StackId, PlaceId>,
    of_line: FxHashMap<Line, PlaceId>,
}

impl<'a> Places<'a> {
    /// The place of allocations without a recorded stack.
    pub const UNRECORDED: PlaceId = PlaceId(0);

    /// No places yet.
    pub fn new(snapshot: &'a Snapshot) -> Places<'a> {
        Places { snapshot, places: vec![None], of_stack: FxHashMap::default(), of_line: FxHashMap::default() }
    }

    /// The place of a stack. Stacks that reach the same line of the user's are one place.
    pub fn of(&mut self, stack: Option<StackId>) -> PlaceId {
        let Some(stack) = stack else { return Places::UNRECORDED };
        if let Some(id) = self.of_stack.get(&stack) {
            return *id;
        }
        let id = place(self.snapshot, stack).map_or(Places::UNRECORDED, |place| {
            *self.of_line.entry(place.line.clone()).or_insert_with(|| {
                self.places.push(Some(place));
                PlaceId((self.places.len() - 1) as u32)
            })
        });
        self.of_stack.insert(stack, id);
        id
    }

    /// What stands behind an id; `None` for [`Places::UNRECORDED`].
    pub fn get(&self, id: PlaceId) -> Option<&Place> {
        self.places[id.0 as usize].as_ref()
    }

    /// How many there are so far.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Never: the unrecorded place is always there.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// The place a stack shows.
pub fn place(snapshot: &Snapshot, stack: StackId) -> Option<Place> {
    place_of(snapshot, snapshot.stacks.frames_of(stack))
}

/// The place that these frames show, innermost first.
pub(crate) fn place_of(snapshot: &Snapshot, frames: &[FrameId]) -> Option<Place> {
    let frames = frames.iter().map(|id| snapshot.stacks.frame(*id));
    let mut python = frames.filter(|frame| is_python(snapshot.texts.get(frame.file)));
    let innermost = python.next()?;
    let own =
        std::iter::once(innermost).chain(python).find(|frame| !is_library(snapshot.texts.get(frame.file)));
    let line = Line::of(snapshot, own.unwrap_or(innermost));
    let within = own.filter(|own| *own != innermost).map(|_| Line::of(snapshot, innermost));
    Some(Place { line, within })
}

/// C++ frames (`stacks="all"`) have no file a user could open.
fn is_python(file: &str) -> bool {
    !file.is_empty()
        && file != "??"
        && ![".cpp", ".cc", ".h", ".cu", ".so", ".c"].iter().any(|end| file.ends_with(end))
}

/// Installed packages, the standard library, generated code.
fn is_library(file: &str) -> bool {
    ["site-packages/", "dist-packages/", "/lib/python3", "\\lib\\site-packages", "/torch/_"]
        .iter()
        .any(|part| file.contains(part))
        || file.starts_with('<')
        || file.starts_with("torch/")
}

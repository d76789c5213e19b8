//! The records that stand for containers: frames, stacks, events, pool names.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::fault::Fault;
use super::pool::Pools;
use super::words;
use crate::event::{Event, PoolId, PoolIdx};
use crate::pickle::{Heap, Object, Pack, Value};
use crate::snapshot::Fields;
use crate::stack::{Frame, FrameId, StackId, Stacks};
use crate::text::TextId;

/// What stands in a container's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    Frame(FrameId),
    Stack(StackId),
    /// The index of an event.
    Event(u32),
    /// A list of events: the index of a part.
    Part(u32),
    /// A tuple of two integers: the index of a pair.
    Pair(u32),
}

impl Pack for Record {
    fn pack(self) -> (u8, u32) {
        match self {
            Record::Frame(frame) => (0, frame.0),
            Record::Stack(stack) => (1, stack.0),
            Record::Event(event) => (2, event),
            Record::Part(part) => (3, part),
            Record::Pair(pair) => (4, pair),
        }
    }

    fn unpack(kind: u8, id: u32) -> Record {
        match kind {
            0 => Record::Frame(FrameId(id)),
            1 => Record::Stack(StackId(id)),
            2 => Record::Event(id),
            3 => Record::Part(id),
            _ => Record::Pair(id),
        }
    }
}

pub(super) type TorchValue = Value<Record>;
pub(super) type TorchHeap = Heap<Record>;

/// The contents of all records.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) stacks: Stacks,
    /// Frames are kept once even if the writer repeats their dicts: equal stacks must have equal ids.
    frame_ids: FxHashMap<Frame, FrameId>,
    pub(super) events: Vec<Event>,
    /// Lists of events that follow each other, as ranges. A list is consumed once: see [`Object::Taken`].
    pub(super) parts: Vec<Option<Range<u32>>>,
    pub(super) fields: Fields,
    pub(super) pools: Pools,
    /// The frames of the current list; kept so that reading a list does not allocate.
    pub(super) scratch: Vec<FrameId>,
}

impl Records {
    /// Takes a list of events: they can be consumed once.
    pub(super) fn take_part(&mut self, part: u32) -> Option<Vec<Event>> {
        let range = self.parts.get_mut(part as usize)?.take()?;
        let range = range.start as usize..range.end as usize;
        // Usually one device has all events: then they are moved, not copied.
        if range == (0..self.events.len()) && self.parts.iter().all(Option::is_none) {
            return Some(std::mem::take(&mut self.events));
        }
        self.events.get(range).map(<[Event]>::to_vec)
    }

    /// The pool a value names; `None` where it names none.
    pub(super) fn pool(&mut self, value: TorchValue, heap: &TorchHeap) -> Option<PoolIdx> {
        let id = match heap.current(value) {
            Value::Record(Record::Pair(pair), _) => self.pools.pair_of(pair)?,
            Value::List(index) | Value::Tuple(index) => match heap.object(index) {
                Object::List(items) | Object::Tuple(items) => match items[..] {
                    [a, b] => PoolId(a.as_bits()?, b.as_bits()?),
                    _ => return None,
                },
                _ => return None,
            },
            _ => return None,
        };
        self.pools.intern(id)
    }

    /// The stack a `frames` value holds; `None` for an empty one. A list that came in several parts is
    /// made a stack here, once.
    pub(super) fn stack(
        &mut self,
        value: TorchValue,
        heap: &mut TorchHeap,
    ) -> Result<Option<StackId>, Fault> {
        let index = match heap.current(value) {
            Value::Record(Record::Stack(stack), _) => return Ok(Some(stack)),
            Value::Empty(..) | Value::None => return Ok(None),
            Value::List(index) => index,
            _ => return Err(Fault::Frames),
        };
        if let Object::Frozen(Record::Stack(stack)) = heap.object(index) {
            return Ok(Some(*stack));
        }
        let Object::List(items) = heap.replace(index, Object::Taken) else { return Err(Fault::Frames) };
        let mut frames = Vec::with_capacity(items.len());
        for item in items {
            frames.push(self.frame(item, heap)?);
        }
        let stack = self.stacks.try_intern(&frames).ok_or(Fault::Frames)?;
        heap.replace(index, Object::Frozen(Record::Stack(stack)));
        Ok(Some(stack))
    }

    /// The frame a value holds. A dict that came in several parts is made a frame here, once.
    fn frame(&mut self, value: TorchValue, heap: &mut TorchHeap) -> Result<FrameId, Fault> {
        let index = match heap.current(value) {
            Value::Record(Record::Frame(frame), _) => return Ok(frame),
            Value::Dict(index) => index,
            _ => return Err(Fault::Frames),
        };
        let frame = match heap.replace(index, Object::Taken) {
            Object::Dict(items) => self.frame_of(&items, None).ok_or(Fault::Frames)?,
            Object::Frozen(Record::Frame(frame)) => frame,
            _ => return Err(Fault::Frames),
        };
        heap.replace(index, Object::Frozen(Record::Frame(frame)));
        Ok(frame)
    }

    /// The frame that a dict's items describe, if they have all of its keys. Those they lack may be `known`, from the
    /// frame that the dict was before.
    pub(super) fn frame_of(&mut self, items: &[TorchValue], known: Option<FrameId>) -> Option<FrameId> {
        let known = known.map(|id| *self.stacks.frame(id));
        let mut file = known.map(|frame| frame.file);
        let mut line = known.map(|frame| frame.line);
        let mut function = known.map(|frame| frame.function);
        for pair in items.chunks_exact(2) {
            match pair[0] {
                Value::Text(words::FILENAME) => file = Some(text(pair[1])),
                Value::Text(words::NAME) => function = Some(text(pair[1])),
                Value::Text(words::LINE) => line = Some(line_of(pair[1])),
                _ => {}
            }
        }
        let frame = Frame { file: file?, function: function?, line: line? };
        Some(*self.frame_ids.entry(frame).or_insert_with(|| self.stacks.add_frame(frame)))
    }
}

/// A file or function name; some frames have none.
fn text(value: TorchValue) -> TextId {
    match value {
        Value::Text(text) => text,
        _ => words::EMPTY,
    }
}

fn line_of(value: TorchValue) -> u32 {
    value.as_u64().and_then(|line| u32::try_from(line).ok()).unwrap_or(0)
}

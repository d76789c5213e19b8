//! What the pickle's containers become while they are read.

use super::event::Draft;
use super::fault::Fault;
use super::records::{Record, Records, TorchHeap, TorchValue};
use super::words;
use crate::pickle::{NO_SLOT, Shapes, Value};

/// The end of the run of events that begins with event `next`, if `items` are such a run.
fn follow(mut next: u32, items: &[TorchValue]) -> Option<u32> {
    for item in items {
        match item {
            Value::Record(Record::Event(event), _) if *event == next => next = next.checked_add(1)?,
            _ => return None,
        }
    }
    Some(next)
}

impl Shapes for Records {
    type Record = Record;

    fn tuple(&mut self, items: &[TorchValue]) -> Option<Record> {
        let [a, b] = items else { return None };
        Some(Record::Pair(self.pools.pair(a.as_u64()?, b.as_u64()?)))
    }

    fn list(&mut self, items: &[TorchValue]) -> Option<Record> {
        if let Some(&Value::Record(Record::Event(first), _)) = items.first() {
            let end = follow(first, items)?;
            self.parts.push(Some(first..end));
            return Some(Record::Part((self.parts.len() - 1) as u32));
        }
        self.scratch.clear();
        for item in items {
            let Value::Record(Record::Frame(frame), _) = *item else { return None };
            self.scratch.push(frame);
        }
        self.stacks.try_intern(&self.scratch).map(Record::Stack)
    }

    /// An event that is incomplete stays a dict: more of it may come. If nothing comes, the error at the end of the
    /// file can name its place in the trace. Frames of the wrong type are an error at once, because checking them
    /// again and again would take quadratic time.
    fn dict(&mut self, items: &[TorchValue], heap: &mut TorchHeap) -> Result<Option<Record>, &'static str> {
        for pair in items.chunks_exact(2) {
            match pair[0] {
                Value::Text(words::FILENAME) => return Ok(self.frame_of(items, None).map(Record::Frame)),
                Value::Text(words::ACTION) => {
                    let mut draft = Draft::default();
                    return match draft.read(items, self, heap) {
                        Ok(()) => Ok(self.keep(&draft)),
                        Err(Fault::Frames) => Err("the frames of an event are not a list of frames"),
                        Err(Fault::Missing(_) | Fault::Wrong(_) | Fault::Action(_)) => Ok(None),
                    };
                }
                _ => {}
            }
        }
        Ok(None)
    }

    fn shareable(&self, record: Record) -> bool {
        matches!(record, Record::Stack(_))
    }

    fn extend(&mut self, record: Record, items: &[TorchValue]) -> Option<Record> {
        let Record::Part(part) = record else { return None };
        let range = self.parts.get_mut(part as usize)?.as_mut()?;
        range.end = follow(range.end, items)?;
        Some(record)
    }

    fn thaw(&self, record: Record) -> Option<Vec<TorchValue>> {
        let value = |record| Value::Record(record, NO_SLOT);
        match record {
            Record::Stack(stack) => {
                let frames = self.stacks.frames_of(stack).iter();
                Some(frames.map(|&frame| value(Record::Frame(frame))).collect())
            }
            Record::Part(part) => {
                let range = self.parts.get(part as usize)?.clone()?;
                Some(range.map(|event| value(Record::Event(event))).collect())
            }
            Record::Frame(_) | Record::Event(_) | Record::Pair(_) => None,
        }
    }

    fn update(
        &mut self,
        record: Record,
        items: &[TorchValue],
        heap: &mut TorchHeap,
    ) -> Result<Option<Record>, &'static str> {
        match record {
            Record::Frame(frame) => Ok(self.frame_of(items, Some(frame)).map(Record::Frame)),
            Record::Event(index) => {
                let Some(event) = self.events.get(index as usize).copied() else { return Ok(None) };
                let mut draft = Draft::of(event);
                let changed = draft.read(items, self, heap).and_then(|()| draft.event());
                self.events[index as usize] =
                    changed.map_err(|_| "an event is changed so that it is not an event any more")?;
                Ok(Some(record))
            }
            Record::Stack(_) | Record::Part(_) | Record::Pair(_) => Ok(None),
        }
    }

    fn held(&self) -> u64 {
        let frames = self.stacks.frame_count() * 3 + self.stacks.member_count() / 4 + self.stacks.len();
        let pairs = self.pools.pair_count() * 4 + self.parts.len();
        // An event takes three and a half values.
        (frames + pairs) as u64 + self.events.len() as u64 * 7 / 2
    }

    fn overfull(&self) -> Option<&'static str> {
        let limit = 1 << 31;
        [
            // The table of stacks refuses frames beyond 2^32 itself; half of that leaves room for one list.
            (self.stacks.member_count(), "frames of different stacks"),
            (self.stacks.frame_count(), "frames"),
            (self.pools.pair_count(), "pairs"),
        ]
        .into_iter()
        .find_map(|(count, what)| (count > limit).then_some(what))
        .or_else(|| (self.events.len() > u32::MAX as usize - (1 << 20)).then_some("events"))
    }
}

impl Records {
    /// Keeps an event if it is complete.
    #[inline]
    fn keep(&mut self, draft: &Draft) -> Option<Record> {
        self.events.push(draft.event().ok()?);
        Some(Record::Event((self.events.len() - 1) as u32))
    }
}

//! Filling containers, and putting records in their place.

use super::Shapes;
use super::opcode as op;
use super::runs::Runs;
use super::state::State;
use super::value::{Kind, NO_SLOT, Object, Value};

const NO_LIST: &str = "something is appended to a value that is not a list";
const NO_DICT: &str = "an item is set in a value that is not a dict";

impl<S: Shapes> State<S> {
    /// Reads `bytes` that follow an empty list and a MARK and begin with a memo reference. If they are a run of
    /// references and an APPENDS that another list had, this list becomes the same record. If the run is unknown, it is
    /// remembered. Returns how many bytes were used.
    pub(super) fn list_of_references(&mut self, bytes: &[u8]) -> usize {
        let start = self.stack.len();
        if let Some((len, record)) = self.runs.find(bytes)
            && let Ok((place, Value::Empty(Kind::List, slot))) = self.target(start)
        {
            self.settle_record(place, slot, record);
            return len;
        }
        self.open_mark();
        let mut pos = 0;
        loop {
            let (slot, next) = match bytes.get(pos..) {
                Some([op::BINGET, slot, ..]) => (u32::from(*slot), pos + 2),
                Some([op::LONG_BINGET, a, b, c, d, ..]) => (u32::from_le_bytes([*a, *b, *c, *d]), pos + 5),
                Some([op::APPENDS, ..]) => break,
                _ => return pos,
            };
            // The error comes up again when the opcode is run by itself.
            if self.get(slot).is_err() {
                return pos;
            }
            pos = next;
        }
        let _ = self.unmark();
        if self.append(start).is_err() {
            self.reopen_mark(start);
            return pos;
        }
        if let Some(&Value::Record(record, _)) = self.stack.last()
            && self.shapes.shareable(record)
        {
            self.runs.add(&bytes[..=pos], record);
        }
        pos + 1
    }

    /// Makes a list of the stack's values from `start` on.
    pub(super) fn list(&mut self, start: usize) -> Result<(), &'static str> {
        self.stack.insert(start, Value::Empty(Kind::List, NO_SLOT));
        self.append(start + 1)
    }

    /// Makes a dict of the stack's values from `start` on.
    pub(super) fn dict(&mut self, start: usize) -> Result<(), &'static str> {
        self.stack.insert(start, Value::Empty(Kind::Dict, NO_SLOT));
        self.set_items(start + 1)
    }

    /// Adds the stack's values from `start` on to the list below them.
    pub(super) fn append(&mut self, start: usize) -> Result<(), &'static str> {
        let (place, target) = self.target(start)?;
        let items = &self.stack[start..];
        if items.is_empty() {
            return Ok(());
        }
        let value = match target {
            Value::Empty(Kind::List, slot) => match self.shapes.list(items) {
                Some(record) => Value::Record(record, slot),
                None => Value::List(self.heap.add(Object::List(items.to_vec()))),
            },
            Value::List(index) => {
                self.heap.extend(index, Kind::List, items)?;
                target
            }
            Value::Record(record, slot) => match self.shapes.extend(record, items) {
                Some(record) => Value::Record(record, slot),
                None => {
                    let mut all = self.shapes.thaw(record).ok_or(NO_LIST)?;
                    all.extend_from_slice(items);
                    Value::List(self.heap.add(Object::List(all)))
                }
            },
            _ => return Err(NO_LIST),
        };
        self.settle(place, target.slot(), value);
        Ok(())
    }

    /// Adds the stack's values from `start` on, keys and values in turn, to the dict below them.
    pub(super) fn set_items(&mut self, start: usize) -> Result<(), &'static str> {
        let (place, target) = self.target(start)?;
        let items = &self.stack[start..];
        if items.is_empty() {
            return Ok(());
        }
        if !items.len().is_multiple_of(2) {
            return Err("a dict gets a key without a value");
        }
        let value = match target {
            Value::Empty(Kind::Dict, slot) => match self.shapes.dict(items, &mut self.heap)? {
                Some(record) => {
                    self.settle_record(place, slot, record);
                    return Ok(());
                }
                None => Value::Dict(self.heap.add(Object::Dict(items.to_vec()))),
            },
            Value::Dict(index) => {
                self.heap.extend(index, Kind::Dict, items)?;
                target
            }
            Value::Record(record, slot) => {
                // Known runs may refer to this dict.
                self.runs = Runs::default();
                Value::Record(self.shapes.update(record, items, &mut self.heap)?.ok_or(NO_DICT)?, slot)
            }
            _ => return Err(NO_DICT),
        };
        self.settle(place, target.slot(), value);
        Ok(())
    }

    /// The container below `start`: its place on the stack and its current form.
    #[inline(always)]
    fn target(&self, start: usize) -> Result<(usize, Value<S::Record>), &'static str> {
        match start.checked_sub(1) {
            Some(place) if place >= self.fence() => Ok((place, self.heap.current(self.stack[place]))),
            _ => Err("a container is missing"),
        }
    }

    /// Puts the container's changed form where it stands, on the stack and in the memo.
    fn settle(&mut self, place: usize, slot: u32, after: Value<S::Record>) {
        if slot != NO_SLOT {
            self.heap.memo.patch(slot, after);
        }
        self.stack[place] = after;
        self.stack.truncate(place + 1);
    }

    /// Like [`State::settle`], for a container that has become a record.
    #[inline]
    fn settle_record(&mut self, place: usize, slot: u32, record: S::Record) {
        if slot != NO_SLOT {
            self.heap.memo.patch_record(slot, record);
        }
        // After truncating, nothing has to be moved.
        self.stack.truncate(place);
        self.stack.push(Value::Record(record, slot));
    }
}

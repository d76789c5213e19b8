//! Pickles as plain values: a machine for the opcodes that build data, and for no others. Nothing is executed.
//!
//! The machine knows nothing of snapshots. Whenever a container has been filled it asks [`Shapes`] whether
//! the layer above would rather keep it as a compact record, and puts that in the container's place; a
//! million events therefore never exist as a million dicts.
//!
//! Memory: at most about 100 bytes per byte read from a plain file, and for a packed one at most what
//! `machine::BASE` and `machine::PER_STORED_BYTE` allow, so that a decompression bomb is refused.

mod fill;
mod foreign;
mod input;
mod machine;
mod memo;
mod opcode;
mod runs;
mod source;
mod state;
mod step;
mod value;

pub(crate) use machine::{Outcome, read};
pub(crate) use memo::Pack;
pub(crate) use source::Source;
pub(crate) use value::{Heap, Kind, NO_SLOT, Object, Value};

/// What the layer above makes of filled containers.
pub(crate) trait Shapes {
    /// What it keeps instead of a container; small, the contents live with the implementor.
    type Record: Pack;

    /// A tuple was made of `items`. `None`: keep it as it is.
    fn tuple(&mut self, items: &[Value<Self::Record>]) -> Option<Self::Record>;

    /// An empty list was filled with `items`, which are at least one. `None`: keep it as it is.
    fn list(&mut self, items: &[Value<Self::Record>]) -> Option<Self::Record>;

    /// An empty dict was filled with `items`: key, value, key, value. `None`: keep it as it is.
    fn dict(
        &mut self,
        items: &[Value<Self::Record>],
        heap: &mut Heap<Self::Record>,
    ) -> Result<Option<Self::Record>, &'static str>;

    /// Whether an equal list may be the same record, because it will not change.
    fn shareable(&self, record: Self::Record) -> bool;

    /// A list that became `record` gets further items: what it is with them. `None`: ask [`Shapes::thaw`].
    fn extend(&mut self, record: Self::Record, items: &[Value<Self::Record>]) -> Option<Self::Record>;

    /// A list that became `record` is to be a list again: gives its items. `None`: it never was a list.
    fn thaw(&self, record: Self::Record) -> Option<Vec<Value<Self::Record>>>;

    /// A dict that became `record` gets further items. `None`: it never was a dict.
    fn update(
        &mut self,
        record: Self::Record,
        items: &[Value<Self::Record>],
        heap: &mut Heap<Self::Record>,
    ) -> Result<Option<Self::Record>, &'static str>;

    /// How much its records hold, counted in values of 16 bytes.
    fn held(&self) -> u64;

    /// What there is too much of for 32-bit numbers, if anything.
    fn overfull(&self) -> Option<&'static str>;
}

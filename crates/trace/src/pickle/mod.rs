//! Pickles as plain values: a machine for those opcodes that build data. Nothing is executed.
//!
//! The machine knows nothing about snapshots. When a container has been filled, it asks [`Shapes`] whether the layer
//! above prefers a compact record, and puts that in the container's place. So a million events never exist as a million
//! dicts.
//!
//! Memory: at most about 100 bytes per byte of a plain file; for a packed one at most what `machine::BASE` and
//! `machine::PER_STORED_BYTE` allow, so that a decompression bomb is refused.

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
    /// What it keeps instead of a container. It is small; the contents are in the implementor.
    type Record: Pack;

    /// A tuple was made of `items`. `None`: keep it as it is.
    fn tuple(&mut self, items: &[Value<Self::Record>]) -> Option<Self::Record>;

    /// An empty list was filled with `items`, at least one. `None`: keep it as it is.
    fn list(&mut self, items: &[Value<Self::Record>]) -> Option<Self::Record>;

    /// An empty dict was filled with `items`: key, value, key, value. `None`: keep it as it is.
    fn dict(
        &mut self,
        items: &[Value<Self::Record>],
        heap: &mut Heap<Self::Record>,
    ) -> Result<Option<Self::Record>, &'static str>;

    /// Whether an equal list may be the same record, because it will not change.
    fn shareable(&self, record: Self::Record) -> bool;

    /// A list that became `record` gets further items: the record with them. `None`: ask [`Shapes::thaw`].
    fn extend(&mut self, record: Self::Record, items: &[Value<Self::Record>]) -> Option<Self::Record>;

    /// The items of a list that became `record` and has to be a list again. `None`: it never was a list.
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

    /// What there are too many of for 32-bit numbers, if anything.
    fn overfull(&self) -> Option<&'static str>;
}

//! The vocabulary of oomph and the readers that produce it.
//!
//! In reading order: units, texts and stacks, the events of a trace, what oomph's recorder adds, a snapshot, and how
//! one is read.
//!
//! The crate does no I/O of its own: readers take bytes and give values. See ARCHITECTURE.md.

pub mod units;

mod named;

mod slots;

pub mod text;

pub mod spelling;

pub mod cards;

pub mod phantom;

pub mod cgroup;

pub mod stack;

pub mod event;

pub mod sidecar;

pub mod snapshot;

mod plausible;

mod error;

mod pickle;

mod torch;

mod packing;

pub use error::ReadError;
pub use event::{Action, Event, PoolId, PoolIdx, Stream};
pub use packing::{begins_as_pickle, unpacked};
pub use sidecar::Sidecar;
pub use snapshot::{Annotation, Block, BlockState, Fields, RecordedSettings, Segment, Snapshot, Trace};
pub use stack::{Frame, FrameId, StackId, Stacks};
pub use text::{TextId, Texts};
pub use torch::read_snapshot;
pub use units::{Addr, Bytes, EventIdx, ParseBytesError};

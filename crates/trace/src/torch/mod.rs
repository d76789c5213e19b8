//! PyTorch's memory snapshots: what the dicts of the pickle mean.
//!
//! While the pickle is read, [`shapes`] turns frames, stacks and events into [`records`]. What is left at the end
//! (segments, blocks, annotations, settings) is read by [`finish`].

mod event;
mod finish;
mod lookup;
mod pool;
mod records;
mod segment;
mod settings;
mod shapes;
mod sidecar;
mod words;

use std::io::Read;

use crate::error::ReadError;
use crate::pickle;
use crate::snapshot::Snapshot;
use records::Records;

/// Reads a snapshot: the file of `torch.cuda.memory._dump_snapshot`, or a pickle of what
/// `torch.cuda.memory_snapshot` returns, plain or packed with gzip or zstd.
///
/// The file is read from beginning to end through a small window and never executed.
pub fn read_snapshot(input: impl Read) -> Result<Snapshot, ReadError> {
    let outcome = pickle::read(input, words::texts(), Records::default())?;
    let snapshot = finish::finish(outcome)?;
    snapshot.check()?;
    Ok(snapshot)
}

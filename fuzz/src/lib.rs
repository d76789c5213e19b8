//! What every target of the fuzzer shares: the bounds on memory and time, and what the commands do with a recording.

pub mod bounds;

#[path = "../../crates/testkit/tests/robust/pipeline.rs"]
mod pipeline;

use oomph_trace::Snapshot;

/// Everything that the commands do with a recording.
pub fn all_commands(snapshot: &Snapshot) {
    pipeline::run(snapshot);
}

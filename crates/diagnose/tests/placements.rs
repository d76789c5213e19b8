//! What hangs on where the driver puts segments.

use oomph_diagnose::placements;
use oomph_engine::recording::{Known, Recording};
use oomph_engine::torch::profile::Version;
use oomph_trace::Bytes;

use crate::tape::Tape;

/// Two holes of 20 MiB: one in a segment of 40 MiB, one that is a segment of its own. Which of them gets a request of 12 MiB
/// decides whether one of 40 MiB finds room later.
fn held(version: Version) -> (u64, u64) {
    let mib = Bytes::mib;
    let mut tape = Tape::under(version, "", None, Bytes::gib(80));
    let whole = tape.get(mib(40));
    tape.free(whole);
    let (low, high) = (tape.get(mib(20)), tape.get(mib(20)));
    let alone = tape.get(mib(20));
    tape.free(low);
    tape.free(alone);
    let _small = tape.get(mib(12));
    tape.free(high);
    let _large = tape.get(mib(40));
    let snapshot = tape.snapshot_from(0);
    let recording = Recording::understand(snapshot, 0, Known::default());
    assert!(recording.is_exact(), "{:?}", recording.fidelity.divergence);
    let held = placements::ways(&recording).into_iter().map(|way| placements::held(&recording, way).0 >> 20);
    let held: Vec<u64> = held.collect();
    (held.iter().copied().min().unwrap_or(0), held.iter().copied().max().unwrap_or(0))
}

#[test]
fn the_address_decides_between_equal_blocks_up_to_pytorch_2_11() {
    assert_eq!(held(Version::two(11)), (60, 100));
    let (least, most) = held(Version::two(12));
    assert_eq!(least, most);
}

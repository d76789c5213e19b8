//! What hangs on where the driver puts segments.

use oomph_diagnose::placements;
use oomph_diagnose::placements::Way;
use oomph_engine::recording::{Known, Recording};
use oomph_engine::torch::profile::Version;
use oomph_trace::Bytes;
use oomph_trace::sidecar::Doubt;

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

/// A hole of 40 MiB, which a workspace of 30 MiB uses or not, and a tensor of that size that is kept. In MiB: what is held with
/// the workspace's least size, with its greatest, and with some between.
fn held_nearly(doubts: &[Doubt]) -> Vec<u64> {
    let mib = Bytes::mib;
    let mut tape = Tape::under(Version::two(11), "", None, Bytes::gib(80));
    let hole = tape.get(mib(40));
    tape.free(hole);
    let workspace = tape.get(mib(30));
    tape.free(workspace);
    let _kept = tape.get(mib(30));
    let recording = Recording::understand(tape.snapshot_from(0), 0, Known::default());
    assert!(recording.is_exact(), "{:?}", recording.fidelity.divergence);
    (0..6).map(|turn| placements::held_nearly(&recording, doubts, Way::Down, turn).0 >> 20).collect()
}

#[test]
fn a_workspace_that_is_known_only_nearly_may_not_fit_into_a_hole() {
    let by = |mib: u64| Doubt { bytes: 30 << 20, by: mib << 20 };
    assert_eq!(held_nearly(&[]), [40; 6]);
    assert_eq!(held_nearly(&[by(10)]), [40; 6]);
    // The least is a small segment beside the hole, the greatest a segment of 60 MiB. Of those between one does not fit into the
    // hole either. What is kept has the same size, and is no workspace.
    assert_eq!(held_nearly(&[by(30)]), [42, 100, 40, 40, 40, 82]);
    let other = Doubt { bytes: 29 << 20, by: 29 << 20 };
    assert_eq!(held_nearly(&[other]), [40; 6]);
}

//! What explain says beside settings: only after a failure, and with the numbers of the recording.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::fs::File;
use std::path::Path;

use oomph_diagnose::advice::{Advice, Basis};
use oomph_diagnose::explain::{Explanation, explain};
use oomph_engine::recording::{Known, Recording};
use oomph_testkit::generate::{Ending, Job};
use oomph_trace::{Bytes, Snapshot, read_snapshot};

fn fixture(name: &str) -> Snapshot {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    read_snapshot(File::open(root.join(name).join("snapshot.pickle.gz")).unwrap()).unwrap()
}

/// Settings are not what is asked about, so none is replayed.
fn explained(snapshot: &Snapshot) -> Explanation {
    let recording = Recording::understand(snapshot.clone(), 0, Known::default());
    explain(&recording, &|_| Vec::new())
}

fn shown(advice: &[Advice]) -> Vec<(&str, Option<Bytes>, bool, Basis)> {
    advice.iter().map(|advice| (advice.title, advice.in_use, advice.helps, advice.how)).collect()
}

const LET_GO: &str = "let go of what past steps made: detach, .item(), no_grad, or move it to the CPU";
const STEADY: &str = "fewer different sizes: pad to buckets, and put the largest batch first";
const EMPTY: &str = "torch.cuda.empty_cache()";

#[test]
fn growth_given_back_is_what_a_leak_needs() {
    let explanation = explained(&fixture("leak-oom"));
    // 4,279,526,400 in use, 23 steps of 144 MiB each had grown, 16 MiB were asked for.
    let in_use = Bytes(4_279_526_400 - 23 * 150_994_988 + (16 << 20));
    let found = shown(&explanation.advice);
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].0, found[0].2, found[0].3), (LET_GO, true, Basis::Computed));
    let off = found[0].1.unwrap().0.abs_diff(in_use.0);
    assert!(off < 1 << 20, "{found:?} is not {in_use}");
    assert_eq!((found[1].0, found[1].2), (EMPTY, false));
}

#[test]
fn pieces_ask_for_steady_shapes_and_emptying_the_cache_gives_nothing_back() {
    let explanation = explained(&fixture("fragmentation-oom"));
    let in_use = explanation.moment.counters.active;
    assert_eq!(
        shown(&explanation.advice),
        [(STEADY, None, true, Basis::Practice), (EMPTY, Some(in_use), false, Basis::Computed)]
    );
    assert_eq!(explanation.moment.releasable, Bytes::ZERO);
}

#[test]
fn without_a_failure_nobody_asked() {
    assert_eq!(explained(&fixture("gpt2-ragged")).advice, []);
}

#[test]
fn what_a_step_made_is_told_from_what_was_there_before_it() {
    let snapshot = Job { events: 30_000, ending: Ending::OutOfMemory, ..Job::default() }.record();
    let explanation = explained(&snapshot);
    let moment = &explanation.moment;
    let titles: Vec<&str> = explanation.advice.iter().map(|advice| advice.title).collect();
    assert_eq!(
        titles,
        [
            "half the micro-batch and twice the accumulation, the same effective batch",
            "gradient checkpointing, or mixed precision",
            EMPTY
        ]
    );
    let request = moment.failed.unwrap().size;
    let halved = (moment.counters.active - moment.of_step) + Bytes((moment.of_step + request).0 / 2);
    assert_eq!(explanation.advice[0].in_use, Some(halved));
    assert!(Bytes::ZERO < moment.of_step && moment.of_step < moment.counters.active, "{moment:?}");
}

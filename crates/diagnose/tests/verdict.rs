//! The verdict on real failures: the cause, the line to blame, and the first cure.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::fs::File;
use std::path::Path;

use oomph_diagnose::explain::{Explanation, explain};
use oomph_diagnose::judge::Verdict;
use oomph_diagnose::tune::{Search, evaluate_shortlist};
use oomph_engine::recording::{Known, Recording};
use oomph_testkit::generate::{Ending, Job};
use oomph_trace::{Snapshot, read_snapshot};

fn fixture(name: &str) -> Snapshot {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    read_snapshot(File::open(root.join(name).join("snapshot.pickle.gz")).unwrap()).unwrap()
}

fn explained(snapshot: Snapshot, replays: bool) -> Explanation {
    let recording = Recording::understand(snapshot, 0, Known::default());
    let none = |_: &Search<'_>| Vec::new();
    if replays { explain(&recording, &evaluate_shortlist) } else { explain(&recording, &none) }
}

/// Cause, kind, first line and first cure.
fn shown(verdict: &Verdict) -> [String; 4] {
    let line = verdict.culprits.first().map(|one| format!("{}:{}", one.line.file_name(), one.line.line));
    let cure = verdict.cures.first().map(|cure| format!("{} ({})", cure.action, cure.lives.words()));
    [
        verdict.cause.name().to_owned(),
        verdict.kind.name().to_owned(),
        line.unwrap_or_default(),
        cure.unwrap_or_default(),
    ]
}

#[track_caller]
fn check(name: &str, expected: [&str; 4]) {
    let verdict = explained(fixture(name), true).verdict.unwrap();
    assert_eq!(shown(&verdict), expected.map(str::to_owned), "{name}: {verdict:#?}");
}

#[test]
fn what_grows_with_every_step_is_a_leak_for_good() {
    check(
        "leak-oom",
        [
            "leak",
            "graphs_kept",
            "train.py:115",
            "cut the graph before keeping a result: `.detach()`, or `.item()` for a number (for good)",
        ],
    );
}

#[test]
fn graphs_kept_without_a_backward_pass_are_cut_or_used() {
    check(
        "eval-with-grad-oom",
        [
            "leak",
            "graphs_kept",
            "train.py:182",
            "call backward() for each part as it comes, or cut the graph (`.detach()`, `torch.no_grad()`) where no \
             gradient is needed (for good)",
        ],
    );
}

#[test]
fn pieces_that_a_setting_joins_are_fragmentation() {
    let cure = "PYTORCH_CUDA_ALLOC_CONF=large_segment_size_mb:12 (not known)";
    check("fragmentation-oom", ["fragmentation", "fragmentation", "train.py:142", cure]);
    check("fragmentation-expandable", ["fragmentation", "fragmentation", "train.py:142", cure]);
    let cure = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (not known)";
    check("kvcache-oom", ["fragmentation", "fragmentation", "train.py:107", cure]);
}

#[test]
fn without_a_failure_there_is_no_verdict() {
    let explanation = explained(fixture("gpt2-ragged"), false);
    assert_eq!((explanation.verdict, explanation.advice), (None, Vec::new()));
}

#[test]
fn one_tensor_that_is_most_of_the_card_is_named_as_that() {
    let snapshot = Job { events: 30_000, ending: Ending::OutOfMemory, ..Job::default() }.record();
    let verdict = explained(snapshot, false).verdict.unwrap();
    assert_eq!(
        shown(&verdict),
        [
            "capacity",
            "one_large_tensor",
            "layer4.py:313",
            "make it in chunks (blocks of rows, a part of the batch at a time), or of a smaller type; move each result \
             to the CPU (for good)",
        ]
        .map(str::to_owned),
        "{verdict:#?}"
    );
}

#[test]
fn a_fault_has_the_same_fingerprint_whatever_its_numbers() {
    let of = |name| explained(fixture(name), true).verdict.unwrap().fingerprint;
    assert_eq!(of("fragmentation-oom"), of("fragmentation-expandable"));
    assert_ne!(of("fragmentation-oom"), of("kvcache-oom"));
}

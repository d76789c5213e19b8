//! Damaged and absurd recordings go through everything the commands do: nothing panics, hangs or eats memory.
//!
//! `OOMPH_ROBUST_ROUNDS=50` runs fifty times as many cases, with other seeds.

// In a test a panic is the report.
#![allow(clippy::unwrap_used)]

mod mutate;

mod pipeline;

mod watch;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use oomph_testkit::generate::{Ending, Job, Random, window};
use oomph_testkit::pickle::{self, Format};
use oomph_trace::sidecar::{Host, HostSample};
use oomph_trace::{Bytes, Snapshot, read_snapshot};
use watch::Watch;

/// The name of a recording that is generated, with all that oomph's recorder adds.
const RECORDED: &str = "recorded";
/// Recordings short enough to go through everything many times.
const SMALL: [&str; 6] = [
    "graph-pool",
    "fragmentation-oom",
    "fragmentation-expandable",
    "streams",
    "streams-expandable",
    RECORDED,
];
/// Longer ones, with settings and endings of their own.
const LARGE: [&str; 7] = [
    "leak-oom",
    "eval-with-grad-oom",
    "resnet50-split64",
    "segmentation-gc",
    "gpt2-ragged-expandable",
    "moe-pow2",
    "mt5-finetune-expandable-tight",
];

/// A recording as a pickle, unpacked so that damage reaches the reader rather than the checksum.
fn pickle(name: &str) -> Vec<u8> {
    if name == RECORDED {
        return recorded();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let file = File::open(root.join(name).join("snapshot.pickle.gz")).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}

/// A job that fails, with marks, classes, sampled stacks, the host's memory and an exception. Few events, so that most
/// damage hits what the recorder adds.
fn recorded() -> Vec<u8> {
    let job =
        Job { events: 3_000, ending: Ending::OutOfMemory, sampled: Some(2), stacks: 20, ..Job::default() };
    let mut snapshot = window(job.record(), 1_500);
    if let Some(sidecar) = &mut snapshot.sidecar {
        let sample = HostSample { time_us: 1, rss: Bytes::gib(1), available: Bytes::gib(2) };
        sidecar.host = Some(Host { rss: Some(Bytes::gib(1)), samples: vec![sample; 9], ..Host::default() });
    }
    pickle::bytes(&snapshot, Format::default())
}

/// How many times `few` cases to run, and the first seed.
fn rounds(few: u64) -> std::ops::Range<u64> {
    let times = std::env::var("OOMPH_ROBUST_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let first = if times == 1 { 0 } else { 1000 };
    first..first + few * times
}

/// Reads damaged bytes: a refusal is one line, and what is read goes through the rest.
fn read_and_run(bytes: &[u8]) {
    match read_snapshot(bytes) {
        Ok(snapshot) => pipeline::run(&snapshot),
        Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
    }
}

#[test]
fn recordings_cut_off_anywhere_are_refused_in_one_line() {
    let mut watch = Watch::start();
    for name in SMALL.into_iter().chain(LARGE) {
        let whole = pickle(name);
        let mut random = Random::new(whole.len() as u64);
        for _ in rounds(20) {
            let end = random.between(0, whole.len() as u64) as usize;
            watch.case(format!("{name} cut off at {end}"), || read_and_run(&whole[..end]));
        }
        for end in whole.len().saturating_sub(40)..whole.len() {
            watch.case(format!("{name} cut off at {end}"), || read_and_run(&whole[..end]));
        }
    }
    watch.finish();
}

#[test]
fn flipped_bits_go_through_everything() {
    let mut watch = Watch::start();
    for (name, few) in
        SMALL.map(|name| (name, 100)).into_iter().chain(LARGE[..2].iter().map(|name| (*name, 25)))
    {
        let whole = pickle(name);
        for seed in rounds(few) {
            let mut random = Random::new(seed);
            let mut damaged = whole.clone();
            for _ in 0..random.between(1, 9) {
                let at = random.between(0, damaged.len() as u64) as usize;
                damaged[at] ^= 1 << random.between(0, 8);
            }
            watch.case(format!("{name} with bits flipped by seed {seed}"), || read_and_run(&damaged));
        }
    }
    watch.finish();
}

#[test]
fn well_formed_nonsense_goes_through_everything() {
    let mut watch = Watch::start();
    for (name, few) in SMALL.map(|name| (name, 40)).into_iter().chain(LARGE.map(|name| (name, 20))) {
        let whole = read_snapshot(&pickle(name)[..]).unwrap();
        for seed in rounds(few) {
            let mut absurd = shortened(&whole, seed);
            let changes = mutate::mutate(&mut absurd, seed);
            watch.case(format!("{name} mutated by seed {seed}: {changes}"), || match absurd.check() {
                Ok(()) => pipeline::run(&absurd),
                Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
            });
        }
    }
    watch.finish();
}

/// A stretch of a recording, as a ring buffer of that length would have kept it and dumped it later.
fn shortened(snapshot: &Snapshot, seed: u64) -> Snapshot {
    const KEPT: usize = 2_000;
    let mut random = Random::new(seed);
    let mut short = snapshot.clone();
    for trace in &mut short.traces {
        let spare = trace.events.len().saturating_sub(KEPT);
        let from = random.between(0, spare as u64 + 1) as usize;
        trace.events.truncate(from + KEPT);
        trace.events.drain(..from);
    }
    short
}

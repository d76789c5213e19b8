//! The main promise: a replay of a real recording reproduces it, and a what-if gives what the real thing gave.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use oomph_engine::program::Origin;
use oomph_engine::recording::{Known, Recording};
use oomph_engine::replay::{OnFailure, Setup, replay, requests_served};
use oomph_engine::torch::options::Options;
use oomph_trace::{Action, Bytes, Snapshot, read_snapshot};
use serde_json::Value;

fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut folders: Vec<PathBuf> =
        fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    assert_eq!(folders.len(), 21);
    folders
}

fn fixture(name: &str) -> PathBuf {
    fixtures().into_iter().find(|folder| folder.ends_with(name)).unwrap()
}

fn snapshot(folder: &Path) -> Snapshot {
    read_snapshot(File::open(folder.join("snapshot.pickle.gz")).unwrap()).unwrap()
}

fn measured(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("measured.json")).unwrap()).unwrap()
}

fn understand(snapshot: &Snapshot) -> Recording {
    Recording::understand(snapshot.clone(), 0, Known::default())
}

#[test]
fn every_recording_is_reproduced_and_its_measured_peaks_with_it() {
    for folder in fixtures() {
        let (snapshot, measured) = (snapshot(&folder), measured(&folder));
        let recording = understand(&snapshot);
        let name = folder.display();
        assert_eq!(recording.fidelity.divergence, None, "{name}");
        assert_eq!(recording.program.origin, Origin::Complete, "{name}");
        let (peaks, tally) = (recording.peaks, recording.fidelity.replayed.tally);
        let found = [
            ("events", recording.trace().events.len() as u64),
            ("peak_requested", peaks.requested.bytes.0),
            ("peak_allocated", peaks.allocated.bytes.0),
            ("peak_active", peaks.active.bytes.0),
            ("peak_reserved", peaks.reserved.bytes.0),
            ("num_alloc_retries", tally.retries),
        ];
        for (key, value) in found {
            assert_eq!(Some(value), measured[key].as_u64(), "{name}: {key}");
        }
        assert_eq!(tally.ooms, measured["actions"]["oom"].as_u64().unwrap_or(0), "{name}: ooms");
    }
}

#[test]
fn the_reader_sees_every_event_of_every_kind() {
    for folder in fixtures() {
        let (snapshot, measured) = (snapshot(&folder), measured(&folder));
        for (name, expected) in measured["actions"].as_object().unwrap() {
            let action = Action::from_name(name).unwrap();
            let found = snapshot.traces[0].events.iter().filter(|event| event.action == action).count();
            assert_eq!(Some(found as u64), expected.as_u64(), "{}: {name}", folder.display());
        }
    }
}

#[test]
fn the_true_limit_reproduces_every_recording_too() {
    for folder in fixtures() {
        let (snapshot, measured) = (snapshot(&folder), measured(&folder));
        let fraction = measured["memory_fraction"].as_f64().unwrap();
        if fraction >= 1.0 {
            continue;
        }
        let limit = Bytes((fraction * measured["device_total"].as_f64().unwrap()) as u64);
        let known = Known { limit: Some(limit), ..Known::default() };
        let recording = Recording::understand(snapshot.clone(), 0, known);
        assert_eq!(recording.fidelity.divergence, None, "{}", folder.display());
    }
}

#[test]
fn an_inferred_limit_has_the_true_one_within_its_bounds() {
    for folder in fixtures() {
        let (snapshot, measured) = (snapshot(&folder), measured(&folder));
        let fraction = measured["memory_fraction"].as_f64().unwrap();
        let limit = Bytes((fraction * measured["device_total"].as_f64().unwrap()) as u64);
        let bounds = understand(&snapshot).program.limit;
        assert!(bounds.at_least <= limit, "{}: {bounds:?}", folder.display());
        assert!(bounds.below.is_none_or(|below| limit < below), "{}: {bounds:?}", folder.display());
    }
}

/// Replays one recording under the settings of another, of the same job with the same seed, with memory to spare.
fn what_if(recorded: &str, settings: &str) -> Bytes {
    let snapshot = snapshot(&fixture(recorded));
    let recording = understand(&snapshot);
    let profile = recording.setup.profile;
    let options = Options::parse(settings, &profile).unwrap();
    let start = recording.start_for(&options);
    let setup = Setup { profile, options, limit: None, capacity: None };
    replay(&recording.program, &setup, start, OnFailure::Stop).peaks.reserved.bytes
}

#[test]
fn a_what_if_holds_what_the_real_run_under_those_settings_held() {
    for (recorded, settings, real) in [
        ("gpt2-ragged", "expandable_segments:True", "gpt2-ragged-expandable"),
        ("gpt2-ragged-expandable", "", "gpt2-ragged"),
        ("streams", "expandable_segments:True", "streams-expandable"),
        ("streams-expandable", "", "streams"),
        // The other one of this pair ran near its limit; with memory to spare this is what it holds.
        ("mt5-finetune-expandable-tight", "", "mt5-finetune"),
    ] {
        let expected = measured(&fixture(real))["peak_reserved"].as_u64().unwrap();
        assert_eq!(what_if(recorded, settings), Bytes(expected), "{recorded} under `{settings}`");
    }
}

#[test]
fn the_room_a_what_if_finds_is_the_room_the_real_run_had() {
    // The job asks for 180 MiB until it dies. Without expandable segments it died asking for its 12th such block, with
    // them, in another recording, for its 15th.
    let (without, with) =
        (snapshot(&fixture("fragmentation-oom")), snapshot(&fixture("fragmentation-expandable")));
    let granted = |snapshot: &Snapshot| {
        let events = &snapshot.traces[0].events;
        events.iter().filter(|event| event.action == Action::Alloc && event.size == Bytes::mib(180)).count()
            as u64
    };
    assert_eq!((granted(&without), granted(&with)), (11, 14));
    let recording = understand(&without);
    let options = Options { expandable_segments: true, ..Options::default() };
    let setup = Setup { options, ..recording.setup.clone() };
    let served = requests_served(&recording.program, &setup, recording.start_for(&setup.options));
    assert_eq!(served, Some((3, Bytes::mib(180))));
}

#[test]
fn a_recording_that_began_late_is_reproduced_from_its_final_segments() {
    for folder in fixtures() {
        let whole = snapshot(&folder);
        let events = whole.traces[0].events.len();
        for kept in [events / 20, events / 4, events * 3 / 4] {
            let mut window = whole.clone();
            window.traces[0].events.drain(..events - kept);
            let recording = understand(&window);
            assert_eq!(recording.fidelity.divergence, None, "{}: the last {kept} events", folder.display());
        }
    }
}

#[test]
fn what_a_late_recording_cannot_show_is_said_and_not_claimed_exact() {
    // How long cached segments had lain unused before it began decides which of them are collected first.
    let mut window = snapshot(&fixture("segmentation-gc"));
    let events = window.traces[0].events.len();
    window.traces[0].events.drain(..events / 10);
    let recording = understand(&window);
    assert_eq!(recording.program.origin, Origin::Windowed);
    assert!(!recording.is_exact());
}

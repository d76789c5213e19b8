//! Generated recordings are what they say: a replay reproduces them call by call.

use oomph_engine::program::Origin;
use oomph_engine::recording::{Known, Recording};
use oomph_engine::torch::options::Options;
use oomph_engine::torch::profile::{Profile, Version};
use oomph_testkit::generate::{Ending, Job, window};
use oomph_trace::{Action, Bytes, Snapshot};

fn options(conf: &str, version: Version) -> Options {
    Options::parse(conf, &Profile::of(version)).expect("the test writes valid settings")
}

fn check_exact(job: &Job) -> Snapshot {
    let snapshot = job.record();
    let trace = &snapshot.traces[0];
    assert!(trace.events.len() >= job.events || job.limit.is_some(), "{} events", trace.events.len());
    let known = Known { version: Some(job.version), limit: job.limit };
    let recording = Recording::understand(snapshot.clone(), 0, known);
    assert!(recording.is_exact(), "{job:?}: {:?}", recording.fidelity.divergence);
    assert_eq!(recording.program.origin, Origin::Complete);
    snapshot
}

#[test]
fn a_recording_replays_exactly_on_every_version() {
    for minor in 0..=15 {
        let version = Version::two(minor);
        check_exact(&Job { events: 4000, version, seed: minor.into(), ..Job::default() });
    }
}

#[test]
fn a_recording_replays_exactly_under_every_setting() {
    for (minor, conf) in [
        (11, "expandable_segments:True"),
        (13, "expandable_segments:True,large_segment_size_mb:32"),
        (11, "max_split_size_mb:20"),
        (11, "roundup_power2_divisions:4"),
        (12, "roundup_power2_divisions:[16:1,32:2,>:8]"),
    ] {
        let version = Version::two(minor);
        let options = options(conf, version);
        for streams in [1, 3] {
            let (ragged, seed) = (streams == 3, 7 + u64::from(streams));
            check_exact(&Job {
                events: 4000,
                version,
                options: options.clone(),
                streams,
                ragged,
                seed,
                ..Job::default()
            });
        }
    }
}

#[test]
fn a_tight_limit_shows_in_releases_and_replays_exactly() {
    for conf in ["", "expandable_segments:True", "garbage_collection_threshold:0.6"] {
        let options = options(conf, Version::two(11));
        let roomy = Job { options: options.clone(), ..Job::default() }.record();
        let peaks = Recording::understand(roomy.clone(), 0, Known::default()).peaks;
        // Expandable segments hold little more than what is active, so only a failing request makes them release.
        let (limit, ending) = match options.expandable_segments {
            true => (peaks.active.bytes + Bytes::mib(512), Ending::OutOfMemory),
            false => (Bytes(u64::midpoint(peaks.active.bytes.0, peaks.reserved.bytes.0)), Ending::Complete),
        };
        let snapshot = check_exact(&Job { options, limit: Some(limit), ending, ..Job::default() });
        let shrinks = |action| matches!(action, Action::SegmentFree | Action::SegmentUnmap);
        assert!(snapshot.traces[0].events.iter().any(|event| shrinks(event.action)), "{conf}");
    }
}

#[test]
fn a_job_that_runs_out_of_memory_records_it_and_unwinds() {
    for conf in ["", "expandable_segments:True"] {
        let options = options(conf, Version::two(11));
        let limit = Some(Bytes::gib(8));
        let snapshot = check_exact(&Job { options, limit, ending: Ending::OutOfMemory, ..Job::default() });
        let events = &snapshot.traces[0].events;
        let oom = events.iter().position(|event| event.action == Action::Oom).unwrap();
        assert!(events[oom].device_free() > events[oom].size);
        assert_eq!(events.iter().filter(|event| event.action == Action::Oom).count(), 1);
        assert!(events[oom + 1..].iter().filter(|event| event.action == Action::FreeCompleted).count() > 10);
    }
}

#[test]
fn an_unstated_limit_is_found_from_the_oom() {
    let snapshot = Job { limit: Some(Bytes::gib(8)), ending: Ending::OutOfMemory, ..Job::default() }.record();
    let recording = Recording::understand(snapshot.clone(), 0, Known::default());
    assert!(recording.is_exact(), "{:?}", recording.fidelity.divergence);
}

#[test]
fn equal_seeds_give_equal_recordings_and_other_seeds_others() {
    let job = Job { events: 3000, ..Job::default() };
    assert_eq!(job.record().traces, job.record().traces);
    assert_ne!(job.record().traces, Job { seed: 2, ..job }.record().traces);
}

#[test]
fn a_window_keeps_the_last_events_and_the_final_state() {
    let whole = Job { events: 3000, ..Job::default() }.record();
    let part = window(whole.clone(), 500);
    let (whole, part) = (&whole.traces[0], &part.traces[0]);
    assert_eq!(part.events, whole.events[whole.events.len() - 500..]);
    assert_eq!(part.segments, whole.segments);
}

#[test]
fn every_stack_has_the_depth_that_was_asked_for() {
    let snapshot = Job { events: 3000, stack_depth: 33, stacks: 50, ..Job::default() }.record();
    let stacks: Vec<_> = snapshot.traces[0].events.iter().filter_map(|event| event.stack).collect();
    assert_eq!(stacks.len(), snapshot.traces[0].events.len());
    assert!(stacks.iter().all(|stack| snapshot.stacks.frames_of(*stack).len() == 33));
    assert_eq!(snapshot.stacks.len(), 50);
}

//! What is written as PyTorch writes it is read back as it was, value for value.

use std::collections::BTreeSet;

use oomph_engine::torch::options::Options;
use oomph_engine::torch::profile::{Profile, Version};
use oomph_testkit::generate::{Ending, Job};
use oomph_testkit::pickle::{self, Format, Style};
use oomph_trace::{Event, PoolId, Segment, Snapshot, StackId, read_snapshot};

/// Two snapshots, and which stacks of theirs were found equal: ids are only meaningful within one snapshot.
struct Both<'a> {
    written: &'a Snapshot,
    read: &'a Snapshot,
    equal: BTreeSet<(StackId, StackId)>,
}

impl Both<'_> {
    fn check_stacks(&mut self, written: Option<StackId>, read: Option<StackId>) {
        assert_eq!(written.is_some(), read.is_some());
        let (Some(written), Some(read)) = (written, read) else { return };
        if self.equal.insert((written, read)) {
            assert_eq!(in_words(self.written, written), in_words(self.read, read));
        }
    }

    fn check_events(&mut self, written: &[Event], read: &[Event]) {
        assert_eq!(written.len(), read.len());
        for (index, (a, b)) in written.iter().zip(read).enumerate() {
            let plain = |event: &Event| (event.action, event.addr, event.size, event.stream, event.time_us);
            assert_eq!(plain(a), plain(b), "event {index}");
            let pool = |snapshot: &Snapshot, event: &Event| event.pool.map(|pool| snapshot.pool_id(pool));
            assert_eq!(pool(self.written, a), pool(self.read, b), "event {index}");
            assert_eq!((a.metadata, b.metadata), (None, None), "event {index}");
            self.check_stacks(a.stack, b.stack);
        }
    }

    fn check_segments(&mut self, written: &[Segment], read: &[Segment], version: Version) {
        assert_eq!(written.len(), read.len());
        for (a, b) in written.iter().zip(read) {
            let plain = |s: &Segment| (s.addr, s.size, s.stream, s.small, s.expandable, s.blocks.len());
            assert_eq!(plain(a), plain(b));
            assert_eq!(self.written.pool_id(a.pool), self.read.pool_id(b.pool));
            // Up to 2.0 segments had no frames.
            if version >= Version::two(1) {
                self.check_stacks(a.stack, b.stack);
            }
            for (a, b) in a.blocks.iter().zip(&b.blocks) {
                assert_eq!((a.addr, a.size, a.requested, a.state), (b.addr, b.size, b.requested, b.state));
                self.check_stacks(a.stack, b.stack);
            }
        }
    }
}

fn in_words(snapshot: &Snapshot, stack: StackId) -> Vec<(&str, &str, u32)> {
    let frames = snapshot.stacks.frames_of(stack).iter().map(|frame| snapshot.stacks.frame(*frame));
    frames
        .map(|frame| (snapshot.texts.get(frame.file), snapshot.texts.get(frame.function), frame.line))
        .collect()
}

fn check(written: &Snapshot, format: Format) {
    let read = read_snapshot(&pickle::bytes(written, format)[..]).expect("what PyTorch writes is readable");
    assert_eq!(written.traces.len(), read.traces.len());
    let mut both = Both { written, read: &read, equal: BTreeSet::new() };
    for (a, b) in written.traces.iter().zip(&read.traces) {
        assert_eq!(a.device, b.device);
        both.check_events(&a.events, &b.events);
        both.check_segments(&a.segments, &b.segments, format.version);
    }
    assert_eq!(written.settings, read.settings);
    assert_eq!(written.fields, read.fields);
    assert_eq!(read.pools, [PoolId::DEFAULT]);
    let annotations = |snapshot: &Snapshot| {
        let shown = snapshot.annotations.iter();
        shown
            .map(|a| (snapshot.texts.get(a.name).to_owned(), a.starts, a.device, a.time_us))
            .collect::<Vec<_>>()
    };
    assert_eq!(annotations(written), annotations(&read));
}

const STYLES: [Style; 5] = [
    Style::Python { protocol: 2 },
    Style::Python { protocol: 3 },
    Style::Python { protocol: 4 },
    Style::Python { protocol: 5 },
    Style::Cpp,
];

#[test]
fn every_version_and_style_is_read_back_as_it_was() {
    for minor in 0..=15 {
        let version = Version::two(minor);
        let snapshot =
            Job { events: 2500, version, streams: 3, seed: 40 + u64::from(minor), ..Job::default() }.record();
        for style in STYLES {
            check(&snapshot, Format { style, version });
        }
    }
}

#[test]
fn settings_and_an_oom_are_read_back_as_they_were() {
    let version = Version::two(13);
    for conf in [
        "expandable_segments:True,roundup_power2_divisions:[256:1,512:2,>:8]",
        "max_split_size_mb:64,garbage_collection_threshold:0.75",
    ] {
        let options = Options::parse(conf, &Profile::of(version)).unwrap();
        let job = Job { events: 2500, version, options, ending: Ending::OutOfMemory, ..Job::default() };
        for style in STYLES {
            check(&job.record(), Format { style, version });
        }
    }
}

#[test]
fn no_stacks_and_stacks_longer_than_a_batch_are_read_back_as_they_were() {
    for (stack_depth, stacks) in [(0, 1), (1, 5), (2500, 6)] {
        let snapshot = Job { events: 2500, stack_depth, stacks, ..Job::default() }.record();
        for style in STYLES {
            check(&snapshot, Format { style, ..Format::default() });
        }
    }
}

#[test]
fn a_protocol_that_cpython_would_frame_otherwise_is_refused() {
    let written = pickle::write(
        &Snapshot::default(),
        Format { style: Style::Python { protocol: 1 }, ..Format::default() },
        std::io::sink(),
    );
    assert!(written.is_err());
}

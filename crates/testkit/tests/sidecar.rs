//! What oomph's recorder adds to a snapshot is read back as it was, and a field of the wrong type costs only itself.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use oomph_engine::recording::{Known, LimitSource, Recording};
use oomph_engine::torch::options::Options;
use oomph_engine::torch::profile::Version;
use oomph_testkit::generate::{Ending, Job};
use oomph_testkit::pickle::{self, Format, Style, Tree, tree_of};
use oomph_trace::sidecar::{Host, HostSample, Sidecar, StorageClass};
use oomph_trace::{Addr, Bytes, Snapshot, read_snapshot};

const STYLES: [Style; 3] = [Style::Python { protocol: 2 }, Style::Python { protocol: 5 }, Style::Cpp];

fn job() -> Job {
    Job { events: 6_000, ending: Ending::OutOfMemory, sampled: Some(3), ..Job::default() }
}

/// The sidecar read from a file that holds this tree.
fn read(tree: &Tree) -> Option<Sidecar> {
    let mut bytes = Vec::new();
    pickle::write_with(&Snapshot::default(), Some(tree), Format::default(), &mut bytes).unwrap();
    read_snapshot(&bytes[..]).unwrap().sidecar
}

#[test]
fn a_sidecar_is_read_back_as_it_was() {
    let mut written = job().record();
    let sidecar = written.sidecar.as_mut().unwrap();
    let sample = HostSample { time_us: 7, rss: Bytes::gib(3), available: Bytes::gib(60) };
    sidecar.host = Some(Host {
        rss: Some(Bytes::gib(3)),
        cgroup_oom_kills: Some(1),
        samples: vec![sample],
        ..Host::default()
    });
    sidecar.identity.rank = Some(1);
    sidecar.settings.cuda_alloc_conf = Some("expandable_segments:True".to_owned());
    assert!(sidecar.marks.len() > 10 && sidecar.classes.len() > 100 && sidecar.stacks.len() > 1);
    assert_eq!(sidecar.ooms.len(), 1);
    for style in STYLES {
        for minor in [2, 11, 15] {
            let format = Format { style, version: Version::two(minor) };
            let read = read_snapshot(&pickle::bytes(&written, format)[..]).unwrap();
            assert_eq!(read.sidecar, written.sidecar);
            assert_eq!(read.traces[0].events.len(), written.traces[0].events.len());
        }
    }
}

#[test]
fn of_the_control_groups_that_were_noted_the_tightest_counts() {
    let files = [("a/b/memory.max", "max\n"), ("a/memory.max", "4096\n"), ("a/memory.current", "7\n")];
    let noted = Tree::dict([
        ("own", Tree::text("0::/a/b\n")),
        ("files", Tree::dict(files.map(|(name, text)| (name, Tree::text(text))))),
    ]);
    let host = |entries: Vec<(&'static str, Tree)>| {
        read(&Tree::dict([("host", Tree::dict(entries))])).and_then(|sidecar| sidecar.host).unwrap()
    };
    let known = host(vec![("cgroup", noted)]);
    assert_eq!((known.cgroup_limit, known.cgroup_current), (Some(Bytes(4096)), Some(Bytes(7))));
    // Recordings of before have the figures themselves.
    assert_eq!(host(vec![("cgroup_limit", Tree::Int(5))]).cgroup_limit, Some(Bytes(5)));
}

#[test]
fn a_share_of_the_card_is_its_limit_and_else_the_one_that_the_recorder_set() {
    let limit = |fraction: Tree, limit: Tree| {
        let total = Tree::Int(1001);
        let card =
            Tree::dict([("index", Tree::Int(0)), ("total", total), ("fraction", fraction), ("limit", limit)]);
        read(&Tree::dict([("devices", Tree::list([card]))])).unwrap().devices[0].limit
    };
    assert_eq!(limit(Tree::Float(0.5), Tree::Int(7)), Some(Bytes(500)));
    assert_eq!(limit(Tree::Float(1.0), Tree::Int(7)), Some(Bytes(7)));
    assert_eq!(limit(Tree::None, Tree::Int(7)), Some(Bytes(7)));
    assert_eq!(limit(Tree::Float(1.0), Tree::None), None);
}

#[test]
fn a_snapshot_without_one_has_none() {
    let plain = Job { events: 500, ..Job::default() }.record();
    assert_eq!(plain.sidecar, None);
    assert_eq!(read_snapshot(&pickle::bytes(&plain, Format::default())[..]).unwrap().sidecar, None);
    assert_eq!(read(&Tree::Int(7)), None);
    assert_eq!(read(&Tree::list([])), None);
}

/// Puts each of these in the place of each entry, and of each entry of those, in turn.
#[test]
fn a_field_of_another_kind_is_absent_and_the_others_stay() {
    let whole = tree_of(job().record().sidecar.as_ref().unwrap());
    let Tree::Dict(entries) = &whole else { panic!("a sidecar is a dictionary") };
    let strange = [
        Tree::None,
        Tree::Bool(true),
        Tree::Int(-1),
        Tree::Int(1 << 70),
        Tree::Float(f64::NAN),
        Tree::text("what is this"),
        Tree::list([Tree::None, Tree::list([]), Tree::list([Tree::Int(1)]), Tree::text("step")]),
        Tree::dict([("index", Tree::Int(0)), ("processes", Tree::Int(3)), ("frames", Tree::text("x"))]),
    ];
    let expected = read(&whole).unwrap();
    for (at, (key, _)) in entries.iter().enumerate() {
        for value in &strange {
            let mut changed = entries.clone();
            changed[at].1 = value.clone();
            let found = read(&Tree::Dict(changed)).unwrap();
            assert_eq!(found.marks == expected.marks, key != "marks", "{key}: {value:?}");
            assert_eq!(found.classes == expected.classes, key != "classes", "{key}: {value:?}");
            assert_eq!(found.versions == expected.versions, key != "versions", "{key}: {value:?}");
        }
    }
}

#[test]
fn an_entry_that_makes_no_sense_is_left_out_of_its_list() {
    let entry = |class: &str, addr: i128| {
        Tree::list([5, 0, addr, 512].map(Tree::Int).into_iter().chain([Tree::text(class)]))
    };
    let tree = Tree::dict([(
        "classes",
        Tree::list([entry("weights", 1), entry("nonsense", 2), entry("buffers", -3), entry("gradients", 4)]),
    )]);
    let found: Vec<(Addr, StorageClass)> =
        read(&tree).unwrap().classes.iter().map(|entry| (entry.addr, entry.class)).collect();
    assert_eq!(found, [(Addr(1), StorageClass::Weights), (Addr(4), StorageClass::Gradients)]);
}

#[test]
fn texts_and_lists_without_end_are_cut_short() {
    let long = Tree::text("x".repeat(3 << 20));
    let tree = Tree::dict([("argv", Tree::list([long.clone(), long, Tree::text("y")]))]);
    let words: Vec<usize> = read(&tree).unwrap().identity.argv.iter().map(String::len).collect();
    assert_eq!(words, [3 << 20, 1]);
    let card = |index: i128| Tree::dict([("index", Tree::Int(index))]);
    assert_eq!(read(&Tree::dict([("devices", Tree::list((0..999).map(card)))])).unwrap().devices.len(), 256);
}

fn understood<T>(snapshot: &Snapshot, known: Known, look: impl Fn(&Recording) -> T) -> T {
    let recording = Recording::understand(snapshot.clone(), 0, known);
    assert!(recording.is_exact(), "{:?}", recording.fidelity.divergence);
    look(&recording)
}

#[test]
fn the_recorded_limit_and_version_are_taken_unless_the_user_knows_better() {
    let limit = |recording: &Recording| (recording.limit_source, recording.ceiling());
    let mut snapshot = job().record();
    let stated = snapshot.sidecar.as_ref().unwrap().devices[0].limit;
    assert_eq!(understood(&snapshot, Known::default(), limit), (Some(LimitSource::Recorded), stated));
    let known = Known { version: None, limit: Some(Bytes::gib(16) - Bytes::mib(1)) };
    assert_eq!(understood(&snapshot, known, limit), (Some(LimitSource::Given), known.limit));

    // A limit that the job never reached is known as well; one that it exceeded was set later.
    let quiet = Job { limit: Some(Bytes::gib(40)), ending: Ending::Complete, ..job() }.record();
    let stated = quiet.sidecar.as_ref().unwrap().devices[0].limit;
    assert_eq!(understood(&quiet, Known::default(), limit), (Some(LimitSource::Recorded), stated));
    snapshot.sidecar.as_mut().unwrap().devices[0].limit = Some(Bytes::mib(64));
    let found = understood(&snapshot, Known::default(), limit);
    assert_eq!(found, (Some(LimitSource::Refusals), Some(Bytes::gib(16))));

    let version = |recording: &Recording| recording.setup.profile.version;
    snapshot.sidecar.as_mut().unwrap().versions.torch = Some("2.10.1+cu126".to_owned());
    assert_eq!(understood(&snapshot, Known::default(), version), Version::two(10));
    let known = Known { version: Some(Version::two(9)), limit: None };
    assert_eq!(understood(&snapshot, known, version), Version::two(9));
    snapshot.sidecar.as_mut().unwrap().versions.torch = Some("3.0".to_owned());
    assert_eq!(understood(&snapshot, Known::default(), version), Version::two(11));
}

#[test]
fn settings_come_from_the_environment_where_the_snapshot_states_none() {
    let options =
        Options { expandable_segments: true, large_segment_size: Bytes::mib(64), ..Options::default() };
    let mut snapshot = Job { options: options.clone(), ..job() }.record();
    snapshot.settings = None;
    let sidecar = snapshot.sidecar.as_mut().unwrap();
    sidecar.settings.alloc_conf = Some(options.to_string());
    let found = |recording: &Recording| recording.setup.options.clone();
    assert_eq!(understood(&snapshot, Known::default(), found), options);
}

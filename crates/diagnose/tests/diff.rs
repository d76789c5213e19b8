//! Two recordings compared: lines that moved, what a warm-up leaves, what began earlier in one than in the other.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::fs::{self, File};
use std::path::Path;

use oomph_diagnose::diff::{Comparison, Doubt, Where, compare};
use oomph_diagnose::place::Line;
use oomph_engine::recording::{Known, Recording};
use oomph_trace::{Bytes, Snapshot, read_snapshot};

use crate::tape::{From, Live, Tape};

const fn mib(n: u64) -> Bytes {
    Bytes::mib(n)
}

fn recording(snapshot: Snapshot) -> Recording {
    Recording::understand(snapshot, 0, Known::default())
}

/// Asks at a line of `train.py`, in a function.
fn at(tape: &mut Tape, function: &str, line: u32, size: Bytes) -> Live {
    let frames = [("/jobs/train.py", function, line)];
    tape.ask(size, From { frames: &frames, ..From::default() }).unwrap()
}

/// Compared without knowing what lines say.
fn compared(a: Tape, b: Tape) -> Comparison {
    compared_snapshots(a.snapshot(), b.snapshot())
}

fn compared_snapshots(a: Snapshot, b: Snapshot) -> Comparison {
    compare(&recording(a), &recording(b), &|_| None, &|_| None)
}

/// `train.py:3 step 4 MiB -> 5 MiB`; a dash where a side has no such line.
fn drawn(comparison: &Comparison) -> Vec<String> {
    let line = |change: &oomph_diagnose::diff::LineChange| {
        let name = match change.place() {
            Where::Line(place) => place.line.to_string(),
            Where::Phase(phase) => format!("no line, {phase:?}"),
        };
        let side = |held: &Option<oomph_diagnose::diff::Held>| {
            held.as_ref().map_or("-".to_owned(), |held| (held.bytes.0 >> 20).to_string())
        };
        format!("{name} {} -> {}", side(&change.a), side(&change.b))
    };
    comparison.lines.iter().map(line).collect()
}

#[test]
fn a_line_above_moves_the_others_and_makes_none_of_them_new() {
    let job = |shift: u32| {
        let mut tape = Tape::new("", None);
        at(&mut tape, "build", 3, mib(100));
        at(&mut tape, "step", 10 + shift, mib(8));
        at(&mut tape, "step", 11 + shift, mib(30));
        at(&mut tape, "step", 14 + shift, mib(5));
        tape
    };
    let comparison = compared(job(0), job(1));
    assert!(comparison.is_same(), "{comparison:?}");
    let expected = [
        "train.py:3 build 100 -> 100",
        "train.py:12 step 30 -> 30",
        "train.py:11 step 8 -> 8",
        "train.py:15 step 5 -> 5",
    ];
    assert_eq!(drawn(&comparison), expected);
}

#[test]
fn a_line_put_between_is_the_new_one() {
    let mut a = Tape::new("", None);
    at(&mut a, "step", 10, mib(8));
    at(&mut a, "step", 11, mib(30));
    let mut b = Tape::new("", None);
    at(&mut b, "step", 10, mib(8));
    at(&mut b, "step", 11, mib(64));
    at(&mut b, "step", 12, mib(30));
    let comparison = compared(a, b);
    assert_eq!(
        drawn(&comparison),
        ["train.py:11 step - -> 64", "train.py:12 step 30 -> 30", "train.py:10 step 8 -> 8"]
    );
    let first = comparison.first().unwrap();
    assert_eq!((first.change().more(), first.a.is_none()), (mib(64), true));
}

#[test]
fn equal_requests_are_told_apart_by_what_their_lines_say() {
    let job = |lines: &[u32]| {
        let mut tape = Tape::new("", None);
        lines.iter().for_each(|line| _ = at(&mut tape, "step", *line, mib(8)));
        recording(tape.snapshot())
    };
    let say =
        |lines: &'static [&'static str]| move |line: &Line| Some(lines[line.line as usize - 10].to_owned());
    let (a, b) = (job(&[10, 11]), job(&[10, 11, 12]));
    let before = say(&["x = a.clone()", "y = x.relu()"]);
    let after = say(&["x = a.clone()", "z = x.clone()", "y = x.relu()"]);
    let comparison = compare(&a, &b, &before, &after);
    assert_eq!(comparison.first().unwrap().b.as_ref().unwrap().text.as_deref(), Some("z = x.clone()"));
    // A line that moved to another function says the same.
    let mut moved = Tape::new("", None);
    at(&mut moved, "step", 10, mib(8));
    at(&mut moved, "activate", 11, mib(8));
    let comparison = compare(&a, &recording(moved.snapshot()), &before, &before);
    assert!(comparison.is_same(), "{:?}", drawn(&comparison));
}

#[test]
fn files_in_another_folder_are_the_same_and_a_cell_that_was_run_again_is_too() {
    let job = |file: &str, other: &str| {
        let mut tape = Tape::new("", None);
        for (file, size) in [(file, 8), (other, 30)] {
            let frames = [(file, "step", 4)];
            tape.ask(mib(size), From { frames: &frames, ..From::default() }).unwrap();
        }
        tape
    };
    let is_same = |a: Tape, b: Tape| compared(a, b).is_same();
    assert!(is_same(
        job("/ci/1/pkg/train.py", "/ci/1/data/train.py"),
        job("/ci/2/pkg/train.py", "/ci/2/data/train.py")
    ));
    assert!(is_same(job("In[3]", "In[4]"), job("In[7]", "In[9]")));
    assert!(!is_same(job("/ci/train.py", "/ci/data.py"), job("/ci/train.py", "/ci/model.py")));
}

/// A job of three steps, recorded once a warm-up is over. A library makes a workspace when it is first used: in the
/// warm-up, if that says so, else in the job.
fn after(warm_up: impl Fn(&mut Tape) -> bool) -> Snapshot {
    let mut tape = Tape::new("", None);
    let has_workspace = warm_up(&mut tape);
    let warm = tape.events();
    at(&mut tape, "build", 3, mib(100));
    if !has_workspace {
        at(&mut tape, "step", 10, mib(9));
    }
    for _ in 0..3 {
        let hidden = at(&mut tape, "step", 10, mib(37));
        let logits = at(&mut tape, "step", 11, mib(64));
        tape.free(hidden);
        tape.free(logits);
    }
    tape.snapshot_from(warm)
}

#[test]
fn what_a_warm_up_leaves_makes_no_difference() {
    let nothing = |_: &mut Tape| false;
    let cache = |tape: &mut Tape| {
        let live: Vec<Live> = (1..9).map(|n| tape.get(mib(n * 7))).collect();
        live.into_iter().for_each(|live| tape.free(live));
        false
    };
    let another_model = |tape: &mut Tape| {
        tape.get(mib(300));
        let gone = tape.get(mib(30));
        tape.get(mib(9));
        tape.get(Bytes::kib(3));
        tape.free(gone);
        true
    };
    let holes = |tape: &mut Tape| {
        for _ in 0..20 {
            let first = tape.get(mib(6));
            tape.get(mib(2));
            tape.free(first);
        }
        tape.get(mib(9));
        true
    };
    let warm_ups: [&dyn Fn(&mut Tape) -> bool; 4] = [&nothing, &cache, &another_model, &holes];
    for a in warm_ups {
        for b in warm_ups {
            let comparison = compared_snapshots(after(a), after(b));
            assert!(comparison.is_same(), "{:?}", drawn(&comparison));
            let has_workspace =
                comparison.a.before_start == Bytes::ZERO && comparison.b.before_start == Bytes::ZERO;
            assert_eq!(comparison.a.requested, mib(if has_workspace { 210 } else { 201 }));
        }
    }
    let left = compared_snapshots(after(nothing), after(another_model));
    assert_eq!((left.a.before_start, left.b.before_start), (Bytes::ZERO, mib(309) + Bytes::kib(3)));
    assert_eq!((left.a.set_aside, left.b.set_aside), (mib(9), Bytes::ZERO));
}

#[test]
fn what_was_there_when_the_other_recording_began_is_set_aside() {
    let job = |from_the_start: bool, more: Option<Bytes>| {
        let mut tape = Tape::new("", None);
        at(&mut tape, "build", 3, mib(100));
        at(&mut tape, "build", 4, mib(50));
        let built = tape.events();
        if let Some(size) = more {
            at(&mut tape, "step", 9, size);
        }
        let logits = at(&mut tape, "step", 11, mib(64));
        tape.free(logits);
        tape.snapshot_from(if from_the_start { 0 } else { built })
    };
    let comparison = compared_snapshots(job(true, None), job(false, None));
    assert!(comparison.is_same(), "{:?}", drawn(&comparison));
    assert_eq!((comparison.a.set_aside, comparison.b.before_start), (mib(150), mib(150)));
    assert_eq!((comparison.a.requested, comparison.b.requested), (mib(64), mib(64)));
    // What is new is new, even if something as large was there at the start of both.
    let comparison = compared_snapshots(job(false, None), job(false, Some(mib(50))));
    assert_eq!(drawn(&comparison), ["train.py:9 step - -> 50", "train.py:11 step 64 -> 64"]);
    let comparison = compared_snapshots(job(true, None), job(false, Some(mib(50))));
    assert_eq!(drawn(&comparison), ["train.py:9 step - -> 50", "train.py:11 step 64 -> 64"]);
}

#[test]
fn a_request_that_failed_counts_at_its_line() {
    let job = |limit: Option<Bytes>, size: Bytes| {
        let mut tape = Tape::new("", limit);
        at(&mut tape, "build", 3, mib(100));
        let frames = [("/jobs/train.py", "step", 9)];
        tape.ask(size, From { frames: &frames, ..From::default() });
        tape
    };
    let comparison = compared(job(None, mib(64)), job(Some(mib(512)), mib(700)));
    assert_eq!(drawn(&comparison), ["train.py:9 step 64 -> 700", "train.py:3 build 100 -> 100"]);
    assert_eq!(comparison.requested().more(), mib(636));
    assert_eq!(comparison.doubts, [Doubt::RanOut { a: false, b: true }]);
}

#[test]
fn what_every_step_keeps_is_told_by_line() {
    let job = |keeps: bool| {
        let mut tape = Tape::new("", None);
        at(&mut tape, "build", 3, mib(16));
        for _ in 0..12 {
            let hidden = at(&mut tape, "step", 10, mib(37));
            let logits = at(&mut tape, "step", 11, mib(64));
            tape.free(hidden);
            if !keeps {
                tape.free(logits);
            }
        }
        tape
    };
    let comparison = compared(job(false), job(true));
    assert_eq!(comparison.kept.len(), 1);
    assert_eq!(comparison.kept[0].place().clone(), comparison.lines[0].place().clone());
    assert_eq!((comparison.kept[0].change().a, comparison.kept[0].change().b), (Bytes::ZERO, mib(64)));
    assert_eq!(drawn(&comparison)[0], "train.py:11 step 64 -> 768");
}

#[test]
fn every_recording_needs_what_it_needs_itself_and_its_lines_add_up() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut compared = 0;
    for folder in fs::read_dir(fixtures).unwrap() {
        let Ok(file) = File::open(folder.unwrap().path().join("snapshot.pickle.gz")) else { continue };
        for recording in Recording::all(read_snapshot(file).unwrap(), Known::default()) {
            let comparison = compare(&recording, &recording, &|_| None, &|_| None);
            assert!(comparison.is_same());
            let sum: Bytes = comparison.lines.iter().map(|line| line.change().a).sum();
            assert_eq!(sum, comparison.a.requested);
            let classes: Bytes = comparison.classes.iter().map(|class| class.change.a).sum();
            assert!(comparison.classes.is_empty() || classes == sum);
            if recording.program.initial_allocs.is_empty() && recording.program.failures.is_empty() {
                assert_eq!(comparison.a.requested, recording.peaks.requested.bytes);
            }
            compared += 1;
        }
    }
    assert!(compared >= 20, "{compared}");
}

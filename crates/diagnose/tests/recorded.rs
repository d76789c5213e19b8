//! What oomph's recorder adds makes the verdict richer: steps and phases, lines lent from step to step, classes of
//! memory, and the whole card.

use oomph_diagnose::classes::{ByClass, Class};
use oomph_diagnose::explain::{Explanation, explain};
use oomph_diagnose::phase::Phase;
use oomph_diagnose::place::Line;
use oomph_engine::recording::{Known, Recording};
use oomph_testkit::generate::{Ending, Job, window};
use oomph_trace::sidecar::StorageClass;
use oomph_trace::{Action, Bytes, Snapshot};

fn explained(snapshot: &Snapshot) -> Explanation {
    let recording = Recording::understand(snapshot.clone(), 0, Known::default());
    assert!(recording.is_exact(), "{:?}", recording.fidelity.divergence);
    explain(&recording, &|_| Vec::new())
}

fn failing(sampled: Option<u64>) -> Job {
    Job { events: 12_000, ending: Ending::OutOfMemory, sampled, ..Job::default() }
}

fn sum(classes: &ByClass) -> Bytes {
    classes.iter().map(|(_, bytes)| *bytes).sum()
}

fn of(classes: &ByClass, class: Class) -> Bytes {
    classes.iter().find(|(found, _)| *found == class).map_or(Bytes::ZERO, |(_, bytes)| *bytes)
}

#[test]
fn lines_lent_from_step_to_step_are_those_that_were_not_recorded() {
    for ragged in [false, true] {
        for seed in [1, 2, 3] {
            let job = |sampled| Job { ragged, seed, ..failing(sampled) };
            let (all, some) = (job(Some(1)).record(), job(Some(5)).record());
            let without = |snapshot: &Snapshot| {
                let events = snapshot.traces[0].events.iter();
                events.filter(|event| event.action == Action::Alloc && event.stack.is_none()).count()
            };
            assert_eq!(without(&all), 0);
            let (known, lent) = (explained(&all), explained(&some));
            assert_eq!(known.borrowed, []);
            // Nothing stays unknown but what a step that is unlike all others made.
            let count: usize = lent.borrowed.iter().map(|lender| lender.allocations).sum();
            assert_eq!(count, without(&some), "seed {seed}");
            assert!(
                count > 1000 && lent.borrowed.iter().all(|lender| lender.step % 5 == 1),
                "{:?}",
                lent.borrowed
            );
            assert_eq!(known.moment.holders, lent.moment.holders);
            assert_eq!(known.steps, lent.steps);
        }
    }
}

#[test]
fn the_step_and_the_phase_of_a_failure_are_as_marked() {
    let snapshot = failing(Some(5)).record();
    let found = explained(&snapshot);
    let steps = snapshot.sidecar.as_ref().unwrap().marks.iter().map(|mark| mark.number + 1).max();
    let oom = &found.ooms[0];
    assert_eq!((oom.step, oom.phase), (steps, Some(Phase::Forward)));
    assert_eq!(found.when, Some((steps, Phase::Forward)));
    // The stack that the recorder walked names the line, since the failing step recorded none.
    let line =
        Line { file: "/home/user/project/train.py".to_owned(), line: 61, function: "train_step".to_owned() };
    assert_eq!(oom.place.as_ref().map(|place| &place.line), Some(&line));
    // A window of the last events knows the same step.
    let short = explained(&window(snapshot, 3_000));
    assert_eq!((short.ooms[0].step, short.ooms[0].phase), (steps, Some(Phase::Forward)));
}

#[test]
fn without_marks_nothing_is_claimed() {
    let mut snapshot = failing(None).record();
    let plain = explained(&snapshot);
    assert_eq!((plain.when, &plain.moment.classes, &plain.peak_classes), (None, &None, &None));
    assert_eq!((&plain.beside, plain.ooms[0].phase), (&None, None));
    assert_eq!(plain.steps.numbers, (1..=plain.steps.starts.len() as u64).collect::<Vec<_>>());
    snapshot.sidecar = Some(oomph_trace::Sidecar::default());
    let empty = explained(&snapshot);
    assert_eq!((empty.when, empty.moment.classes, empty.borrowed), (None, None, Vec::new()));
    assert_eq!(empty.steps, plain.steps);
}

#[test]
fn classes_add_up_to_what_is_active_and_equal_what_the_job_owns() {
    for sampled in [1, 5] {
        let snapshot = failing(Some(sampled)).record();
        let found = explained(&snapshot);
        let classes = found.moment.classes.as_ref().unwrap();
        assert_eq!(sum(classes), found.moment.counters.active);
        let last = snapshot.sidecar.as_ref().unwrap().classes.last().unwrap().time_us;
        let owned = |class| -> Bytes {
            let entries = snapshot.sidecar.as_ref().unwrap().classes.iter();
            entries
                .filter(|entry| entry.time_us == last && entry.class == class)
                .map(|entry| entry.bytes)
                .sum()
        };
        assert_eq!(of(classes, Class::Weights), owned(StorageClass::Weights));
        assert_eq!(of(classes, Class::Optimizer), owned(StorageClass::Optimizer));
        assert_eq!(of(classes, Class::Gradients), Bytes::ZERO);
        let kept = of(classes, Class::Weights) + of(classes, Class::Optimizer);
        assert_eq!(of(classes, Class::Activations), found.moment.counters.requested - kept);
        assert_eq!(of(classes, Class::Other), Bytes::ZERO);
        assert_eq!(of(classes, Class::Rounding), found.moment.counters.slack());
    }
}

#[test]
fn classes_at_the_peak_add_up_too() {
    let snapshot = Job { ending: Ending::Complete, ..failing(Some(7)) }.record();
    let recording = Recording::understand(snapshot.clone(), 0, Known::default());
    let found = explain(&recording, &|_| Vec::new());
    assert_eq!(found.peak_classes, found.moment.classes);
    assert_eq!(sum(found.peak_classes.as_ref().unwrap()), recording.peaks.active.bytes);
    let failed = failing(Some(7)).record();
    let recording = Recording::understand(failed.clone(), 0, Known::default());
    let found = explain(&recording, &|_| Vec::new());
    assert_ne!(found.peak_classes, found.moment.classes);
    assert_eq!(sum(found.peak_classes.as_ref().unwrap()), recording.peaks.active.bytes);
}

#[test]
fn the_card_adds_up_to_its_size() {
    for (ending, limit) in
        [(Ending::OutOfMemory, None), (Ending::Complete, Some(Bytes::gib(60))), (Ending::Complete, None)]
    {
        let snapshot = Job { ending, limit, ..failing(Some(4)) }.record();
        let found = explained(&snapshot);
        let beside = found.beside.unwrap();
        let card = &snapshot.sidecar.as_ref().unwrap().devices[0];
        assert_eq!(Some(beside.total), card.total);
        let outside = beside.not_held + beside.beyond_limit + beside.context + beside.others.unwrap();
        assert_eq!(found.moment.counters.reserved + outside, beside.total);
        assert_eq!((beside.context, beside.others), (Bytes::mib(518), Some(Bytes::gib(1))));
        let within = card.limit.map(|limit| limit - found.moment.counters.reserved);
        assert_eq!(beside.not_held, within.unwrap_or(Bytes::gib(80) - found.moment.counters.reserved));
    }
}

#[test]
fn the_recorders_own_frames_are_nobodys_line() {
    let mut snapshot = failing(Some(5)).record();
    let sidecar = snapshot.sidecar.as_mut().unwrap();
    let mut inner = sidecar.ooms[0].frames[0].clone();
    inner.file = "/home/user/project/.oomph/hook-0.1.0/_oomph_recorder/torch_hooks.py".to_owned();
    sidecar.ooms[0].frames.insert(0, inner);
    let place = explained(&snapshot).ooms[0].place.clone().unwrap();
    assert_eq!((place.line.file_name(), place.line.line, place.within), ("train.py", 61, None));
}

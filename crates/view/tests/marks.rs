//! What is marked on the axis.

use std::sync::Arc;

use oomph_engine::recording::{Known, Recording};
use oomph_testkit::generate::Job;
use oomph_trace::{Annotation, Snapshot};
use oomph_view::lives;
use oomph_view::marks::{self, MarkKind};
use oomph_view::picture::{Picture, Subject};

use crate::recorded::pictured;

fn marks_of(snapshot: Snapshot) -> Vec<(MarkKind, u32, u32, String)> {
    let subject = Subject::of(Arc::new(Recording::understand(snapshot, 0, Known::default())));
    let picture = Picture::recorded(&subject, lives::recorded(&subject.recording));
    let (found, _) = marks::of(&subject.recording, &subject.phases, &picture.lives);
    found.into_iter().map(|mark| (mark.kind, mark.from, mark.to, mark.text)).collect()
}

#[test]
fn a_failure_is_marked_where_it_is() {
    let (subject, picture) = pictured("fragmentation-oom");
    let (found, left_out) = marks::of(&subject.recording, &subject.phases, &picture.lives);
    let failures: Vec<_> = found.iter().filter(|mark| mark.kind == MarkKind::Failure).collect();
    assert_eq!(failures.len(), 1);
    assert_eq!(
        (failures[0].from, failures[0].text.as_str()),
        (1623, "failed: 180.00 MiB more was asked for")
    );
    assert!(left_out.is_empty());
}

#[test]
fn scopes_and_remarks_of_the_program_are_marked() {
    let mut snapshot = Job { events: 3000, ..Job::default() }.record();
    snapshot.annotations.clear();
    let (name, said) = (snapshot.texts.intern("epoch 3"), snapshot.texts.intern("warm-up"));
    let device = snapshot.traces[0].device;
    let times: Vec<u64> = snapshot.traces[0].events.iter().map(|event| event.time_us).collect();
    let at = |index: usize| times.iter().position(|time| *time == times[index]).expect("it is one of them");
    for (starts, time_us) in [(true, times[100]), (false, times[900])] {
        snapshot.annotations.push(Annotation { name, starts, device, time_us });
    }
    snapshot.traces[0].events[50].metadata = Some(said);
    let found = marks_of(snapshot);
    let scope = (MarkKind::Scope, at(100) as u32, at(900) as u32, "epoch 3".to_owned());
    assert!(
        found.contains(&scope),
        "{:?}",
        found.iter().filter(|mark| mark.0 == MarkKind::Scope).collect::<Vec<_>>()
    );
    assert!(found.contains(&(MarkKind::Remark, 50, 51, "warm-up".to_owned())));
}

#[test]
fn steps_and_phases_are_marked_as_the_recorder_saw_them() {
    let found = marks_of(Job { events: 12_000, sampled: Some(1), ..Job::default() }.record());
    let of = |kind| found.iter().filter(move |mark| mark.0 == kind);
    assert_eq!(of(MarkKind::Step).next().map(|mark| mark.3.as_str()), Some("step 1"));
    let phases: Vec<&str> = of(MarkKind::Phase).map(|mark| mark.3.as_str()).take(4).collect();
    assert_eq!(phases, ["forward", "backward", "optimizer", "forward"]);
    // They follow each other without a gap.
    let ends: Vec<(u32, u32)> = of(MarkKind::Phase).map(|mark| (mark.1, mark.2)).collect();
    assert!(ends.windows(2).all(|pair| pair[0].1 == pair[1].0));
}

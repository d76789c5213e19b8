//! Lines that real recordings would have had to lend, had their stacks been sampled: they are the right ones.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::fs::File;
use std::path::PathBuf;

use oomph_diagnose::cause::Cause;
use oomph_diagnose::explain::{Explanation, explain};
use oomph_diagnose::phase::Phase;
use oomph_diagnose::place::Places;
use oomph_engine::recording::{Known, Recording};
use oomph_trace::sidecar::{Mark, MarkKind, Sidecar, Span};
use oomph_trace::{Action, EventIdx, Snapshot, read_snapshot};

fn fixture(name: &str) -> Snapshot {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
    read_snapshot(File::open(folder.join("snapshot.pickle.gz")).unwrap()).unwrap()
}

/// The marks that a recorder would have made: the optimizer's own scopes tell its steps, and the first request without
/// Python frames after them a backward pass, which runs in autograd's threads.
fn marks(snapshot: &Snapshot) -> Vec<Mark> {
    let events = &snapshot.traces[0].events;
    let mut marks = vec![Mark { time_us: events[0].time_us, kind: MarkKind::Step, number: 0 }];
    let (mut steps, mut begun) = (0, events[0].time_us);
    let scopes = snapshot.annotations.iter();
    for scope in scopes.filter(|scope| snapshot.texts.get(scope.name).starts_with("Optimizer.step")) {
        let mut mark = |time_us, kind| marks.push(Mark { time_us, kind, number: steps });
        if scope.starts {
            let mut forward =
                events.iter().filter(|event| event.action == Action::Alloc && event.time_us >= begun);
            let backward = forward.find(|event| event.stack.is_none()).map(|event| event.time_us);
            if let Some(time_us) = backward.filter(|time_us| *time_us < scope.time_us) {
                mark(time_us, MarkKind::Backward);
                mark(scope.time_us, MarkKind::BackwardEnd);
            }
            mark(scope.time_us, MarkKind::Optimizer);
        } else {
            mark(scope.time_us, MarkKind::OptimizerEnd);
            (steps, begun) = (steps + 1, scope.time_us);
            marks.push(Mark { time_us: begun, kind: MarkKind::Step, number: steps });
        }
    }
    marks
}

/// A recording, and the same as a recorder would have made it that records stacks in every n-th step.
fn both(name: &str, every: u64) -> (Snapshot, Snapshot) {
    let whole = fixture(name);
    let marks = marks(&whole);
    let starts: Vec<Mark> = marks.iter().filter(|mark| mark.kind == MarkKind::Step).copied().collect();
    let spans = starts.iter().enumerate().filter(|(_, mark)| mark.number % every == 1);
    let spans: Vec<Span> = spans
        .map(|(index, mark)| Span {
            from_us: mark.time_us,
            to_us: starts.get(index + 1).map(|next| next.time_us),
        })
        .collect();
    let mut sampled = whole.clone();
    for event in &mut sampled.traces[0].events {
        if !spans.iter().any(|span| span.holds(event.time_us)) {
            event.stack = None;
        }
    }
    sampled.sidecar = Some(Sidecar { marks, stacks: spans, ..Sidecar::default() });
    (whole, sampled)
}

/// Of the allocations that lost their stack: how many there are, how many were lent a line, and how many a wrong one.
fn lent(name: &str, every: u64) -> (usize, usize, usize) {
    let (whole, sampled) = both(name, every);
    let (known, unknown) = (
        Recording::understand(whole.clone(), 0, Known::default()),
        Recording::understand(sampled.clone(), 0, Known::default()),
    );
    let (mut truth, mut found) = (Places::new(&known), Places::new(&unknown));
    let (mut lost, mut got, mut wrong) = (0, 0, 0);
    for (index, event) in whole.traces[0].events.iter().enumerate() {
        let at = EventIdx(index as u32);
        let stripped = event.stack.is_some() && sampled.traces[0].events[index].stack.is_none();
        if event.action != Action::Alloc || !stripped {
            continue;
        }
        lost += 1;
        if found.stack(at).is_some() {
            got += 1;
            let (right, lent) = (truth.of(truth.stack(at)), found.of(found.stack(at)));
            wrong += usize::from(truth.get(right) != found.get(lent));
        }
    }
    (lost, got, wrong)
}

#[test]
fn no_line_that_is_lent_is_wrong() {
    // Stacks in every fourth step. What stays unknown is the first step, which loads the model, and steps unlike those
    // that were recorded: an evaluation, convolutions that chose another algorithm, another number of tokens.
    let cases = [
        ("gpt2-ragged", (4556, 3425)),
        ("gpt2-static", (3186, 2055)),
        ("grpo", (87780, 333)),
        ("leak-oom", (741, 653)),
        ("moe-pow2", (7598, 4248)),
        ("mt5-finetune", (10532, 7266)),
        ("resnet50-split64", (2343, 1550)),
        ("segmentation-tight", (2751, 0)),
        ("streams", (276, 261)),
        ("train-eval-tight", (5574, 2636)),
    ];
    for (name, (lost, got)) in cases {
        assert_eq!(lent(name, 4), (lost, got, 0), "{name}");
    }
}

#[test]
fn a_leak_is_found_at_the_same_lines() {
    let (whole, sampled) = both("leak-oom", 6);
    let explained = |snapshot: &Snapshot| {
        let recording = Recording::understand(snapshot.clone(), 0, Known::default());
        explain(&recording, &|_| Vec::new())
    };
    let (known, found) = (explained(&whole), explained(&sampled));
    let claims = |of: &Explanation| -> Vec<String> {
        let causes = of.findings.iter().filter(|finding| finding.cause.is_some());
        causes.map(|finding| format!("{} {}", finding.rule, finding.claim)).collect()
    };
    assert_eq!(claims(&found), claims(&known));
    assert_eq!(found.cause(), Some(Cause::Leak));
    assert_eq!(found.steps.growth.unwrap().lines, known.steps.growth.unwrap().lines);
    assert_eq!((found.ooms[0].step, found.ooms[0].phase), (known.ooms[0].step, Some(Phase::Optimizer)));
}

//! Lines for allocations that were recorded without: stacks are recorded in some steps only, to be cheap.
//!
//! A step does what the step before it did. So where a phase of one step and the same phase of another make the same
//! requests, the k-th of one was made by the line that made the k-th of the other. *The same requests* means:
//!
//! 1. as many of them, or for a phase that a failure or the end of the recording cut short, as many as there are;
//! 2. each on the same stream as its counterpart;
//! 3. sizes that agree: either they translate, one size of the one step always into one of the other and back (equal
//!    sizes do, and so do those of two sequence lengths), or there are at least eight and each is within a factor of
//!    four of its counterpart (shapes that vary independently, such as the tokens of experts).
//!
//! The nearest step that fits lends. A phase that fits none keeps its unknown lines.

use std::collections::BTreeMap;

use oomph_engine::program::{AllocId, OpKind, Origin};
use oomph_engine::recording::Recording;
use oomph_engine::torch::block::StreamIdx;
use oomph_trace::sidecar::Span;
use oomph_trace::{Bytes, EventIdx, StackId};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;

use crate::phase::Phase;
use crate::phases::Phases;

/// How many steps are asked, the nearest first.
const ASKED: usize = 8;
/// This many sizes of the same order do not agree by chance.
const MANY: usize = 8;
/// Sizes within this factor are of the same order.
const FACTOR: u64 = 4;

/// Stacks lent to requests that were made while none were recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loans {
    /// By event; empty where nothing was lent.
    stacks: Vec<Option<StackId>>,
    /// The steps that lent, by number, and to how many allocations.
    pub from: Vec<Lender>,
}

/// A step whose lines stand for those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lender {
    /// The step.
    pub step: u64,
    /// For how many allocations of other steps.
    pub allocations: usize,
}

impl Loans {
    /// Finds a stack for each request that was made while none were recorded. Nothing without marks and spans.
    pub(crate) fn find(recording: &Recording, phases: &Phases) -> Loans {
        let sidecar = recording.snapshot.sidecar.as_ref();
        let Some(sidecar) = sidecar.filter(|sidecar| !sidecar.stacks.is_empty()) else {
            return Loans::default();
        };
        let events = &recording.trace().events;
        let spans = Spans::new(&sidecar.stacks);
        let is_recorded = |request: &Request| spans.hold(events[request.event.index()].time_us);
        let lends = |passage: &Passage| passage.requests.iter().all(is_recorded);
        let lacks = |passage: &Passage| {
            let mut all = passage.requests.iter().chain(&passage.failed);
            all.all(|request| !is_recorded(request) && events[request.event.index()].stack.is_none())
        };
        let mut stacks = vec![None; events.len()];
        let mut from: BTreeMap<u64, usize> = BTreeMap::new();
        for pair in pairs(&passages(recording, phases), lends, lacks) {
            let Some(stack) = events[pair.lender.event.index()].stack else { continue };
            stacks[pair.borrower.event.index()] = Some(stack);
            if pair.borrower.alloc.is_some() {
                *from.entry(pair.step).or_default() += 1;
            }
        }
        if from.is_empty() {
            return Loans::default();
        }
        let from = from.into_iter().map(|(step, allocations)| Lender { step, allocations });
        Loans { stacks, from: from.collect() }
    }

    /// The stack lent to an event.
    pub fn stack(&self, event: EventIdx) -> Option<StackId> {
        self.stacks.get(event.index()).copied().flatten()
    }
}

/// Spans of time, joined where they overlap, so that a moment is found quickly.
pub(crate) struct Spans(Vec<(u64, u64)>);

impl Spans {
    pub(crate) fn new(spans: &[Span]) -> Spans {
        let mut ends: Vec<(u64, u64)> =
            spans.iter().map(|span| (span.from_us, span.to_us.unwrap_or(u64::MAX))).collect();
        ends.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (from, to) in ends {
            match joined.last_mut().filter(|last| from <= last.1) {
                Some(last) => last.1 = last.1.max(to),
                None => joined.push((from, to)),
            }
        }
        Spans(joined)
    }

    pub(crate) fn hold(&self, time_us: u64) -> bool {
        let begun = self.0.partition_point(|(from, _)| *from <= time_us);
        begun.checked_sub(1).is_some_and(|index| time_us < self.0[index].1)
    }
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    event: EventIdx,
    /// What became of it, if it was granted.
    pub(crate) alloc: Option<AllocId>,
    size: Bytes,
    stream: StreamIdx,
}

/// The requests of one phase of one step, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    step: u64,
    phase: Phase,
    /// Which of the step's phases of this kind, from 0.
    nth: usize,
    /// Those that were granted, up to the first failure.
    pub(crate) requests: Vec<Request>,
    /// The first that was not.
    failed: Option<Request>,
    /// Whether its beginning is in the recording.
    begins: bool,
    /// Whether its end is, without a failure before.
    ends: bool,
}

/// Two requests that are the same, in two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) borrower: Request,
    pub(crate) lender: Request,
    /// The lender's step.
    step: u64,
}

/// The passages of a recording, one for each stretch.
pub(crate) fn passages(recording: &Recording, phases: &Phases) -> Vec<Passage> {
    let program = &recording.program;
    let stretches = phases.stretches();
    let mut nth: FxHashMap<(u64, Phase), usize> = FxHashMap::default();
    let mut passages = Vec::with_capacity(stretches.len());
    for (index, stretch) in stretches.iter().enumerate() {
        let next = stretches.get(index + 1);
        let count = nth.entry((stretch.step, stretch.phase)).or_default();
        let mut passage = Passage {
            step: stretch.step,
            phase: stretch.phase,
            nth: *count,
            requests: Vec::new(),
            failed: None,
            begins: stretch.from > EventIdx(0) || program.origin == Origin::Complete,
            ends: next.is_some(),
        };
        *count += 1;
        let first = program.ops.partition_point(|op| op.event < stretch.from);
        for op in program.ops[first..].iter().take_while(|op| next.is_none_or(|next| op.event < next.from)) {
            let Some(asked) = program.request(*op) else { continue };
            let alloc = if let OpKind::Alloc(id) = op.kind { Some(id) } else { None };
            let request = Request { event: op.event, alloc, size: asked.size, stream: asked.stream };
            if alloc.is_none() {
                (passage.failed, passage.ends) = (Some(request), false);
                break;
            }
            passage.requests.push(request);
        }
        passages.push(passage);
    }
    passages
}

/// Each request of a passage that `lacks` something, with its counterpart in the nearest passage that `lends`.
pub(crate) fn pairs(
    passages: &[Passage],
    lends: impl Fn(&Passage) -> bool,
    lacks: impl Fn(&Passage) -> bool,
) -> Vec<Pair> {
    let is_whole = |passage: &&Passage| passage.begins && passage.ends && !passage.requests.is_empty();
    let mut lenders: FxHashMap<(Phase, usize), Vec<&Passage>> = FxHashMap::default();
    for passage in passages.iter().filter(is_whole).filter(|passage| lends(passage)) {
        lenders.entry((passage.phase, passage.nth)).or_default().push(passage);
    }
    lenders.values_mut().for_each(|passages| passages.sort_by_key(|passage| passage.step));
    let mut pairs = Vec::new();
    for passage in passages.iter().filter(|passage| passage.begins && lacks(passage)) {
        let candidates = lenders.get(&(passage.phase, passage.nth)).map_or(&[][..], Vec::as_slice);
        let mut near = nearest(candidates, passage.step).take(ASKED);
        let Some(lender) = near.find(|lender| agree(passage, lender)) else { continue };
        let next = lender.requests.get(passage.requests.len());
        let failed =
            passage.failed.filter(|failed| next.is_some_and(|next| of_one_order(failed.size, next.size)));
        let requests = passage.requests.iter().chain(&failed).zip(&lender.requests);
        pairs.extend(requests.map(|(borrower, lent)| Pair {
            borrower: *borrower,
            lender: *lent,
            step: lender.step,
        }));
    }
    pairs
}

/// The passages by their distance from `step`, of two equally near ones the earlier. They are in order of their steps.
fn nearest<'a>(passages: &'a [&'a Passage], step: u64) -> impl Iterator<Item = &'a Passage> {
    let (before, after) = passages.split_at(passages.partition_point(|passage| passage.step < step));
    let (mut before, mut after) = (before.iter().rev().copied().peekable(), after.iter().copied().peekable());
    std::iter::from_fn(move || match (before.peek(), after.peek()) {
        (Some(below), Some(above)) if step.abs_diff(above.step) < step.abs_diff(below.step) => after.next(),
        (Some(_), _) => before.next(),
        (None, _) => after.next(),
    })
}

/// Whether the two make the same requests.
fn agree(passage: &Passage, lender: &Passage) -> bool {
    let (asked, lent) = (&passage.requests, &lender.requests);
    let as_many = if passage.ends { asked.len() == lent.len() } else { asked.len() <= lent.len() };
    let both = || asked.iter().zip(lent);
    as_many
        && both().all(|(a, b)| a.stream == b.stream)
        && (translate(both().map(|(a, b)| (a.size, b.size)))
            || asked.len() >= MANY && both().all(|(a, b)| of_one_order(a.size, b.size)))
}

/// Whether each size of one step stands for one of the other, and the other way around.
fn translate(sizes: impl Iterator<Item = (Bytes, Bytes)>) -> bool {
    let (mut there, mut back) = (FxHashMap::default(), FxHashMap::default());
    for (a, b) in sizes {
        if *there.entry(a).or_insert(b) != b || *back.entry(b).or_insert(a) != a {
            return false;
        }
    }
    true
}

fn of_one_order(a: Bytes, b: Bytes) -> bool {
    let (low, high) = (a.min(b).0.max(512), a.max(b).0.max(512));
    high / FACTOR <= low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(event: EventIdx, mib: u64) -> Request {
        Request { event, alloc: None, size: Bytes::mib(mib), stream: StreamIdx(0) }
    }

    /// Passages of a forward pass, one a step; the requests are numbered through.
    fn steps(sizes: &[&[u64]]) -> Vec<Passage> {
        let mut event = 0;
        let mut number = || {
            event += 1;
            EventIdx(event - 1)
        };
        let runs = sizes.iter().enumerate().map(|(step, sizes)| Passage {
            step: step as u64 + 1,
            phase: Phase::Forward,
            nth: 0,
            requests: sizes.iter().map(|size| request(number(), *size)).collect(),
            failed: None,
            begins: true,
            ends: true,
        });
        runs.collect()
    }

    /// Which request borrows from which, where the steps of these numbers lend and all others lack.
    fn drawn(runs: &[Passage], lending: &[u64]) -> String {
        let lends = |run: &Passage| lending.contains(&run.step);
        let found = pairs(runs, lends, |run| !lends(run)).into_iter();
        let found = found.map(|pair| format!("{}<{}", pair.borrower.event.0, pair.lender.event.0));
        found.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn equal_steps_borrow_from_the_nearest_and_of_two_from_the_earlier() {
        let runs = steps(&[&[1, 2], &[1, 2], &[1, 2], &[1, 2]]);
        assert_eq!(drawn(&runs, &[1]), "2<0 3<1 4<0 5<1 6<0 7<1");
        assert_eq!(drawn(&runs, &[1, 3]), "2<0 3<1 6<4 7<5");
        assert_eq!(drawn(&runs, &[]), "");
    }

    #[test]
    fn a_step_that_asks_another_number_of_times_borrows_nothing_from_it() {
        let runs = steps(&[&[1, 2], &[1, 2, 3], &[1, 2, 3]]);
        assert_eq!(drawn(&runs, &[1]), "");
        assert_eq!(drawn(&runs, &[1, 3]), "2<5 3<6 4<7");
    }

    #[test]
    fn sizes_that_grow_together_agree_and_sizes_that_change_places_do_not() {
        // Another sequence length: linear and quadratic parts, and what does not depend on it.
        assert_eq!(drawn(&steps(&[&[5, 8, 64, 8, 5], &[5, 16, 256, 16, 5]]), &[1]), "5<0 6<1 7<2 8<3 9<4");
        assert_eq!(drawn(&steps(&[&[5, 8, 5], &[5, 8, 8]]), &[1]), "");
        assert_eq!(drawn(&steps(&[&[5, 5], &[5, 8]]), &[1]), "");
    }

    #[test]
    fn many_sizes_of_the_same_order_agree() {
        let (a, b) = ([8, 9, 9, 12, 8, 7, 10, 11], [8, 12, 8, 8, 9, 9, 10, 7]);
        assert!(drawn(&steps(&[&a, &b]), &[1]).starts_with("8<0 9<1"));
        assert_eq!(drawn(&steps(&[&a[..7], &b[..7]]), &[1]), "");
        let wide = [8, 12, 8, 8, 9, 9, 50, 7];
        assert_eq!(drawn(&steps(&[&a, &wide]), &[1]), "");
    }

    #[test]
    fn a_step_cut_short_borrows_as_far_as_it_goes_and_lends_nothing() {
        let mut runs = steps(&[&[1, 2, 3, 4], &[1, 2]]);
        assert_eq!(drawn(&runs, &[1]), "");
        runs[1].ends = false;
        assert_eq!(drawn(&runs, &[1]), "4<0 5<1");
        let at = |size: u64| Some(request(EventIdx(6), size));
        runs[1].failed = at(4);
        assert_eq!(drawn(&runs, &[1]), "4<0 5<1 6<2");
        runs[1].failed = at(400);
        assert_eq!(drawn(&runs, &[1]), "4<0 5<1");
        assert_eq!(drawn(&runs, &[2]), "");
        runs[0].begins = false;
        assert_eq!(drawn(&runs, &[1]), "");
    }

    #[test]
    fn spans_end_before_their_end_and_may_overlap() {
        let span = |from_us, to_us| Span { from_us, to_us };
        let spans = Spans::new(&[span(50, None), span(10, Some(20)), span(15, Some(30))]);
        let held: Vec<u64> =
            [9, 10, 19, 20, 29, 30, 49, 50, 99].into_iter().filter(|t| spans.hold(*t)).collect();
        assert_eq!(held, [10, 19, 20, 29, 50, 99]);
    }

    #[test]
    fn another_stream_is_another_request() {
        let mut runs = steps(&[&[1, 2], &[1, 2]]);
        runs[1].requests[1].stream = StreamIdx(7);
        assert_eq!(drawn(&runs, &[1]), "");
    }
}

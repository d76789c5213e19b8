//! What grows from one iteration of a job to the next, and what outlives the iteration that made it.

mod leftovers;
mod kept;

use std::ops::Range;

use oomph_engine::recording::Recording;
use oomph_trace::{Bytes, EventIdx};
use schemars::JsonSchema;
use serde::Serialize;

use crate::iterations;
use crate::phase::Phase;
use crate::phases::Phases;
use crate::place::{Place, PlaceId, Places};

pub use kept::{Beat, Kept, kept};
pub use leftovers::Leftovers;

/// The iterations of a job and the memory in use at the start of each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// Where each begins.
    pub starts: Vec<EventIdx>,
    /// What each is called: counted from 1, or as the recorder counted.
    pub numbers: Vec<u64>,
    /// Whether they were found within one of the recorder's steps: a loop of the program's, not its training.
    pub is_within_step: bool,
    /// The steps and phases that the recorder marked; none where it did not.
    pub phases: Phases,
    /// Bytes asked for and in use there.
    pub baseline: Vec<Bytes>,
    /// What grew, if anything did.
    pub growth: Option<Growth>,
    /// What grew of that which each iteration hands to the next, and which does not live longer: a tensor that is
    /// replaced by a longer one.
    pub replaced: Option<Growth>,
    /// What grew, as far as it is results of forward passes.
    pub leftovers: Option<Leftovers>,
}

impl Steps {
    /// Which iteration is under way at `event`, counted from 1; `None` before the first.
    pub fn under_way(&self, event: EventIdx) -> Option<usize> {
        let begun = self.starts.partition_point(|start| *start <= event);
        (begun > 0).then_some(begun)
    }

    /// Where the iteration under way at `event` began; `None` before the first.
    pub(crate) fn began(&self, event: EventIdx) -> Option<EventIdx> {
        self.under_way(event).map(|nth| self.starts[nth - 1])
    }

    /// What the iteration of this place in the list, counted from 1, is called.
    pub fn number(&self, nth: usize) -> u64 {
        nth.checked_sub(1).and_then(|index| self.numbers.get(index).copied()).unwrap_or(nth as u64)
    }

    /// What the step under way at `event` is called: as the recorder marked it, else as it was found.
    pub fn called(&self, event: EventIdx) -> Option<u64> {
        self.phases.step_at(event).or_else(|| self.under_way(event).map(|nth| self.number(nth)))
    }
}

/// A step that is this much longer than all before it is not one step: evaluation, or work between the epochs.
const OUTGROWN: u32 = 4;

/// Where iterations begin, what they are called, and whether they are a loop within a marked step. Marked steps are known.
/// Within the last of them what recurs is looked for where it is an evaluation, or much longer than all before it; in a
/// program that marks none, over all of it.
fn iterations(recording: &Recording, phases: &Phases) -> (Vec<EventIdx>, Vec<u64>, bool) {
    let end = recording.program.failures.first().map(|failed| failed.event);
    let end = end.unwrap_or(EventIdx(recording.trace().events.len() as u32));
    let marks = recording.snapshot.sidecar.as_ref().is_some_and(|sidecar| !sidecar.marks.is_empty());
    let marked: Vec<(EventIdx, u64)> = if phases.trains() { phases.step_starts() } else { Vec::new() };
    let marked: Vec<(EventIdx, u64)> = marked.into_iter().filter(|(start, _)| *start <= end).collect();
    let lengths = marked.windows(2).map(|pair| pair[1].0.0 - pair[0].0.0);
    let last = marked.last().map_or(EventIdx(0), |(start, _)| *start);
    let is_long = lengths.max().is_some_and(|longest| end.0 - last.0 > longest.saturating_mul(OUTGROWN));
    let evaluation = phases.at(end).filter(|stretch| stretch.phase == Phase::Evaluation);
    let passes = phases.backward_ends(last, end);
    let has_passes = passes.len() >= iterations::FEWEST;
    let found = match evaluation {
        Some(stretch) => iterations::loops(recording, stretch.from..end),
        // The recorder marks steps: before the first of them what recurs is layers, unless the program's own loop shows.
        None if marked.is_empty() && marks => iterations::loops(recording, EventIdx(0)..end),
        None if marked.is_empty() => iterations::starts(recording, EventIdx(0)..end),
        None if is_long || marked.len() < iterations::FEWEST => {
            // An optimizer that does not come: backward passes are the beat, or what recurs.
            let in_pass = phases.at(end).is_some_and(|stretch| stretch.phase != Phase::Forward);
            match (has_passes, in_pass) {
                (true, _) => passes,
                (false, true) => Vec::new(),
                (false, false) => iterations::loops(recording, last..end),
            }
        }
        None => Vec::new(),
    };
    if found.is_empty() {
        let (starts, numbers) = marked.into_iter().unzip();
        return (starts, numbers, false);
    }
    let numbers = (1..=found.len() as u64).collect();
    (found, numbers, !marked.is_empty() && !has_passes)
}

/// Memory that grows from step to step.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Growth {
    /// Bytes with every step, once it has settled.
    pub per_step: Bytes,
    /// Over how many steps.
    #[serde(skip)]
    pub steps: usize,
    /// The lines whose memory grows, most first.
    pub lines: Vec<GrowingLine>,
}

/// A line whose memory grows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GrowingLine {
    /// By how much.
    pub bytes_per_step: Bytes,
    /// The line; null: no stack.
    pub place: Option<Place>,
}

/// Finds the iterations of a recording and whether its memory grows over them.
pub fn find(recording: &Recording, places: &mut Places<'_>) -> Steps {
    let phases = Phases::of(recording);
    let (starts, numbers, is_within_step) = iterations(recording, &phases);
    if starts.len() < iterations::FEWEST {
        return Steps { starts, numbers, is_within_step, phases, ..Steps::default() };
    }
    // The first steps fill caches and optimizer state, so they are left out. Before a failure any growth is of interest.
    let half = if starts.len() < 12 { 2 } else { starts.len() / 2 };
    let mut grown = grown(recording, &starts, half, places);
    if grown.kept.is_none() && half > 2 && !recording.program.failures.is_empty() {
        grown.kept = self::grown(recording, &starts, 2, places).kept;
    }
    let leftovers = grown.kept.as_ref().and_then(|_| leftovers::find(recording, &starts, places, &phases));
    let Grown { baseline, kept: growth, replaced } = grown;
    Steps { starts, numbers, is_within_step, phases, baseline, growth, replaced, leftovers }
}

/// What was in use at the start of each iteration, and what grew from the one of a given place on.
struct Grown {
    baseline: Vec<Bytes>,
    /// Of what was made before the iteration that has just ended: the last batch and its results are not kept.
    kept: Option<Growth>,
    /// Of what the iteration that has just ended made.
    replaced: Option<Growth>,
}

fn grown(recording: &Recording, starts: &[EventIdx], settled: usize, places: &mut Places<'_>) -> Grown {
    let last = starts.len() - 1;
    let first_after = |event: EventIdx| starts.partition_point(|start| *start <= event);
    let mut all = Ledger::new(starts.len());
    let mut kept = Ledger::new(starts.len());
    let mut fresh = Ledger::new(starts.len());
    for (born, _, allocation) in recording.program.births() {
        let lives = first_after(born)..allocation.died().map_or(starts.len(), first_after);
        if lives.start > last {
            break;
        }
        let place = places.of(places.stack(born));
        all.note(allocation.size, lives.clone());
        let aged = (lives.start + 1).min(lives.end)..lives.end;
        fresh.note_at(allocation.size, lives.start..aged.start, place, [settled, last]);
        kept.note_at(allocation.size, aged, place, [settled, last]);
    }
    let peak = recording.peaks.requested.bytes;
    Grown {
        baseline: sums(&all.changes[..starts.len()]),
        kept: kept.growth(settled, places, peak),
        replaced: fresh.growth(settled, places, peak),
    }
}

/// What is there at the start of each iteration.
struct Ledger {
    /// What comes and what goes before each start, since the one before it.
    changes: Vec<(Bytes, Bytes)>,
    /// What each place has of it once it has settled, and at last.
    by_place: Vec<(Bytes, Bytes)>,
}

impl Ledger {
    fn new(starts: usize) -> Ledger {
        Ledger { changes: vec![Default::default(); starts + 1], by_place: Vec::new() }
    }

    /// Counts something that is there at these starts.
    fn note(&mut self, size: Bytes, lives: Range<usize>) {
        if !lives.is_empty() {
            self.changes[lives.start].0 += size;
            self.changes[lives.end].1 += size;
        }
    }

    /// The same, and by whom it was made, at two of the starts.
    fn note_at(&mut self, size: Bytes, lives: Range<usize>, place: PlaceId, [settled, last]: [usize; 2]) {
        self.note(size, lives.clone());
        let place = place.0 as usize;
        self.by_place.resize(self.by_place.len().max(place + 1), Default::default());
        if lives.contains(&settled) {
            self.by_place[place].0 += size;
        }
        if lives.contains(&last) {
            self.by_place[place].1 += size;
        }
    }

    fn growth(&self, settled: usize, places: &Places<'_>, peak: Bytes) -> Option<Growth> {
        let there = sums(&self.changes[..self.changes.len() - 1]);
        growth(&there[settled..], &self.by_place, places, peak)
    }
}

/// What is there after each of the changes, by what is born and what dies with each.
fn sums(changes: &[(Bytes, Bytes)]) -> Vec<Bytes> {
    let mut total = Bytes::ZERO;
    let after = changes.iter().map(|(born, died)| {
        // Sums of absurd sizes saturate, so they may fall short of their parts.
        total = (total + *born).saturating_sub(*died);
        total
    });
    after.collect()
}

/// Growth hardly ever falls, ends above all it was at first, and amounts to something.
fn growth(
    baseline: &[Bytes],
    by_place: &[(Bytes, Bytes)],
    places: &Places<'_>,
    peak: Bytes,
) -> Option<Growth> {
    let steps = baseline.len() - 1;
    let falls = baseline.windows(2).filter(|pair| pair[1] < pair[0]).count();
    let total = baseline[steps].saturating_sub(baseline[0]);
    let third = baseline.len().div_ceil(3);
    let (early, late) = (baseline[..third].iter().max(), baseline[baseline.len() - third..].iter().min());
    let risen = late.zip(early).map_or(Bytes::ZERO, |(late, early)| late.saturating_sub(*early));
    // What comes and goes may hide a rise, unless it is large.
    let is_steady = falls * 5 <= steps || risen.share_of(peak) > 0.05;
    if steps < 2 || !is_steady || late <= early || total.share_of(peak) < 0.01 || total < Bytes::mib(1) {
        return None;
    }
    let mut lines: Vec<GrowingLine> = (0..)
        .map(PlaceId)
        .zip(by_place)
        .map(|(place, (before, after))| {
            let grown = after.saturating_sub(*before);
            GrowingLine { bytes_per_step: Bytes(grown.0 / steps as u64), place: places.get(place).cloned() }
        })
        .filter(|line| line.bytes_per_step > Bytes::ZERO)
        .collect();
    lines.sort_by(|a, b| b.bytes_per_step.cmp(&a.bytes_per_step).then_with(|| a.place.cmp(&b.place)));
    Some(Growth { per_step: Bytes(total.0 / steps as u64), steps, lines })
}

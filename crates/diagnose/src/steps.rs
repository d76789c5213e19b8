//! What grows from one iteration of a job to the next, and what outlives the iteration that made it.

mod kept;

use oomph_engine::program::OpKind;
use oomph_engine::recording::Recording;
use oomph_trace::{Bytes, EventIdx};

use crate::iterations;
use crate::phases::Phases;
use crate::place::{Place, PlaceId, Places};

pub use kept::Kept;

/// The iterations of a job and the memory in use at the start of each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// Where each begins.
    pub starts: Vec<EventIdx>,
    /// What each is called: counted from 1, or as the recorder counted.
    pub numbers: Vec<u64>,
    /// The steps and phases that the recorder marked; none where it did not.
    pub phases: Phases,
    /// Bytes asked for and in use there.
    pub baseline: Vec<Bytes>,
    /// What grew, if anything did.
    pub growth: Option<Growth>,
    /// What grew, as far as it is results of forward passes.
    pub kept: Option<Kept>,
}

impl Steps {
    /// Which iteration is under way at `event`, counted from 1; `None` before the first.
    pub fn under_way(&self, event: EventIdx) -> Option<usize> {
        let begun = self.starts.partition_point(|start| *start <= event);
        (begun > 0).then_some(begun)
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

/// Where iterations begin, and what they are called. Marked steps are known; but where no optimizer ran for long, they
/// show nothing, and what recurs between the marks is looked for.
fn iterations(recording: &Recording, phases: &Phases) -> (Vec<EventIdx>, Vec<u64>) {
    let marked = if phases.trains() { phases.step_starts() } else { Vec::new() };
    let lengths = marked.windows(2).map(|pair| pair[1].0.0 - pair[0].0.0);
    let last = marked.last().map_or(0, |(start, _)| recording.trace().events.len() as u32 - start.0);
    let steady = lengths.max().is_some_and(|longest| last <= longest.saturating_mul(OUTGROWN));
    if steady {
        return marked.into_iter().unzip();
    }
    let starts = iterations::starts(recording);
    if starts.is_empty() {
        return marked.into_iter().unzip();
    }
    let numbers = (1..=starts.len() as u64).collect();
    (starts, numbers)
}

/// Memory that grows from iteration to iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// Bytes per iteration, once it has settled.
    pub per_step: Bytes,
    /// Over how many iterations.
    pub steps: usize,
    /// The lines whose memory grew, most first, with the bytes per iteration.
    pub lines: Vec<(Option<Place>, Bytes)>,
}

/// Finds the iterations of a recording and whether its memory grows over them.
pub fn find(recording: &Recording, places: &mut Places<'_>) -> Steps {
    let phases = Phases::of(recording);
    let (starts, numbers) = iterations(recording, &phases);
    if starts.len() < iterations::FEWEST {
        return Steps { starts, numbers, phases, ..Steps::default() };
    }
    // The first steps fill caches and optimizer state, which is no trend.
    let settled = if starts.len() < 12 { 2.min(starts.len() - 3) } else { starts.len() / 2 };
    let program = &recording.program;
    let nobody = (Places::UNRECORDED, Bytes::ZERO);
    let mut owners: Vec<(PlaceId, Bytes)> = vec![nobody; program.allocs as usize];
    let mut by_place: Vec<Bytes> = Vec::new();
    let mut total = Bytes::ZERO;
    let (mut baseline, mut at_settled) = (Vec::with_capacity(starts.len()), Vec::new());
    for op in &program.ops {
        if starts.get(baseline.len()).is_some_and(|start| *start <= op.event) {
            if baseline.len() == settled {
                at_settled.clone_from(&by_place);
            }
            baseline.push(total);
            if baseline.len() == starts.len() {
                break;
            }
        }
        match op.kind {
            OpKind::Alloc => {
                let place = places.of(places.stack(op.event));
                if by_place.len() <= place.0 as usize {
                    by_place.resize(place.0 as usize + 1, Bytes::ZERO);
                }
                by_place[place.0 as usize] += op.size;
                total += op.size;
                owners[op.alloc.0 as usize] = (place, op.size);
            }
            OpKind::Free | OpKind::Complete => {
                let (place, size) = std::mem::replace(&mut owners[op.alloc.0 as usize], nobody);
                if size > Bytes::ZERO {
                    // Sums of absurd sizes saturate, so they may fall short of their parts.
                    by_place[place.0 as usize] = by_place[place.0 as usize].saturating_sub(size);
                    total = total.saturating_sub(size);
                }
            }
            OpKind::FreeLater
            | OpKind::AllocFailed
            | OpKind::EmptyCache
            | OpKind::Abandon
            | OpKind::EmptyPool => {}
        }
    }
    let growth =
        growth(&baseline[settled..], &at_settled, &by_place, places, recording.peaks.requested.bytes);
    let kept = growth.as_ref().and_then(|_| kept::find(recording, &starts, places, &phases));
    Steps { starts, numbers, phases, baseline, growth, kept }
}

/// Growth hardly ever falls, ends above all it was at first, and amounts to something.
fn growth(
    baseline: &[Bytes],
    before: &[Bytes],
    after: &[Bytes],
    places: &Places<'_>,
    peak: Bytes,
) -> Option<Growth> {
    let steps = baseline.len() - 1;
    let falls = baseline.windows(2).filter(|pair| pair[1] < pair[0]).count();
    let total = baseline[steps].saturating_sub(baseline[0]);
    let third = baseline.len().div_ceil(3);
    let (early, late) = (baseline[..third].iter().max(), baseline[baseline.len() - third..].iter().min());
    if steps < 2 || falls * 5 > steps || late <= early || total.share_of(peak) < 0.01 || total < Bytes::mib(1)
    {
        return None;
    }
    let mut lines: Vec<(Option<Place>, Bytes)> = after
        .iter()
        .enumerate()
        .map(|(place, bytes)| {
            let grown = bytes.saturating_sub(before.get(place).copied().unwrap_or_default());
            (places.get(PlaceId(place as u32)).cloned(), Bytes(grown.0 / steps as u64))
        })
        .filter(|(_, grown)| *grown > Bytes::ZERO)
        .collect();
    lines.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Some(Growth { per_step: Bytes(total.0 / steps as u64), steps, lines })
}

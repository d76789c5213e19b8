//! What the step under way needs in all: not only what it had asked for when it failed.

use oomph_engine::program::Change;
use oomph_trace::sidecar::Keepers;
use oomph_trace::{Bytes, EventIdx};

use super::census::{Alive, sum};
use crate::classes::Class;
use crate::oom::Oom;
use crate::phase::Phase;
use crate::rules::Evidence;

/// How many past steps are compared, the last ones.
const COMPARED: usize = 12;

/// Steps within this factor are alike.
const ALIKE: f64 = 1.3;

/// What the step under way needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Need {
    /// In use at its peak, as far as it can be foreseen; at least what was in use and the request.
    pub(super) total: Bytes,
    /// Of that, gradients that were still to come.
    pub(super) gradients: Bytes,
    /// Of that, state of optimizers that was still to come.
    pub(super) state: Bytes,
    /// Whether no update had been made yet.
    pub(super) is_first: bool,
    /// Whether the whole step is known, by one before it that is like it.
    pub(super) is_foreseen: bool,
    /// How much larger this step's requests are than those of the past step that is most like it; 1 where none is.
    pub(super) growth: f64,
    /// By how much each step needs more than the one before it; nothing where that is not so.
    pub(super) rise: Bytes,
}

/// The need of the step in which a request failed.
///
/// `needed`: what was in use and the request.
pub(super) fn of(
    evidence: &Evidence<'_>,
    oom: &Oom,
    needed: Bytes,
    alive: &[Alive],
    keepers: Option<&Keepers>,
) -> Need {
    let phases = &evidence.steps.phases;
    let mut need = Need { total: needed, growth: 1.0, ..Need::default() };
    if !phases.trains() && keepers.is_none_or(|keepers| keepers.optimizers.is_empty()) {
        return need;
    }
    need.is_first = phases.step_at(oom.event).is_none_or(|step| step <= 1);
    if need.is_first {
        let of = |class| sum(alive.iter().filter(|alive| alive.class == class));
        let trained = keepers.and_then(|keepers| keepers.trained).unwrap_or_else(|| of(Class::Weights));
        let to_come = |keepers: &Keepers| {
            keepers.optimizers.iter().map(|one| one.whole.saturating_sub(one.state)).sum()
        };
        need.state = keepers.map_or(Bytes::ZERO, to_come);
        if oom.phase == Some(Phase::Optimizer) {
            // What the request itself is for is part of what was to come.
            let asked = needed.saturating_sub(evidence.moment.counters.active);
            need.total += need.state.saturating_sub(asked);
            return need;
        }
        need.gradients = trained.saturating_sub(of(Class::Gradients));
        // Activations go while gradients come.
        let (comes, goes) = (need.gradients + need.state, of(Class::Activations));
        need.total = match oom.phase {
            Some(Phase::Backward) => needed + comes.saturating_sub(goes),
            _ => needed.max((needed + comes).saturating_sub(goes)),
        };
        return need;
    }
    if oom.phase == Some(Phase::Evaluation) {
        return need;
    }
    if let Some(Foreseen { peak, growth, rise, alike }) = foreseen(evidence, oom.event) {
        (need.growth, need.rise) = (growth, rise);
        // A step that is unlike all before it cannot be foreseen; one that is like a single one may be so by chance.
        // A loop within a step tells nothing of the rest of the step.
        need.is_foreseen = alike > 1 && !evidence.steps.is_within_step;
        // One that is larger than all before it needs as much more than they did.
        if alike > 0 || growth > 1.0 {
            need.total = needed.max(peak);
        }
    }
    need
}

/// So many steps that need ever more are a trend.
const RISING: usize = 5;

/// One step's requests, by what was asked for.
#[derive(Debug, Default)]
struct Passed {
    base: Bytes,
    peak: Bytes,
    sizes: Vec<Bytes>,
}

/// What past steps say of the one under way.
struct Foreseen {
    /// Its peak, by the past step that is most like it.
    peak: Bytes,
    /// How much larger than that one it is.
    growth: f64,
    /// By how much each of them needed more than the one before it; nothing where that is not so.
    rise: Bytes,
    /// How many of them are like it.
    alike: usize,
}

fn foreseen(evidence: &Evidence<'_>, event: EventIdx) -> Option<Foreseen> {
    let starts = &evidence.steps.starts;
    let current = evidence.steps.under_way(event)?;
    // The first step is like no other: it may begin with the making of the model, and makes the optimizer's state.
    let first = current.saturating_sub(COMPARED).max(2).min(current);
    let mut passed: Vec<Passed> = (0..=current).map(|_| Passed::default()).collect();
    let (mut active, mut turn) = (Bytes::ZERO, 0);
    let allocations = &evidence.recording.program.allocations;
    let early = allocations.iter().filter(|allocation| allocation.born().is_none());
    active += early.map(|allocation| allocation.size).sum::<Bytes>();
    for (at, change, id) in evidence.recording.program.changes() {
        if at >= event {
            break;
        }
        while turn < current && starts[turn] <= at {
            turn += 1;
            passed[turn].base = active;
            passed[turn].peak = active;
        }
        let size = allocations[id.index()].size;
        match change {
            Change::Birth => {
                active += size;
                passed[turn].sizes.push(size);
            }
            Change::Death => active = active.saturating_sub(size),
        }
        passed[turn].peak = passed[turn].peak.max(active);
    }
    let (past, now) = passed.split_at(current);
    let now = &now[0];
    let so_far: Bytes = now.sizes.iter().copied().sum();
    // Rounding and blocks that are not split come on top.
    let counters = &evidence.moment.counters;
    let rounding = counters.active.0 as f64 / counters.requested.0.max(1) as f64;
    let mut best: Option<(f64, f64, Bytes)> = None;
    let mut alike = 0;
    for past in &past[first..] {
        let until: Bytes = past.sizes.iter().take(now.sizes.len()).copied().sum();
        if until == Bytes::ZERO || past.sizes.len() * 2 < now.sizes.len() {
            continue;
        }
        let growth = so_far.0 as f64 / until.0 as f64;
        let above = past.peak.saturating_sub(past.base).0 as f64;
        let peak = Bytes(((now.base.0 as f64 + growth * above) * rounding) as u64);
        let unlike = growth.max(f64::MIN_POSITIVE).ln().abs();
        alike += usize::from((1.0 / ALIKE..=ALIKE).contains(&growth));
        if best.is_none_or(|(least, ..)| unlike < least) {
            best = Some((unlike, growth, peak));
        }
    }
    let (_, growth, peak) = best?;
    let rise = Bytes((rise(&past[first..]).0 as f64 * rounding) as u64);
    Some(Foreseen { peak, growth, rise, alike })
}

/// By how much the peak of each step lies above that of the one before it, where it does so in all of the last ones.
fn rise(past: &[Passed]) -> Bytes {
    let last = &past[past.len().saturating_sub(RISING)..];
    let rises = last.windows(2).all(|pair| pair[1].peak > pair[0].peak);
    match last {
        [from, .., to] if last.len() == RISING && rises => {
            Bytes(to.peak.saturating_sub(from.peak).0 / (RISING as u64 - 1))
        }
        _ => Bytes::ZERO,
    }
}

//! The verdict on a recording: the moment that matters, what the rules find there, and what would have helped.

use oomph_engine::program::OpKind;
use oomph_engine::recording::Recording;
use oomph_trace::{Action, Bytes, EventIdx, StackId};

use crate::advice::{self, Advice};
use crate::card::{self, Beside};
use crate::cause::Cause;
use crate::classes::{ByClass, Classes};
use crate::moment::{self, Moment};
use crate::phase::Phase;
use crate::place::{self, Place, Places};
use crate::rules::{self, Evidence, Finding};
use crate::steps::{self, Steps};
use crate::tune::{Candidate, Search};

/// A request that failed in the recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Oom {
    /// Its event.
    pub event: EventIdx,
    /// What was needed, after rounding.
    pub size: Bytes,
    /// What the driver called free.
    pub device_free: Bytes,
    /// Where.
    pub place: Option<Place>,
    /// In which step, counted from 1, if steps were marked or found.
    pub step: Option<u64>,
    /// In which phase, if phases were marked.
    pub phase: Option<Phase>,
}

/// A change of settings and what a replay says of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// The replay's result.
    pub candidate: Candidate,
    /// Whether it helps: serves what failed, or lowers the peak by 1% or more.
    pub helps: bool,
}

/// The whole verdict.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The requests that failed.
    pub ooms: Vec<Oom>,
    /// The first failure, or the peak of what was in use.
    pub moment: Moment,
    /// The cause of the failure, where one is certain.
    pub cause: Option<Cause>,
    /// The causes it was not, each with the reason; only where a request failed.
    pub ruled_out: Vec<(Cause, String)>,
    /// What the rules found.
    pub findings: Vec<Finding>,
    /// The iterations.
    pub steps: Steps,
    /// Settings replayed, those that help first, by what they need.
    pub fixes: Vec<Fix>,
    /// What can be done beside settings, and what people try in vain; only where a request failed.
    pub advice: Vec<Advice>,
    /// The step and the phase of the moment, as the recorder marked them.
    pub when: Option<(Option<u64>, Phase)>,
    /// What lies on the card beside PyTorch's memory, where the recorder described it.
    pub beside: Option<Beside>,
    /// What was in use at the peak, by what it was for, where the recorder tells.
    pub peak_classes: Option<ByClass>,
    /// The steps that lent their stacks to allocations of others, and to how many.
    pub borrowed: Vec<(u64, usize)>,
}

/// Explains a recording. `evaluate` replays each of the settings under the search's limit; it is handed in so that
/// the caller may use all its cores.
pub fn explain(recording: &Recording<'_>, evaluate: &dyn Fn(&Search<'_>) -> Vec<Candidate>) -> Explanation {
    let mut places = Places::new(recording);
    let steps = steps::find(recording, &mut places);
    let ooms = ooms(recording, &steps, &places);
    let event = ooms.first().map_or(recording.peaks.active.at, |oom| oom.event);
    let step = steps.under_way(event).map(|step| steps.starts[step - 1]);
    let classes = Classes::find(recording, &steps.phases);
    let moment = moment::at(recording, &mut places, event, step, classes.as_ref());
    let peak = recording.peaks.active.at;
    let peak_classes = match &classes {
        Some(classes) if peak != event => Some(moment::classes_at(recording, peak, classes)),
        _ => moment.classes.clone(),
    };
    let when = steps.phases.phase_at(event).map(|phase| (steps.phases.step_at(event), phase));
    let beside = card::at(recording, &moment);
    let borrowed = places.borrowed().from.clone();
    let fixes = fixes(&evaluate(&Search::new(recording, None)));
    let evidence = Evidence { recording, moment: &moment, steps: &steps, fixes: &fixes };
    let findings = rules::run(&evidence);
    let cause = findings.iter().find_map(|finding| finding.cause);
    let ruled_out = ruled_out(&evidence, &findings);
    let advice = advice::against(cause, recording, &moment, &steps);
    Explanation {
        ooms,
        moment,
        cause,
        ruled_out,
        findings,
        steps,
        fixes,
        advice,
        when,
        beside,
        peak_classes,
        borrowed,
    }
}

fn ooms(recording: &Recording<'_>, steps: &Steps, places: &Places<'_>) -> Vec<Oom> {
    let failed = recording.program.ops.iter().filter(|op| op.kind == OpKind::AllocFailed);
    failed
        .map(|op| {
            let event = &recording.trace.events[op.event.index()];
            debug_assert_eq!(event.action, Action::Oom);
            Oom {
                event: op.event,
                size: event.size,
                device_free: event.device_free(),
                place: place_of_failure(recording, op.event, places),
                step: steps.called(op.event),
                phase: steps.phases.phase_at(op.event),
            }
        })
        .collect()
}

/// The line of a failure: of its own stack, else of the one that the recorder walked when it saw it, else of one that
/// another step lends.
fn place_of_failure(recording: &Recording<'_>, event: EventIdx, places: &Places<'_>) -> Option<Place> {
    let entry = &recording.trace.events[event.index()];
    let lined = |stack: Option<StackId>| stack.and_then(|stack| place::place(recording.snapshot, stack));
    lined(entry.stack).or_else(|| seen(recording, entry.time_us)).or_else(|| lined(places.stack(event)))
}

/// The line of the failure that the recorder saw nearest to this time on the recording's card.
fn seen(recording: &Recording<'_>, time_us: u64) -> Option<Place> {
    let sidecar = recording.snapshot.sidecar.as_ref()?;
    let here = sidecar.ooms.iter().filter(|oom| i64::from(oom.device) == i64::from(recording.trace.device));
    let walked = here.filter(|oom| !oom.frames.is_empty());
    place::place_seen(&walked.min_by_key(|oom| oom.time_us.abs_diff(time_us))?.frames)
}

/// Why it was none of the causes that no rule found.
fn ruled_out(evidence: &Evidence<'_>, findings: &[Finding]) -> Vec<(Cause, String)> {
    let (Some(failed), Some(ceiling)) = (evidence.moment.failed, evidence.recording.ceiling()) else {
        return Vec::new();
    };
    let counters = &evidence.moment.counters;
    let needed = counters.active + failed.size;
    let found = |cause| findings.iter().any(|finding| finding.cause == Some(cause));
    let mut ruled_out = Vec::new();
    if !found(Cause::Capacity) {
        let reason = match evidence.steps.baseline.get(1).filter(|_| needed > ceiling) {
            Some(early) => {
                format!(
                    "{early} was in use at the start of step {}; it is the growth that does not fit",
                    evidence.steps.number(2)
                )
            }
            None => format!("{needed} was needed in all, {} is there", evidence.recording.ceiling_text()),
        };
        ruled_out.push((Cause::Capacity, reason));
    }
    if !found(Cause::Fragmentation) {
        let usable = ceiling.saturating_sub(counters.active);
        let reason = if found(Cause::Leak) {
            format!(
                "had all of the {usable} not in use been usable, the growth would have filled it within two steps"
            )
        } else {
            format!("had all of the {usable} not in use been usable, it would not have sufficed")
        };
        ruled_out.push((Cause::Fragmentation, reason));
    }
    if !found(Cause::Leak) {
        let steps = &evidence.steps.baseline;
        let ends = steps.get(steps.len() / 2).zip(steps.last());
        let reason = match (&evidence.steps.growth, ends) {
            (Some(growth), _) => {
                let room = ceiling.saturating_sub(needed).0 / growth.per_step.0.max(1);
                format!("what grows with every step had room for {room} more")
            }
            (None, Some((middle, last))) => {
                format!("{middle} in use at half of {} steps, {last} at the last", steps.len())
            }
            // Nothing recurs, so whether it would have grown cannot be told.
            (None, None) => return ruled_out,
        };
        ruled_out.push((Cause::Leak, reason));
    }
    ruled_out
}

/// Judges the candidates against the first, which is the recorded setting.
fn fixes(candidates: &[Candidate]) -> Vec<Fix> {
    let Some((recorded, others)) = candidates.split_first() else { return Vec::new() };
    let failed = !recorded.completes;
    let mut fixes: Vec<Fix> = others
        .iter()
        .map(|candidate| {
            let lower = candidate.peak_reserved.0 as f64 <= recorded.peak_reserved.0 as f64 * 0.99;
            let helps = if failed { candidate.completes } else { candidate.completes && lower };
            Fix { candidate: candidate.clone(), helps }
        })
        .collect();
    // Among those that are about as good, the simpler comes first: as good is what leaves as much room after the
    // request that failed, or without a failure what holds as little.
    let helping = fixes.iter().filter(|fix| fix.helps).map(|fix| &fix.candidate);
    let most_room = helping.clone().filter_map(|candidate| candidate.room).max();
    let lowest = helping.map(|candidate| candidate.peak_reserved).min().unwrap_or_default();
    fixes.sort_by_key(|fix| {
        let candidate = &fix.candidate;
        let (close, worse) = match (most_room, candidate.room) {
            (Some(most), Some(room)) => (room.0 as f64 >= most.0 as f64 * 0.9, most.saturating_sub(room)),
            _ => (candidate.peak_reserved.0 as f64 <= lowest.0 as f64 * 1.02, candidate.peak_reserved),
        };
        let order = if close { (candidate.options.keys(), candidate.peak_reserved) } else { (0, worse) };
        (!fix.helps, !close, order, candidate.retries, candidate.options.to_string())
    });
    fixes
}

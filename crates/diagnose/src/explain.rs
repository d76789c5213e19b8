//! The verdict on a recording: the moment that matters, what the rules find there, and what would have helped.

use oomph_engine::program::FailedRequest;
use oomph_engine::recording::Recording;
use oomph_trace::{Bytes, EventIdx, StackId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::advice::{self, Advice};
use crate::borrow::Lender;
use crate::card::{self, RestOfCard};
use crate::cause::Cause;
use crate::classes::{ByClass, Classes};
use crate::fixes::{self, Fix};
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

/// A cause that is ruled out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuledOut {
    /// The cause.
    pub cause: Cause,
    /// Why, in words.
    pub reason: String,
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
    pub ruled_out: Vec<RuledOut>,
    /// What the rules found.
    pub findings: Vec<Finding>,
    /// The iterations.
    pub steps: Steps,
    /// Settings replayed, those that help first, by what they need.
    pub fixes: Vec<Fix>,
    /// What can be done beside settings, and what people try although it does not help; only where a request failed.
    pub advice: Vec<Advice>,
    /// The step and the phase of the moment, as the recorder marked them.
    pub when: Option<(Option<u64>, Phase)>,
    /// What lies on the card beside PyTorch's memory, where the recorder described it.
    pub beside: Option<RestOfCard>,
    /// What was in use at the peak, by what it was for, where the recorder tells.
    pub peak_classes: Option<ByClass>,
    /// The steps that lent their stacks to allocations of others, and to how many.
    pub borrowed: Vec<Lender>,
}

/// Explains a recording. `evaluate` replays each of the settings under the search's limit; it is handed in so that
/// the caller may use all its cores.
pub fn explain(recording: &Recording, evaluate: &dyn Fn(&Search<'_>) -> Vec<Candidate>) -> Explanation {
    let mut places = Places::new(recording);
    let steps = steps::find(recording, &mut places);
    let ooms = ooms(recording, &steps, &places);
    let event = ooms.first().map_or(recording.peaks.active.at, |oom| oom.event);
    let step = steps.under_way(event).map(|step| steps.starts[step - 1]);
    let classes = Classes::find(recording, &steps.phases);
    let moment = moment::at(recording, &mut places, event, step, classes.as_ref());
    let peak = recording.peaks.active.at;
    let peak_classes = match &classes {
        Some(classes) if peak != event => {
            let mut run = recording.run();
            run.advance_to(peak);
            Some(classes.at(&run))
        }
        _ => moment.classes.clone(),
    };
    let when = steps.phases.phase_at(event).map(|phase| (steps.phases.step_at(event), phase));
    let beside = card::at(recording, &moment);
    let borrowed = places.loans().from.clone();
    let fixes = fixes::rank(&evaluate(&Search::new(recording, None)));
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

fn ooms(recording: &Recording, steps: &Steps, places: &Places<'_>) -> Vec<Oom> {
    let oom = |failed: &FailedRequest| Oom {
        event: failed.event,
        size: failed.request.size,
        device_free: recording.trace().events[failed.event.index()].device_free(),
        place: place_of_failure(recording, failed.event, places),
        step: steps.called(failed.event),
        phase: steps.phases.phase_at(failed.event),
    };
    recording.program.failures.iter().map(oom).collect()
}

/// The line of a failure: of its own stack, else of the one that the recorder walked when it saw it, else of one that
/// another step lends.
fn place_of_failure(recording: &Recording, event: EventIdx, places: &Places<'_>) -> Option<Place> {
    let entry = &recording.trace().events[event.index()];
    let lined = |stack: Option<StackId>| stack.and_then(|stack| place::place(&recording.snapshot, stack));
    lined(entry.stack).or_else(|| seen(recording, entry.time_us)).or_else(|| lined(places.stack(event)))
}

/// The line of the failure that the recorder saw nearest to this time on the recording's card.
fn seen(recording: &Recording, time_us: u64) -> Option<Place> {
    let sidecar = recording.snapshot.sidecar.as_ref()?;
    let here = sidecar.ooms.iter().filter(|oom| i64::from(oom.device) == i64::from(recording.trace().device));
    let walked = here.filter(|oom| !oom.frames.is_empty());
    place::place_seen(&walked.min_by_key(|oom| oom.time_us.abs_diff(time_us))?.frames)
}

/// Why it was none of the causes that no rule found.
fn ruled_out(evidence: &Evidence<'_>, findings: &[Finding]) -> Vec<RuledOut> {
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
                let step = evidence.steps.number(2);
                format!("{early} was in use at the start of step {step}; it is the growth that does not fit")
            }
            None => format!("{needed} was needed in all, {} is there", evidence.recording.ceiling_text()),
        };
        ruled_out.push(RuledOut { cause: Cause::Capacity, reason });
    }
    if !found(Cause::Fragmentation) {
        let usable = ceiling.saturating_sub(counters.active);
        let then = if found(Cause::Leak) {
            "the growth would have filled it within two steps"
        } else {
            "it would not have sufficed"
        };
        let reason = format!("had all of the {usable} not in use been usable, {then}");
        ruled_out.push(RuledOut { cause: Cause::Fragmentation, reason });
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
        ruled_out.push(RuledOut { cause: Cause::Leak, reason });
    }
    ruled_out
}

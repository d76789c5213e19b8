//! The verdict on a recording: the moment that matters, what the rules find there, and what would have helped.

use oomph_engine::program::FailedRequest;
use oomph_engine::recording::Recording;
use oomph_trace::{EventIdx, StackId};

use crate::advice::{Advice, Basis};
use crate::borrow::Lender;
use crate::card::{self, RestOfCard};
use crate::cause::Cause;
use crate::classes::{ByClass, Classes};
use crate::fixes::{self, Fix};
use crate::judge::{self, Given, Lives, Verdict};
use crate::moment::{self, Moment};
use crate::oom::{self, Oom};
use crate::phase::Phase;
use crate::place::{self, Place, Places};
use crate::rules::{self, Evidence, Finding};
use crate::steps::{self, Steps};
use crate::tune::{Candidate, Search};

/// The whole verdict.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The requests that failed.
    pub ooms: Vec<Oom>,
    /// The first failure, or the peak of what was in use.
    pub moment: Moment,
    /// The verdict on the first failure.
    pub verdict: Option<Verdict>,
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

impl Explanation {
    /// The cause of the failure, where one is certain.
    pub fn cause(&self) -> Option<Cause> {
        self.verdict.as_ref().map(|verdict| verdict.cause)
    }
}

/// Explains a recording. `evaluate` replays each of the settings under the search's limit; it is handed in so that
/// the caller may use all its cores.
pub fn explain(recording: &Recording, evaluate: &dyn Fn(&Search<'_>) -> Vec<Candidate>) -> Explanation {
    let mut places = Places::new(recording);
    let steps = steps::find(recording, &mut places);
    let ooms = ooms(recording, &steps, &places);
    let event = ooms.first().map_or(recording.peaks.active.at, |oom| oom.event);
    let classes = Classes::find(recording, &steps.phases);
    let mut run = recording.run();
    let moment = moment::at(recording, &mut run, &mut places, event, steps.began(event), classes.as_ref());
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
    let given =
        Given { evidence, run: &run, beside: beside.as_ref(), classes: classes.as_ref(), ooms: &ooms };
    let verdict = judge::judge(&given, &mut places);
    let advice = verdict.as_ref().map_or_else(Vec::new, |verdict| advice(verdict, &moment));
    Explanation {
        ooms,
        moment,
        verdict,
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
    let own = lined(entry.stack);
    if own.as_ref().is_some_and(Place::is_users) {
        return own;
    }
    // A thread of autograd knows no line of the program; the recorder saw who waited for it.
    seen(recording, entry.time_us)
        .filter(|place| own.is_none() || place.is_users())
        .or(own)
        .or_else(|| lined(places.stack(event)))
}

/// The line of the failure that the recorder saw nearest to this time on the recording's card.
fn seen(recording: &Recording, time_us: u64) -> Option<Place> {
    let walked = oom::seen_on(recording).filter(|oom| !oom.frames.is_empty());
    place::place_seen(&walked.min_by_key(|oom| oom.time_us.abs_diff(time_us))?.frames)
}

/// What the verdict says to do beside settings, and what people try although it does not help.
fn advice(verdict: &Verdict, moment: &Moment) -> Vec<Advice> {
    let cures = verdict.cures.iter().filter(|cure| cure.how != Basis::Replayed);
    let helping = cures.map(|cure| Advice {
        title: cure.action.clone().into(),
        in_use: cure.needs_bytes,
        helps: cure.lives != Lives::Steps(0),
        how: cure.how,
        why: cure.why.clone(),
        folklore: None,
    });
    let (cached, releasable) = (moment.counters.cached(), moment.releasable);
    let why = format!(
        "PyTorch gave back all it could before it failed; of the {cached} still cached {releasable} could go"
    );
    let in_vain = Advice {
        title: "torch.cuda.empty_cache()".into(),
        in_use: Some(moment.counters.active),
        helps: false,
        how: Basis::Computed,
        why,
        folklore: Some("empty-cache-after-oom"),
    };
    helping.chain([in_vain]).collect()
}

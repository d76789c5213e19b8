//! What a run on the phantom says of a card.

use oomph_diagnose::class_curves::{self, ClassCurves};
use oomph_diagnose::classes::Classes;
use oomph_diagnose::explain::explain;
use oomph_diagnose::modules::{ModuleNode, Modules};
use oomph_diagnose::phase::Phase;
use oomph_diagnose::phases::Phases;
use oomph_diagnose::place::{Place, Places, place_seen};
use oomph_diagnose::results::plan::{ALIKE, GIVES_BACK, LibraryLine, PlanResult, PlannedAt};
use oomph_engine::recording::Recording;
use oomph_engine::replay::{OnFailure, Setup, replay};
use oomph_machine::cores;
use oomph_trace::cards::{Card, Context};
use oomph_trace::sidecar::Question;
use oomph_trace::{Bytes, EventIdx};

use super::caveats::{self, grows, rest};
use super::refusal;
use super::trial::Trial;

/// A length that was guessed matters from this share of the peak on.
const MATTERS: u64 = 1000;

/// What is held may differ by this part of it before anything is said of that.
const SPREAD: u64 = 100;
/// Said of a script that stays on the CPU.
pub const NO_GPU: &str = "the script used no GPU: move the model to \"cuda\", as on a machine that has one";

/// What PyTorch may hold on a card of which the process holds so much `beside` it.
pub fn allowed(card: &Card, limit: Option<Bytes>, beside: Bytes) -> Bytes {
    let rest = card.total.saturating_sub(beside);
    limit.map_or(rest, |limit| limit.min(rest))
}

/// What a run does with less memory than it was seen with.
#[derive(Clone, Copy, Debug)]
pub struct Within {
    /// Whether it completes.
    pub completes: bool,
    /// How often the cache has to be given back for it.
    pub retries: u64,
    /// What it holds at most; where it does not complete, what it would hold with enough.
    pub held: Bytes,
}

/// The run of a trial with so much memory; `None` where it left nothing that could tell.
pub fn within(trial: &Trial, allowed: Bytes) -> Option<Within> {
    let peaks = trial.peaks?;
    let as_seen = Within { completes: peaks.reserved <= allowed, retries: 0, held: peaks.reserved };
    if as_seen.completes || peaks.requested > allowed {
        return Some(as_seen);
    }
    // Between the two it depends on what the allocator can give back in time.
    let recording = trial.recording.as_ref()?;
    let setup = Setup { limit: Some(allowed), capacity: None, ..recording.setup.clone() };
    let start = recording.start_for(&setup.options);
    let outcome = replay(&recording.program, &setup, start, OnFailure::FollowRecording);
    let completes = outcome.completes();
    let held = if completes { outcome.peaks.reserved.bytes } else { peaks.reserved };
    Some(Within { completes, retries: outcome.tally.retries, held })
}

/// The answer for a card, from a run in which the phantom was `seen_on`.
pub fn of(script: &str, trial: &Trial, card: &Card, seen_on: &Card, limit: Option<Bytes>) -> PlanResult {
    let mut result = PlanResult {
        script: script.to_owned(),
        card: card.clone(),
        is_close: false,
        nccl: trial.nccl(),
        late: trial.late(),
        held_between: None,
        world: None,
        seen_on: (card.short != seen_on.short).then(|| seen_on.short.to_string()),
        limit,
        peaks: trial.peaks.filter(|peaks| peaks.reserved > Bytes::ZERO),
        fits: None,
        retries: 0,
        at: PlannedAt::default(),
        by_class: Vec::new(),
        by_module: Vec::new(),
        pinned: trial.notes.pinned,
        steps: trial.steps,
        options: Vec::new(),
        least: None,
        vary: None,
        caveats: Vec::new(),
        why_not: None,
    };
    if let Some(recording) = &trial.recording {
        describe(&mut result, recording, trial);
    }
    result.caveats = caveats::of(trial);
    if card.capability != seen_on.capability {
        result.caveats.push(format!("{ALIKE}: {} on the {}", card.short, seen_on.short));
    }
    if let Some(why) = failure(trial) {
        result.why_not = Some(why);
        // The script ended early, so what was seen until then is not its peak.
        result.peaks = None;
        result.at = PlannedAt::default();
        result.by_class.clear();
        return result;
    }
    let Some(peaks) = result.peaks else {
        result.why_not = Some(NO_GPU.to_owned());
        return result;
    };
    let Context { least, most } = card.context;
    let with_context = |context| allowed(card, limit, trial.beside(context));
    let allowed = with_context(most);
    let Some(Within { completes: fits, retries, .. }) = within(trial, allowed) else {
        result.why_not = Some("the run left no recording that can be replayed".to_owned());
        return result;
    };
    result.fits = Some(fits);
    result.retries = retries;
    if let Some((least, most)) = trial.held_between() {
        result.held_between = Some((least, most));
        if most.0 - least.0 > peaks.reserved.0 / SPREAD {
            let why = if !trial.notes.doubts.is_empty() {
                "convolutions of these shapes were not measured on this card"
            } else if trial.padded() > Bytes::ZERO {
                "torch.compile pads small matrix products or not, as it times them"
            } else {
                "what is held depends on where the driver puts memory, as replays show"
            };
            let spread = format!("{why}: PyTorch may hold {least} to {most}");
            let over = if fits && most > allowed { ", and not all of that fits" } else { "" };
            result.caveats.push(spread + over);
        }
    }
    if fits && retries > 0 {
        result.caveats.push(format!("{GIVES_BACK} {}: that costs time, and leaves no room", times(retries)));
    }
    let is_guessed = |question: &Question| question.bytes > peaks.reserved.0 / MATTERS;
    if !fits && trial.notes.questions.iter().any(is_guessed) {
        // The lengths were taken to be the greatest possible; with smaller ones it might fit.
        result.fits = None;
        result.why_not = Some(
            "lengths depend on values that only a GPU computes: with the greatest possible it does not fit"
                .to_owned(),
        );
    } else if !fits && within(trial, with_context(least)).is_some_and(|within| within.completes) {
        result.is_close = true;
        result.fits = None;
        result.why_not = Some(format!(
            "it is too close: a CUDA context with its libraries holds {least} to {most} of such a card, and only with \
             the least of that it fits"
        ));
    }
    let growing = trial.notes.hurry.as_ref().and_then(|hurry| hurry.growing.as_ref());
    if let Some(growing) = growing.filter(|growing| fits && peaks.requested + rest(growing) > allowed) {
        result.fits = None;
        result.why_not = Some(format!("{}, and all of its batches would not fit", grows(growing)));
    }
    result
}

/// When and why the script failed, in a line; `None` where it did not.
pub fn failure(trial: &Trial) -> Option<String> {
    let (class, text) = trial.failure.as_ref()?;
    let first = text.lines().next().unwrap_or_default();
    let when = match trial.steps {
        0 => "before its first step".to_owned(),
        step => format!("after step {step}"),
    };
    let wanted = trial.notes.wanted.as_deref();
    let meaning = refusal::of(class, text, wanted).unwrap_or_else(|| match &**class {
        "exit" => format!("it ended by itself with {first}, and what it printed says why"),
        class => format!("{class}: {first}"),
    });
    Some(format!("the script failed {when}: {meaning}"))
}

fn times(n: u64) -> String {
    if n == 1 { "once".to_owned() } else { format!("{n} times") }
}

/// The moment of the peak: its line, its phase, and what was in use.
fn describe(result: &mut PlanResult, recording: &Recording, trial: &Trial) {
    let explanation = explain(recording, &cores::evaluate_shortlist);
    let peak = recording.peaks.active.at;
    let phases = &explanation.steps.phases;
    result.at.phase = phases.phase_at(peak);
    result.at.step = phases.step_at(peak);
    result.by_class = explanation.peak_classes.unwrap_or_default();
    result.by_module = by_module(recording, phases, peak).unwrap_or_default();
    // A compiled backward pass has lines of its own, but none that anybody wrote.
    let seen = || {
        let place = trial.notes.backward.as_ref().and_then(|stack| place_seen(&stack.frames))?;
        Some(Place { within: None, ..place })
    };
    let own = place(recording, peak);
    let place = match own {
        Some(place) if place.is_users() || result.at.phase != Some(Phase::Backward) => Some(place),
        own => seen().or(own),
    };
    if let Some(place) = place {
        result.at.file = Some(place.line.file);
        result.at.line = Some(place.line.line);
        result.at.within = place.within.map(|inner| LibraryLine { file: inner.file, line: inner.line });
    }
}

/// What was in use at an event by module; `None` where no module was seen.
fn by_module(recording: &Recording, phases: &Phases, at: EventIdx) -> Option<Vec<ModuleNode>> {
    let modules = Modules::find(recording, phases)?;
    let classes = Classes::find(recording, phases)?;
    let mut run = recording.run();
    run.advance_to(at);
    Some(modules.at(&run, &classes))
}

/// What was in use by class during the step with the peak, for a picture; the whole run where no steps were marked.
pub fn curves(trial: &Trial, most: usize) -> Option<ClassCurves> {
    let recording = trial.recording.as_ref()?;
    let phases = Phases::of(recording);
    let peak = recording.peaks.active.at;
    let end = EventIdx(u32::try_from(recording.trace().events.len()).unwrap_or(u32::MAX));
    let step = phases.step_at(peak);
    let mut of_step = phases.stretches().iter().filter(|stretch| Some(stretch.step) == step);
    let from = of_step.next().map_or(EventIdx(0), |stretch| stretch.from);
    let later = phases.stretches().iter().find(|stretch| stretch.from > peak && Some(stretch.step) != step);
    let to = later.map_or(end, |stretch| stretch.from);
    class_curves::between(recording, &phases, from, to, most)
}

fn place(recording: &Recording, event: EventIdx) -> Option<Place> {
    let mut places = Places::new(recording);
    let stack = places.stack(event);
    let id = places.of(stack);
    places.get(id).cloned()
}

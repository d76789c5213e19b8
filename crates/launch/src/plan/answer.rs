//! What a run on the phantom says of a card.

use oomph_diagnose::class_curves::{self, ClassCurves};
use oomph_diagnose::explain::explain;
use oomph_diagnose::phases::Phases;
use oomph_diagnose::place::{Place, Places, place_seen};
use oomph_diagnose::results::plan::{ALIKE, LibraryLine, PlanResult, PlannedAt};
use oomph_diagnose::tune::Search;
use oomph_engine::recording::Recording;
use oomph_machine::cores;
use oomph_trace::cards::Card;
use oomph_trace::sidecar::{Question, Stop};
use oomph_trace::{Bytes, EventIdx};

use super::cards::CONTEXT;
use super::refusal;
use super::trial::Trial;

/// A length that was guessed matters from this share of the peak on.
const MATTERS: u64 = 1000;
/// Lines that are named; the others are counted.
const NAMED: usize = 3;

/// Said of a script that stays on the CPU.
pub const NO_GPU: &str = "the script used no GPU: move the model to \"cuda\", as on a machine that has one";

/// What PyTorch may hold on a card.
pub fn allowed(card: &Card, limit: Option<Bytes>) -> Bytes {
    let beside = card.total.saturating_sub(CONTEXT);
    limit.map_or(beside, |limit| limit.min(beside))
}

/// Whether what was trial completes with so much memory, and how often the cache has to be given back for it.
pub fn completes(trial: &Trial, allowed: Bytes) -> Option<(bool, u64)> {
    let peaks = trial.peaks?;
    if peaks.reserved <= allowed {
        return Some((true, 0));
    }
    if peaks.requested > allowed {
        return Some((false, 0));
    }
    // Between the two it depends on what the allocator can give back in time.
    let recording = trial.recording.as_ref()?;
    let candidate = Search::new(recording, Some(allowed)).evaluate_at_limit(&recording.setup.options);
    Some((candidate.completes, candidate.retries))
}

/// The answer for a card, from a run in which the phantom was `seen_on`.
pub fn of(script: &str, trial: &Trial, card: &Card, seen_on: &Card, limit: Option<Bytes>) -> PlanResult {
    let mut result = PlanResult {
        script: script.to_owned(),
        card: card.clone(),
        context: CONTEXT,
        seen_on: (card.short != seen_on.short).then(|| seen_on.short.to_string()),
        limit,
        peaks: trial.peaks.filter(|peaks| peaks.reserved > Bytes::ZERO),
        fits: None,
        retries: 0,
        at: PlannedAt::default(),
        by_class: Vec::new(),
        steps: trial.steps,
        options: Vec::new(),
        vary: None,
        caveats: Vec::new(),
        why_not: None,
    };
    if let Some(recording) = &trial.recording {
        describe(&mut result, recording, trial);
    }
    result.caveats = caveats(trial);
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
    let allowed = allowed(card, limit);
    let Some((fits, retries)) = completes(trial, allowed) else {
        result.why_not = Some("the run left no recording that can be replayed".to_owned());
        return result;
    };
    result.fits = Some(fits);
    result.retries = retries;
    if fits && retries > 0 {
        result.caveats.push(format!(
            "it fits only because PyTorch gives its cache back {}: that costs time, and leaves no room",
            times(retries)
        ));
    }
    if !fits && trial.notes.questions.iter().any(|question| question.bytes > peaks.reserved.0 / MATTERS) {
        // The lengths were taken to be the greatest possible; with smaller ones it might fit.
        result.fits = None;
        result.why_not = Some(
            "lengths depend on values that only a GPU computes: with the greatest possible it does not fit"
                .to_owned(),
        );
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
    let meaning = refusal::of(class, text).map_or_else(|| format!("{class}: {first}"), str::to_owned);
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
    match place(recording, peak) {
        Some(place) => {
            result.at.file = Some(place.line.file);
            result.at.line = Some(place.line.line);
            result.at.within = place.within.map(|inner| LibraryLine { file: inner.file, line: inner.line });
        }
        None => {
            if let Some(seen) = trial.notes.backward.as_ref().and_then(|stack| place_seen(&stack.frames)) {
                result.at.file = Some(seen.line.file);
                result.at.line = Some(seen.line.line);
            }
        }
    }
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

fn caveats(trial: &Trial) -> Vec<String> {
    let mut caveats = trial.notes.remarks.clone();
    match trial.stopped {
        Some(Stop::Repeats) => caveats.push(format!(
            "stopped after step {}, when the peak had stood still; what the script does later (evaluate, save) was not seen",
            trial.steps
        )),
        Some(Stop::Steps) => {
            caveats.push(format!("stopped after step {}, as asked; later steps may need more", trial.steps));
        }
        Some(Stop::Time) => caveats.push(format!(
            "stopped by the time limit after step {}; later steps may need more",
            trial.steps
        )),
        None => {}
    }
    let (lengths, values): (Vec<&Question>, Vec<&Question>) =
        trial.notes.questions.iter().partition(|question| question.bytes > 0);
    if !values.is_empty() {
        caveats.push(format!("values that only a GPU computes were invented at {}", named(&values)));
    }
    if !lengths.is_empty() {
        caveats.push(format!(
            "lengths that depend on such values were taken to be the greatest possible at {}",
            named(&lengths)
        ));
    }
    caveats
}

fn named(questions: &[&Question]) -> String {
    let mut shown: Vec<String> = Vec::new();
    for question in questions {
        let Some(Place { line, .. }) = place_seen(&question.frames) else { continue };
        let text = format!("{}:{} ({})", line.file_name(), line.line, question.kind);
        if !shown.contains(&text) {
            shown.push(text);
        }
    }
    let more = shown.len().saturating_sub(NAMED);
    shown.truncate(NAMED);
    let text = shown.join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

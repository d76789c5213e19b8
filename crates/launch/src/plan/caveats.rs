//! What an answer remarks on a run: what was left out, invented or not saved.

use oomph_diagnose::place::place_seen;
use oomph_trace::Bytes;
use oomph_trace::sidecar::{GrowingNote, HurryEnd, HurryNote, Question, SeenFrame, Stop};

use super::trial::Trial;

/// Lines that are named; the others are counted.
const NAMED: usize = 3;

/// All of it.
pub(super) fn of(trial: &Trial) -> Vec<String> {
    let mut caveats = trial.notes.remarks.clone();
    match (&trial.notes.hurry, trial.stopped) {
        (Some(hurry), _) => caveats.extend(hurried(hurry)),
        (None, Some(Stop::Steps)) => {
            caveats.push(format!("stopped after step {}, as asked; later steps may need more", trial.steps));
        }
        (None, Some(Stop::Time)) => caveats
            .push(format!("stopped by the time limit after step {}; later steps may need more", trial.steps)),
        (None, Some(Stop::Repeats) | None) => {}
    }
    if let Some(stack) = &trial.notes.saved {
        let at = at(&stack.frames).map(|line| format!(" ({line})")).unwrap_or_default();
        caveats.push(format!("nothing is saved: a plan has no weights to save{at}"));
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

/// What was left out of a script after its peak had stood still, and up to where it was seen.
fn hurried(hurry: &HurryNote) -> Vec<String> {
    const STILL: &str = "when the peak had stood still";
    const UNSEEN: &str = "what the script does later (evaluate, save) was not seen";
    let line = at(&hurry.frames);
    let up_to = line.as_ref().map(|line| format!(" up to {line}")).unwrap_or_default();
    let place = line.map(|line| format!(" at {line}")).unwrap_or_default();
    let cut = match (hurry.step, hurry.left) {
        (Some(step), None) => {
            Some(format!("loops over a DataLoader were cut to a few batches after step {step}, {STILL}"))
        }
        (None, Some(left)) => Some(format!("loops that train were left after step {left}, {STILL}")),
        (Some(step), Some(left)) => Some(format!(
            "loops over a DataLoader were cut to a few batches after step {step}, and others left after step {left}, {STILL}"
        )),
        (None, None) => None,
    };
    let seen = match (&cut, hurry.end, &hurry.error) {
        (None, Some(HurryEnd::Done), _) => None,
        (Some(cut), Some(HurryEnd::Done), _) => Some(format!("{cut}; the script was seen to its end")),
        (Some(cut), Some(HurryEnd::Error), Some(error)) => {
            Some(format!("{cut}; the script was seen{up_to}, which may need what was left out: {error}"))
        }
        (None, Some(HurryEnd::Error), Some(error)) => {
            Some(format!("the script failed{place} after step {}, {STILL}: {error}", hurry.last))
        }
        (Some(cut), Some(HurryEnd::Waits), _) => {
            Some(format!("{cut}; the script was seen{up_to}, where it waits for more of them"))
        }
        (None, Some(HurryEnd::Waits | HurryEnd::Stays), _) => {
            Some(format!("stopped after step {}, {STILL}; {UNSEEN}", hurry.last))
        }
        (Some(cut), Some(HurryEnd::Stays), _) => {
            Some(format!("{cut}; stopped after step {}: {UNSEEN}", hurry.last))
        }
        (Some(cut), Some(HurryEnd::Error | HurryEnd::Time) | None, _) => {
            Some(format!("{cut}; the script was seen{up_to}, where the time was over"))
        }
        (None, Some(HurryEnd::Error | HurryEnd::Time) | None, _) => {
            Some(format!("stopped{place}, where the time was over; {UNSEEN}"))
        }
    };
    let growing = hurry.growing.as_ref().map(|growing| {
        format!(
            "{}: {} of its {} batches were seen, and all of them would keep {} more",
            grows(growing),
            growing.given,
            growing.given + growing.left,
            rest(growing)
        )
    });
    seen.into_iter().chain(growing).collect()
}

/// That a loop keeps more with each batch.
pub(super) fn grows(growing: &GrowingNote) -> String {
    let line = at(&growing.frames).map(|line| format!(" at {line}")).unwrap_or_default();
    format!("the loop{line} keeps {} with each batch", Bytes(growing.bytes))
}

/// What the batches of a loop that were not seen would keep.
pub(super) fn rest(growing: &GrowingNote) -> Bytes {
    Bytes(growing.bytes.saturating_mul(growing.left))
}

/// The program's own line of a stack: `train.py:12`.
fn at(frames: &[SeenFrame]) -> Option<String> {
    let line = place_seen(frames)?.line;
    Some(format!("{}:{}", line.file_name(), line.line))
}

fn named(questions: &[&Question]) -> String {
    let mut shown: Vec<String> = Vec::new();
    for question in questions {
        let Some(line) = at(&question.frames) else { continue };
        let text = format!("{line} ({})", question.kind);
        if !shown.contains(&text) {
            shown.push(text);
        }
    }
    let more = shown.len().saturating_sub(NAMED);
    shown.truncate(NAMED);
    let text = shown.join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

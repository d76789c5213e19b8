//! `oomph diff --json`.

use oomph_diagnose::classes::Class;
use oomph_diagnose::diff::{self, Change, ClassChange, Held, KeptChange, LineChange, Where};
use oomph_diagnose::phase::Phase;
use oomph_diagnose::place::Line;
use oomph_diagnose::results::diff::{Allowance, DiffResult, Over};
use oomph_trace::Bytes;

use super::SCHEMA;
use crate::compared;

document! {
    /// What two jobs need, compared. `a` is the one before, `b` the one after.
    pub fn diff(result: &DiffResult, allowed: Option<Allowance>) -> Diff with (found = &result.comparison) {
        /// The schema's number: 1.
        schema: u32 = SCHEMA,
        /// The device, as PyTorch numbers it, in the second recording.
        device: i32 = result.device,
        /// Whether both need the same, line by line.
        same: bool = found.is_same(),
        /// What the first job needs.
        a: Need = need(&result.a, &found.a),
        /// What the second job needs.
        b: Need = need(&result.b, &found.b),
        /// What was asked for at the peak of each. It does not depend on what the pool held before.
        requested: Changed = changed(found.requested()),
        /// What was held from the driver at the peak of each, replayed from an empty cache.
        reserved: Changed = changed(found.reserved()),
        /// The line that explains most of the difference; null where none does.
        first: Option<DiffLine> = found.first().map(line),
        /// Every line that holds memory at either peak: what grew most first, what shrank most last. They add up to `requested`.
        lines: Vec<DiffLine> = found.lines.iter().map(line).collect(),
        /// The same by what it was for; empty unless both recordings tell.
        classes: Vec<DiffClass> = found.classes.iter().map(class).collect(),
        /// What the steps keep, most growth first.
        kept: Vec<DiffKept> = found.kept.iter().map(kept).collect(),
        /// What to know before trusting the figures, in sentences.
        doubts: Vec<String> = found.doubts.iter().map(compared::doubt).collect(),
        /// What `--fail-over` says; null where it was not given.
        gate: Option<Gate> = allowed.map(|allowed| gate(result, allowed)),
    }

    /// What one job needs.
    fn need(name: &str, need: &diff::Need) -> Need {
        /// The recording.
        name: String = name.to_owned(),
        /// What was asked for and in use at most.
        peak_requested: Bytes = need.requested,
        /// What was in use at most, with what rounding adds, replayed from an empty cache.
        peak_active: Bytes = need.active,
        /// What was held from the driver at most, replayed from an empty cache.
        peak_reserved: Bytes = need.reserved,
        /// The event that first reached `peak_requested`.
        event: u32 = need.event.0,
        /// Its step.
        step: Option<u64> = need.step,
        /// Its phase.
        phase: Option<Phase> = need.phase,
        /// How many steps were found.
        steps: usize = need.steps,
        /// What was in use when the recording began and has no line: it is not counted.
        before_start_bytes: Bytes = need.before_start,
        /// What was asked for here and was there already when the other recording began: it is not counted.
        set_aside_bytes: Bytes = need.set_aside,
    }

    /// An amount on both sides.
    fn changed(change: Change) -> Changed {
        /// Before.
        a_bytes: Bytes = change.a,
        /// After.
        b_bytes: Bytes = change.b,
        /// The difference; negative where it shrank.
        change_bytes: i64 = change.signed(),
        /// The difference as a fraction of what was before; null where that was nothing and something came.
        share: Option<f64> = change.share(),
    }

    /// What a line holds at both peaks.
    fn line(line: &LineChange) -> DiffLine with (change = line.change()) {
        /// The line, by its number after the change where it is still there; null: none was recorded.
        place: Option<Line> = own_line(line.place()),
        /// Its number before the change; null: no request came from it then.
        a_line: Option<u32> = number(line.a.as_ref()),
        /// Its number after the change; null: no request came from it then.
        b_line: Option<u32> = number(line.b.as_ref()),
        /// What the line says, where that is known.
        text: Option<String> = line.shown().and_then(|held| held.text.clone()),
        /// Where no line was recorded: the phase in which it was asked for.
        phase: Option<Phase> = phase(line.place()),
        /// What became of it: `new`, `grown`, `same`, `shrunk`, `gone`.
        is: &'static str = compared::fate(line),
        /// What it holds before.
        a_bytes: Bytes = change.a,
        /// What it holds after.
        b_bytes: Bytes = change.b,
        /// The difference; negative where it shrank.
        change_bytes: i64 = change.signed(),
        /// In how many allocations before.
        a_count: usize = line.a.as_ref().map_or(0, |held| held.count),
        /// In how many allocations after.
        b_count: usize = line.b.as_ref().map_or(0, |held| held.count),
    }

    /// What memory of one class there is at both peaks.
    fn class(class: &ClassChange) -> DiffClass with (change = class.change) {
        /// What it is for.
        class: Class = class.class,
        /// Before.
        a_bytes: Bytes = change.a,
        /// After.
        b_bytes: Bytes = change.b,
        /// The difference; negative where it shrank.
        change_bytes: i64 = change.signed(),
    }

    /// What a line keeps with every step.
    fn kept(kept: &KeptChange) -> DiffKept with (change = kept.change()) {
        /// The line; null: none was recorded.
        place: Option<Line> = own_line(kept.place()),
        /// Bytes with every step before.
        a_bytes_per_step: Bytes = change.a,
        /// Bytes with every step after.
        b_bytes_per_step: Bytes = change.b,
    }

    /// Whether the second job needs more than is allowed.
    fn gate(result: &DiffResult, allowed: Allowance) -> Gate with (over = result.over(allowed)) {
        /// What is allowed, as it was given.
        allowed: String = allowed.to_string(),
        /// Whether it fails.
        fails: bool = !over.is_empty(),
        /// What grew by more than that. A growth of what is held by 22 MiB or less says nothing: PyTorch takes memory from
        /// the driver in pieces.
        over: Vec<Over> = over,
    }
}

fn number(held: Option<&Held>) -> Option<u32> {
    own_line(&held?.place).map(|line| line.line)
}

fn own_line(place: &Where) -> Option<Line> {
    match place {
        Where::Line(place) => Some(place.line.clone()),
        Where::Phase(_) => None,
    }
}

fn phase(place: &Where) -> Option<Phase> {
    match place {
        Where::Line(_) => None,
        Where::Phase(phase) => *phase,
    }
}

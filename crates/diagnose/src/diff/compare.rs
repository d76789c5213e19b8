//! The comparison itself.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use oomph_engine::program::{AllocId, Program};
use oomph_engine::recording::Recording;
use oomph_engine::replay::Setup;
use oomph_trace::Bytes;

use super::comparison::{Change, ClassChange, Comparison, Doubt, Held, KeptChange, LineChange, Need, Where};
use super::matching;
use super::side::{self, AtPeak, Side, Source, Texts};
use super::start;
use crate::classes::{Class, Classes};
use crate::place::{Line, Place};
use crate::steps::{self, Growth, Steps};

/// Compares what the jobs of two recordings need: `a` before, `b` after. `texts_a` and `texts_b` give what lines said
/// when each was recorded; they tell a line that moved from a new one. Without them lines are told by what they ask for.
pub fn compare(a: &Recording, b: &Recording, texts_a: &Texts<'_>, texts_b: &Texts<'_>) -> Comparison {
    let (mut side_a, mut side_b) = (Side::new(a, texts_a), Side::new(b, texts_b));
    let same = Same::find(&side_a, &side_b);
    let aside_a = start::already_there(&side_a, &side_b, |source| same.in_b(source));
    let aside_b = start::already_there(&side_b, &side_a, |source| same.in_a(source));
    let (program_a, program_b) = (side_a.program(&aside_a), side_b.program(&aside_b));
    let (peak_a, peak_b) = (side::at_peak(&program_a), side::at_peak(&program_b));
    let (steps_a, steps_b) = (steps::find(a, &mut side_a.places), steps::find(b, &mut side_b.places));
    let lines = lines(&mut side_a, &mut side_b, &same, &peak_a, &peak_b);
    let kept = kept(&side_a, &side_b, &same, &steps_a, &steps_b);
    let needs = (
        need(&side_a, &a.setup, &program_a, &peak_a, &steps_a, &aside_a),
        need(&side_b, &a.setup, &program_b, &peak_b, &steps_b, &aside_b),
    );
    Comparison {
        a: needs.0,
        b: needs.1,
        classes: classes([(a, &peak_a, &steps_a), (b, &peak_b, &steps_b)]),
        doubts: doubts(a, b, &needs, &lines, !kept.is_empty()),
        lines,
        kept,
    }
}

/// Which sources are the same on both sides.
struct Same {
    in_b: BTreeMap<usize, usize>,
    in_a: BTreeMap<usize, usize>,
}

impl Same {
    fn find(a: &Side<'_>, b: &Side<'_>) -> Same {
        let pairs = matching::pairs(&a.askers, &b.askers);
        Same { in_a: pairs.iter().map(|(a, b)| (*b, *a)).collect(), in_b: pairs.into_iter().collect() }
    }

    fn in_b(&self, source: Source) -> Option<Source> {
        through(&self.in_b, source)
    }

    fn in_a(&self, source: Source) -> Option<Source> {
        through(&self.in_a, source)
    }
}

fn through(partners: &BTreeMap<usize, usize>, source: Source) -> Option<Source> {
    match source {
        Source::Line(at) => partners.get(&at).copied().map(Source::Line),
        Source::Phase(_) => Some(source),
    }
}

fn need(
    side: &Side<'_>,
    setup: &Setup,
    program: &Program,
    peak: &AtPeak,
    steps: &Steps,
    aside: &[AllocId],
) -> Need {
    let replayed = side::replayed(program, setup).peaks;
    let size = |id: AllocId| side.recording.program.allocations[id.index()].size;
    Need {
        requested: peak.requested,
        active: replayed.active.bytes,
        reserved: replayed.reserved.bytes,
        event: peak.event,
        step: steps.called(peak.event),
        phase: steps.phases.phase_at(peak.event),
        steps: steps.starts.len(),
        before_start: side.found_there().map(size).sum(),
        set_aside: aside.iter().map(|id| size(*id)).sum(),
    }
}

/// Bytes, and in how many allocations, by whose they are.
type Sums = BTreeMap<Source, (Bytes, usize)>;

fn sums(side: &mut Side<'_>, peak: &AtPeak) -> Sums {
    let mut sums = Sums::new();
    let mut add = |source: Source, size: Bytes| {
        let (bytes, count) = sums.entry(source).or_default();
        (*bytes, *count) = (*bytes + size, *count + 1);
    };
    for id in &peak.live {
        add(side.source_of(*id), side.recording.program.allocations[id.index()].size);
    }
    if let Some((event, size)) = peak.failed {
        add(side.source_of_failure(event), size);
    }
    sums
}

fn lines(
    a: &mut Side<'_>,
    b: &mut Side<'_>,
    same: &Same,
    peak_a: &AtPeak,
    peak_b: &AtPeak,
) -> Vec<LineChange> {
    let (sums_a, sums_b) = (sums(a, peak_a), sums(b, peak_b));
    let alone_in_b =
        sums_b.keys().filter(|source| same.in_a(**source).is_none_or(|own| !sums_a.contains_key(&own)));
    let pairs_of_a = sums_a.keys().map(|source| (Some(*source), same.in_b(*source)));
    let pairs_of_b = alone_in_b.map(|source| (same.in_a(*source), Some(*source)));
    let held = |side: &Side<'_>, sums: &Sums, source: Option<Source>| {
        let source = source?;
        let (bytes, count) = sums.get(&source).copied().unwrap_or_default();
        let text = if let Source::Line(at) = source { side.askers[at].text.clone() } else { None };
        Some(Held { place: side.place(source), bytes, count, text })
    };
    let pairs = pairs_of_a.chain(pairs_of_b);
    let mut lines: Vec<LineChange> = pairs
        .map(|(in_a, in_b)| LineChange { a: held(a, &sums_a, in_a), b: held(b, &sums_b, in_b) })
        .collect();
    lines.sort_by_key(|line| order(line.change(), line.place()));
    lines
}

/// What grew most first; what is the same in between, the largest first; what shrank most last.
fn order(change: Change, place: &Where) -> (Reverse<Bytes>, Bytes, Reverse<Bytes>, Where) {
    (Reverse(change.more()), change.less(), Reverse(change.b), place.clone())
}

fn kept(a: &Side<'_>, b: &Side<'_>, same: &Same, steps_a: &Steps, steps_b: &Steps) -> Vec<KeptChange> {
    let (of_a, of_b) = (growing(a, steps_a.growth.as_ref()), growing(b, steps_b.growth.as_ref()));
    let with = |side: &Side<'_>, source: Source, bytes: &Bytes| (side.place(source), *bytes);
    let from_a = of_a.iter().map(|(source, bytes)| {
        let other = same.in_b(*source).and_then(|other| Some(with(b, other, of_b.get(&other)?)));
        KeptChange { a: Some(with(a, *source, bytes)), b: other }
    });
    let alone =
        of_b.iter().filter(|(source, _)| same.in_a(**source).is_none_or(|own| !of_a.contains_key(&own)));
    let from_b = alone.map(|(source, bytes)| KeptChange { a: None, b: Some(with(b, *source, bytes)) });
    let mut kept: Vec<KeptChange> = from_a.chain(from_b).collect();
    kept.sort_by_key(|line| order(line.change(), line.place()));
    kept
}

/// What each source keeps with every step.
fn growing(side: &Side<'_>, growth: Option<&Growth>) -> BTreeMap<Source, Bytes> {
    let lines = side.askers.iter().enumerate().map(|(at, asker)| (&asker.line, Source::Line(at)));
    let lines: BTreeMap<&Line, Source> = lines.collect();
    let source = |place: &Option<Place>| {
        let known = place.as_ref().and_then(|place| lines.get(&place.line));
        known.copied().unwrap_or(Source::Phase(None))
    };
    let growing = growth.into_iter().flat_map(|growth| &growth.lines);
    growing.map(|line| (source(&line.place), line.bytes_per_step)).collect()
}

/// What is in use at the peaks by what it is for, where both recordings tell.
fn classes(sides: [(&Recording, &AtPeak, &Steps); 2]) -> Vec<ClassChange> {
    let sums = sides.map(|(recording, peak, steps)| {
        let classes = Classes::find(recording, &steps.phases)?;
        let mut sums = [Bytes::ZERO; Class::ALL.len()];
        for id in &peak.live {
            sums[classes.of(*id) as usize] += recording.program.allocations[id.index()].size;
        }
        if let Some((_, size)) = peak.failed {
            sums[Class::Other as usize] += size;
        }
        Some(sums)
    });
    let [Some(a), Some(b)] = sums else { return Vec::new() };
    let changes = Class::ALL.iter().zip(a).zip(b).map(|((class, a), b)| (*class, Change { a, b }));
    let there = changes.filter(|(_, change)| change.a > Bytes::ZERO || change.b > Bytes::ZERO);
    there.map(|(class, change)| ClassChange { class, change }).collect()
}

fn doubts(
    a: &Recording,
    b: &Recording,
    needs: &(Need, Need),
    lines: &[LineChange],
    keeps: bool,
) -> Vec<Doubt> {
    let failed = |recording: &Recording| !recording.program.failures.is_empty();
    let nobodys = lines.iter().filter(|line| matches!(line.place(), Where::Phase(_))).map(LineChange::change);
    let nobodys =
        nobodys.fold(Change::default(), |sum, part| Change { a: sum.a + part.a, b: sum.b + part.b });
    let ran_out = Doubt::RanOut { a: failed(a), b: failed(b) };
    [
        (a.setup.options != b.setup.options, Doubt::Settings),
        (a.setup.profile.version != b.setup.profile.version, Doubt::Version),
        (failed(a) || failed(b), ran_out),
        (keeps && needs.0.steps != needs.1.steps, Doubt::Steps),
        (!nobodys.is_none(), Doubt::NoLine(nobodys)),
    ]
    .into_iter()
    .filter_map(|(holds, doubt)| holds.then_some(doubt))
    .collect()
}

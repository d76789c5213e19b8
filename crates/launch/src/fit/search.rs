//! The cheapest point that fits, with few trials.
//!
//! Taking more of a measure never needs more memory: a point that does not fit rules out all that take less of
//! everything, and one that fits sets the price to beat. What a point needs is guessed from those that were tried, so that
//! the first guess is nearly right; what counts is only what was tried.

use std::collections::HashMap;

use oomph_trace::Bytes;

use super::point::{Point, Space};

/// What a trial of a point showed.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// The most that was in use; `None`: the program failed.
    pub(super) needs: Option<Bytes>,
    /// Whether it fits, and what that costs beside the point's own measures: a setting, or nothing.
    pub(super) fits: Option<u32>,
}

/// The trials of one search.
pub(super) struct Search<'a> {
    space: &'a Space,
    /// All points with their costs, the cheapest first.
    points: Vec<(Point, u32)>,
    allowed: Bytes,
    pub(super) tried: HashMap<Point, Outcome>,
}

impl Search<'_> {
    pub(super) fn new(space: &Space, allowed: Bytes) -> Search<'_> {
        let points = space.points().into_iter().map(|point| (point, space.costs(point))).collect();
        Search { space, points, allowed, tried: HashMap::new() }
    }

    /// The point to try next; `None` when the cheapest that fits is known, or that none does.
    pub(super) fn next(&self) -> Option<Point> {
        let best = self.best();
        let price = best.map(|(_, costs)| costs);
        let cheaper = self.points.iter().take_while(|(_, costs)| price.is_none_or(|price| *costs < price));
        let open: Vec<Point> =
            cheaper.map(|(point, _)| *point).filter(|point| self.is_open(*point)).collect();
        // Whether anything fits is shown by what takes most of everything. Then the cheapest that should fit is tried; and
        // last, what is left has to be ruled out: what needs least rules out most.
        let strongest = || open.iter().max_by_key(|point| (point.form, point.blocks, point.parts));
        let likely = || open.iter().find(|point| self.guess(**point) <= self.allowed);
        let least = || open.iter().min_by_key(|point| self.guess(**point));
        let next = if self.tried.is_empty() {
            open.first()
        } else if best.is_none() {
            strongest()
        } else if let Some(telling) = self.telling(best) {
            return Some(telling);
        } else {
            likely().or_else(least)
        };
        next.copied()
    }

    /// A trial that tells much. Where only another form of the optimizers is known to fit: everything else without it,
    /// which shows whether it is needed. Where it is, each other measure beside it: without it the optimizers' memory hides
    /// what they do.
    fn telling(&self, best: Option<(Point, u32)>) -> Option<Point> {
        best.filter(|(best, _)| best.form)?;
        let strongest = self.space.strongest();
        let base = Point { form: true, blocks: 0, parts: 1 };
        let plain = Point { form: false, ..strongest };
        let beside = [Point { blocks: strongest.blocks, ..base }, Point { parts: strongest.parts, ..base }];
        let wanted: &[Point] = if self.needs_form() { &beside } else { &[plain] };
        wanted.iter().copied().find(|point| self.is_open(*point))
    }

    /// Whether nothing fits without another form of the optimizers.
    fn needs_form(&self) -> bool {
        let plain = Point { form: false, ..self.space.strongest() };
        self.tried.get(&plain).is_some_and(|outcome| outcome.fits.is_none() && outcome.needs.is_some())
    }

    /// The cheapest that fits of those that were tried, and its cost.
    pub(super) fn best(&self) -> Option<(Point, u32)> {
        let fitting = self
            .tried
            .iter()
            .filter_map(|(point, outcome)| Some((*point, self.space.costs(*point) + outcome.fits?)));
        fitting.min_by_key(|(point, costs)| (*costs, self.space.costs(*point)))
    }

    /// Whether a point could still be the answer: not tried, and not ruled out.
    fn is_open(&self, point: Point) -> bool {
        // A program that failed says nothing of others.
        let too_much = |outcome: &Outcome| outcome.fits.is_none() && outcome.needs.is_some();
        let failed = |(tried, outcome): (&Point, &Outcome)| too_much(outcome) && tried.covers(point);
        !self.tried.contains_key(&point) && !self.tried.iter().any(failed)
    }

    /// What a point should need: what the nearest that was tried needs, and from there what the model says; no more than
    /// what takes less of everything needs, no less than what takes more.
    fn guess(&self, point: Point) -> Bytes {
        let model = self.model();
        let known = || self.tried.iter().filter_map(|(tried, outcome)| Some((*tried, outcome.needs?)));
        let distance = |tried: Point| (model.of(tried) - model.of(point)).abs();
        let nearest = known().min_by(|(a, _), (b, _)| {
            (a.form != point.form).cmp(&(b.form != point.form)).then(distance(*a).total_cmp(&distance(*b)))
        });
        let Some((from, needs)) = nearest else { return Bytes(u64::MAX) };
        let guess = (needs.0 as f64 + model.of(point) - model.of(from)).max(0.0) as u64;
        let most = known().filter(|(tried, _)| point.covers(*tried)).map(|(_, needs)| needs.0).min();
        let least = known().filter(|(tried, _)| tried.covers(point)).map(|(_, needs)| needs.0).max();
        Bytes(guess.min(most.unwrap_or(u64::MAX)).max(least.unwrap_or(0)))
    }

    /// What the trials of each measure by itself say.
    fn model(&self) -> Model {
        let base = Point { form: self.space.form.is_some() && self.needs_form(), blocks: 0, parts: 1 };
        let strongest = self.space.strongest();
        let needs = |point: Point| Some(self.tried.get(&point)?.needs?.0 as f64);
        let whole = needs(base).unwrap_or(0.0);
        let parts = f64::from(strongest.parts);
        let fixed = needs(Point { parts: strongest.parts, ..base })
            .filter(|_| parts > 1.0)
            .map_or(0.0, |least| ((least * parts - whole) / (parts - 1.0)).clamp(0.0, whole));
        let batch = whole - fixed;
        let all = needs(Point { blocks: strongest.blocks, ..base });
        let blocks = all.map_or(0.0, |all| ((whole - all) / batch.max(1.0)).clamp(0.0, 1.0));
        Model { fixed, batch, blocks: blocks / f64::from(strongest.blocks.max(1)) }
    }
}

/// What a step needs: some that does not depend on the batch, and some that grows with it, part of which is the blocks'.
struct Model {
    fixed: f64,
    batch: f64,
    /// The share of what grows that one block has, and gives up when it is checkpointed.
    blocks: f64,
}

impl Model {
    fn of(&self, point: Point) -> f64 {
        let kept = (1.0 - self.blocks * f64::from(point.blocks)).max(0.0);
        self.fixed + self.batch * kept / f64::from(point.parts.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::Form;

    /// A program whose memory is a formula: what its parts hold.
    #[derive(Clone, Copy, Debug)]
    struct Case {
        blocks: u32,
        fixed: u64,
        temporaries: u64,
        each_block: u64,
        rest: u64,
    }

    impl Case {
        /// The peak: of a step's activations, or of the optimizer.
        fn needs(&self, point: Point) -> u64 {
            let kept = u64::from(self.blocks - point.blocks) * self.each_block;
            let inputs = u64::from(point.blocks) * self.each_block / 20;
            let step = self.fixed + (kept + inputs + self.rest) / u64::from(point.parts);
            let update = self.fixed + if point.form { 0 } else { self.temporaries };
            step.max(update)
        }
    }

    fn space(blocks: u32, batch: u32) -> Space {
        use oomph_trace::sidecar::MeasureNotes;

        let notes = MeasureNotes {
            blocks,
            forms: vec![Form::Fused.name().to_owned()],
            trainer_batch: Some(batch),
            counts_labels: true,
            ..MeasureNotes::default()
        };
        Space::of(&notes, &[], None)
    }

    /// Searches, and gives the answer and how many trials it took.
    fn search(case: Case, batch: u32, allowed: u64) -> (Option<u32>, usize) {
        let space = space(case.blocks, batch);
        let mut search = Search::new(&space, Bytes(allowed));
        let outcome = |point| {
            let needs = case.needs(point);
            Outcome { needs: Some(Bytes(needs)), fits: (needs <= allowed).then_some(0) }
        };
        let base = Point { parts: 1, ..Point::default() };
        search.tried.insert(base, outcome(base));
        if search.best().is_none() {
            search.tried.extend(space.alone().into_iter().map(|point| (point, outcome(point))));
        }
        while let Some(point) = search.next() {
            let before = search.tried.insert(point, outcome(point));
            assert!(before.is_none(), "{point:?} is tried twice");
        }
        (search.best().map(|(_, costs)| costs), search.tried.len())
    }

    /// What trying every point finds.
    fn by_hand(case: Case, batch: u32, allowed: u64) -> Option<u32> {
        let space = space(case.blocks, batch);
        let fits = |point: &Point| case.needs(*point) <= allowed;
        space.points().into_iter().filter(fits).map(|point| space.costs(point)).min()
    }

    #[test]
    fn the_cheapest_that_fits_is_found_with_few_trials() {
        for (blocks, batch) in [(12, 8), (24, 1), (0, 16), (3, 12), (80, 64)] {
            for (fixed, temporaries, each_block, rest) in
                [(400, 200, 50, 100), (400, 900, 50, 100), (100, 10, 5, 900), (1000, 0, 100, 10)]
            {
                let case = Case { blocks, fixed, temporaries, each_block, rest };
                let whole = case.needs(Point { form: false, blocks: 0, parts: 1 });
                for percent in (5..=105).step_by(5) {
                    let allowed = whole * percent / 100;
                    let (found, trials) = search(case, batch, allowed);
                    assert_eq!(found, by_hand(case, batch, allowed), "{case:?} batch {batch} in {percent}%");
                    let most = if blocks > 24 { 26 } else { 14 };
                    assert!(trials <= most, "{case:?} batch {batch} in {percent}% took {trials} trials");
                }
            }
        }
    }
}

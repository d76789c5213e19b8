//! The cheapest point that fits, with few trials.
//!
//! Taking more of a measure never needs more memory: a point that does not fit rules out all that take less of
//! everything, and one that fits sets the price to beat. What a point needs is guessed from those that were tried, so that
//! the first guess is nearly right; what counts is only what was tried.

use std::collections::BTreeMap;

use oomph_trace::Bytes;

use super::point::{Point, Rung, Space};

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
    pub(super) tried: BTreeMap<Point, Outcome>,
}

impl Search<'_> {
    pub(super) fn new(space: &Space, allowed: Bytes) -> Search<'_> {
        let points = space.points().into_iter().map(|point| (point, space.costs(point))).collect();
        Search { space, points, allowed, tried: BTreeMap::new() }
    }

    /// The point to try next; `None` when the cheapest that fits is known, or that none does.
    pub(super) fn next(&self) -> Option<Point> {
        let best = self.best();
        let price = best.map(|(_, costs)| costs);
        let cheaper = self.points.iter().take_while(|(_, costs)| price.is_none_or(|price| *costs < price));
        let open: Vec<Point> =
            cheaper.map(|(point, _)| *point).filter(|point| self.is_open(*point)).collect();
        // Whether anything fits is shown by what takes most of everything, first of what is not on the host. Then the
        // cheapest that should fit is tried; and last, what is left has to be ruled out: by what takes most.
        let strongest = || {
            let takes = |point: &&Point| (point.form, point.chunks, point.blocks, point.parts, point.host);
            let on_card = open.iter().filter(|point| point.host == 0);
            on_card.max_by_key(takes).or_else(|| open.iter().max_by_key(takes))
        };
        let model = self.model();
        let likely = || open.iter().find(|point| self.guess(&model, **point) <= self.allowed);
        let is_most = |point: &&Point| !open.iter().any(|other| other != *point && other.covers(**point));
        let least = || open.iter().filter(is_most).min_by_key(|point| self.guess(&model, **point));
        let next = if self.tried.is_empty() {
            open.first()
        } else if let Some((best, _)) = best {
            if let Some(telling) = self.telling(best).find(|point| self.is_open(*point)) {
                return Some(telling);
            }
            likely().or_else(least)
        } else {
            strongest()
        };
        next.copied()
    }

    /// Trials that tell much. Where only something on the host is known to fit: everything else. Where only another form of
    /// something is known to fit, of the optimizers or of the loss: everything else without it, which shows whether it is
    /// needed. Where it is, each other measure beside it: without it the memory of the optimizers or of the loss hides what
    /// they do.
    fn telling(&self, best: Point) -> impl Iterator<Item = Point> {
        let strongest = self.strongest();
        let base = self.base();
        let plain = [
            (best.host > 0).then_some(strongest),
            (best.form && !base.form).then_some(Point { form: false, ..strongest }),
            (best.chunks && !base.chunks).then_some(Point { chunks: false, ..strongest }),
        ];
        let beside = [Point { blocks: strongest.blocks, ..base }, Point { parts: strongest.parts, ..base }];
        plain
            .into_iter()
            .flatten()
            .chain(beside.into_iter().filter(move |_| base.form || base.chunks || base.host > 0))
    }

    /// All of every measure but what is on the host.
    fn strongest(&self) -> Point {
        Point { host: 0, ..self.space.strongest() }
    }

    /// What the other measures are taken beside: all that is on the host, where nothing fits on the card alone; else the
    /// forms without which nothing fits.
    fn base(&self) -> Point {
        let strongest = self.strongest();
        let fails = |point: Point| {
            self.tried.get(&point).is_some_and(|outcome| outcome.fits.is_none() && outcome.needs.is_some())
        };
        if fails(strongest) {
            return self.space.on_host();
        }
        Point {
            form: strongest.form && fails(Point { form: false, ..strongest }),
            chunks: strongest.chunks && fails(Point { chunks: false, ..strongest }),
            blocks: 0,
            parts: 1,
            host: 0,
        }
    }

    /// The cheapest that fits of those that were tried, and its cost.
    pub(super) fn best(&self) -> Option<(Point, u32)> {
        let fitting = self
            .tried
            .iter()
            .filter_map(|(point, outcome)| Some((*point, self.space.costs(*point) + outcome.fits?)));
        fitting.min_by_key(|(point, costs)| (*costs, self.space.costs(*point), *point))
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
    fn guess(&self, model: &Model, point: Point) -> Bytes {
        let known = || self.tried.iter().filter_map(|(tried, outcome)| Some((*tried, outcome.needs?)));
        let needs = |point: Point| model.of(point, self.space.rung(point));
        let whole = needs(point);
        let differs = |tried: Point| (tried.form != point.form) || (tried.chunks != point.chunks);
        let far = |tried: Point| (needs(tried) - whole).abs();
        let nearest =
            known().min_by(|(a, _), (b, _)| differs(*a).cmp(&differs(*b)).then(far(*a).total_cmp(&far(*b))));
        let Some((from, had)) = nearest else { return Bytes(u64::MAX) };
        let guess = (had.0 as f64 + whole - needs(from)).max(0.0) as u64;
        let most = known().filter(|(tried, _)| point.covers(*tried)).map(|(_, needs)| needs.0).min();
        let least = known().filter(|(tried, _)| tried.covers(point)).map(|(_, needs)| needs.0).max();
        Bytes(guess.min(most.unwrap_or(u64::MAX)).max(least.unwrap_or(0)))
    }

    /// What the trials of each measure by itself say.
    fn model(&self) -> Model {
        let strongest = self.space.strongest();
        let base = self.base();
        let needs = |point: Point| Some(self.tried.get(&point)?.needs?.0 as f64);
        let whole = needs(base).unwrap_or(0.0);
        let parts = f64::from(strongest.parts);
        let fixed = needs(Point { parts: strongest.parts, ..base })
            .filter(|_| parts > 1.0)
            .map_or(0.0, |least| ((least * parts - whole) / (parts - 1.0)).clamp(0.0, whole));
        let batch = whole - fixed;
        let share = |point: Point, less: f64| {
            needs(point).map_or(0.0, |all| ((whole - less - all) / batch.max(1.0)).clamp(0.0, 1.0))
        };
        let blocks = share(Point { blocks: strongest.blocks, ..base }, 0.0);
        let top = self.space.rung(self.space.on_host());
        let state = if top.state { self.space.state as f64 } else { 0.0 };
        let saved = if base.host == 0 {
            share(self.space.on_host(), state)
        } else {
            let as_it_is = needs(Point { parts: 1, ..Point::default() }).unwrap_or(0.0);
            ((as_it_is - state - fixed) / batch.max(1.0) - 1.0).max(0.0)
        };
        let blocks = blocks / f64::from(strongest.blocks.max(1));
        let eighth = saved / f64::from(top.eighths.max(1));
        Model { from: self.space.rung(base), fixed, batch, blocks, state, eighth }
    }
}

/// What a step needs: some that does not depend on the batch, part of which is the optimizers' state, and some that grows
/// with it, part of which is the blocks' and part of which is saved.
struct Model {
    /// What is on the host where the other numbers hold.
    from: Rung,
    fixed: f64,
    batch: f64,
    /// The share of what grows that one block has, and gives up when it is checkpointed.
    blocks: f64,
    state: f64,
    /// The share of what grows that an eighth of what is saved has.
    eighth: f64,
}

impl Model {
    fn of(&self, point: Point, rung: Rung) -> f64 {
        let kept = (1.0 - self.blocks * f64::from(point.blocks)).max(0.0);
        let more = f64::from(self.from.eighths) - f64::from(rung.eighths);
        let here = (1.0 + self.eighth * more).max(0.0);
        let state = self.state * (f64::from(self.from.state) - f64::from(rung.state));
        self.fixed + state + self.batch * kept * here / f64::from(point.parts.max(1))
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
        state: u64,
        temporaries: u64,
        logits: u64,
        each_block: u64,
        rest: u64,
    }

    impl Case {
        /// The peak: of a step's activations, of the loss on top of them, or of the optimizer.
        fn needs(&self, space: &Space, point: Point) -> u64 {
            let rung = space.rung(point);
            let kept = u64::from(self.blocks - point.blocks) * self.each_block;
            let inputs = u64::from(point.blocks) * self.each_block / 20;
            let here = (kept + inputs) * u64::from(8 - rung.eighths) / 8 + self.each_block / 10;
            let loss = if point.chunks { 2 } else { 4 } * self.logits;
            let held = self.fixed + if rung.state { 0 } else { self.state };
            let step = held + (here + self.rest.max(loss)) / u64::from(point.parts);
            let temporaries = if point.form { 0 } else { self.temporaries };
            // A part of the state at a time needs a part of what the optimizer works in.
            let update = if rung.state { self.fixed + self.state / 10 } else { held + temporaries };
            step.max(update)
        }
    }

    fn space(blocks: u32, batch: u32, state: u64) -> Space {
        use oomph_trace::sidecar::MeasureNotes;

        let notes = MeasureNotes {
            blocks,
            forms: vec![Form::Fused.name().to_owned()],
            logits: 1,
            trains: true,
            trainer_batch: Some(batch),
            counts_labels: true,
            ..MeasureNotes::default()
        };
        let space = Space::of(&MeasureNotes { state: 1 << 30, ..notes }, &[], None);
        Space { state, ..space }
    }

    /// Searches, and gives the answer and how many trials it took.
    fn search(case: Case, batch: u32, allowed: u64) -> (Option<u32>, usize) {
        let space = space(case.blocks, batch, case.state);
        let mut search = Search::new(&space, Bytes(allowed));
        let outcome = |point| {
            let needs = case.needs(&space, point);
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
        let space = space(case.blocks, batch, case.state);
        let fits = |point: &Point| case.needs(&space, *point) <= allowed;
        space.points().into_iter().filter(fits).map(|point| space.costs(point)).min()
    }

    #[test]
    fn the_cheapest_that_fits_is_found_with_few_trials() {
        let mut taken = Vec::new();
        for (blocks, batch) in [(12, 8), (24, 1), (0, 16), (3, 12), (80, 64)] {
            for (fixed, state, temporaries, each_block, logits, rest) in [
                (300, 100, 200, 50, 0, 100),
                (400, 0, 900, 50, 10, 100),
                (100, 0, 10, 5, 250, 900),
                (500, 500, 0, 100, 100, 10),
                (100, 200, 500, 20, 200, 10),
                (200, 800, 100, 10, 5, 10),
            ] {
                let case = Case { blocks, fixed, state, temporaries, logits, each_block, rest };
                let whole = case.needs(&space(blocks, batch, state), Point { parts: 1, ..Point::default() });
                for percent in (5..=105).step_by(5) {
                    let allowed = whole * percent / 100;
                    let (found, trials) = search(case, batch, allowed);
                    assert_eq!(found, by_hand(case, batch, allowed), "{case:?} batch {batch} in {percent}%");
                    assert!(trials <= 26, "{case:?} batch {batch} in {percent}% took {trials} trials");
                    taken.push(trials);
                }
            }
        }
        let mean = taken.iter().sum::<usize>() as f64 / taken.len() as f64;
        assert!(mean < 10.0, "{mean} trials in the mean");
    }
}

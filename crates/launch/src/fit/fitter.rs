//! The fitter: from a script and a card to the cheapest measures under which it fits.

use anyhow::Result;
use oomph_diagnose::results::fit::FitResult;
use oomph_diagnose::results::plan::PlannedPeaks;
use oomph_trace::Bytes;
use oomph_trace::cards::card_named;

use super::point::{Point, Space};
use super::remembered::{Place, Remembered};
use super::request::{Family, Request};
use super::runs::{Runs, Trials, Tried, name, words};
use super::search::{Outcome, Search};
use crate::job::Job;
use crate::measures::Measures;
use crate::plan::answer;
use crate::plan::trial::{Prints, Trial};

/// The card that stands for any where only a limit is named.
const ANY_CARD: &str = "H200";
/// How much of the memory can be in use, in percent: with the best settings a few percent are held besides.
const USABLE: u64 = 97;
/// The steps that are timed: after the first ones, which allocate.
const TIMED: (u32, u32) = (4, 12);

/// The answer, and the job to run by it.
#[derive(Debug)]
pub struct Fit {
    /// The answer.
    pub result: FitResult,
    /// The program with its measures; `None` where nothing fits.
    pub job: Option<Job>,
}

/// Searches, or takes what was found the last time. `say` is told, in a line, what is being tried.
pub fn fit(request: &Request, say: &(dyn Fn(&str) + Sync)) -> Result<Fit> {
    let card = card_named(request.gpu.as_deref().unwrap_or(ANY_CARD))?;
    let runs = Runs::new(request, card, say)?;
    let mut result = FitResult {
        script: runs.job.program.stem.clone(),
        card: card.clone(),
        limit: request.limit,
        allowed: runs.allowed,
        peaks: None,
        tried: Vec::new(),
        chosen: None,
        offered: Vec::new(),
        caveats: Vec::new(),
        why_not: None,
    };
    let place = Place::of(request, &runs.job, runs.folder.path.parent().unwrap_or(&runs.folder.path));
    let remembered = if request.again { None } else { place.read() };
    let found = match remembered {
        Some(remembered) => {
            result.caveats.push("found by an earlier search; --again searches again".to_owned());
            Some(runs.recalled(&mut result, remembered))
        }
        None => runs.searched(&mut result, &place)?,
    };
    let Some(mut found) = found else { return Ok(Fit { result, job: None }) };
    if request.has_gpu {
        runs.time(&mut found)?;
    }
    result.chosen = found.best.and_then(|best| found.tried.iter().position(|tried| tried.point == best));
    let job = result.chosen.map(|chosen| runs.job_of(&found.space, &found.tried[chosen]));
    result.tried = found.tried.into_iter().map(|tried| tried.combination).collect();
    Ok(Fit { result, job: job.transpose()? })
}

/// What would help and is not done by itself.
fn offered(base: &Trial, request: &Request) -> Vec<String> {
    let notes = &base.measures;
    let mut offered = Vec::new();
    if notes.batch_norm {
        offered.push(
            "micro-batches: the model has BatchNorm, whose statistics would be those of smaller batches"
                .to_owned(),
        );
    } else if let Some(why) = &notes.why_whole {
        offered.push(format!("micro-batches: {why}"));
    } else if notes.trainer_batch.is_some() && !notes.counts_labels && notes.framework_loop.is_none() {
        offered.push(
            "micro-batches: this Trainer takes the mean of means, which is another loss where batches have labels of \
             different number"
                .to_owned(),
        );
    } else if notes.trainer_batch.is_none() && request.flags.is_none() {
        offered.push(
            "micro-batches: name the script's flags (--vary --batch-size --accumulate --grad-accum), or put \
             @oomph.fit on the step"
                .to_owned(),
        );
    }
    offered
}

/// What a search found.
struct Found {
    space: Space,
    tried: Vec<Tried>,
    best: Option<Point>,
    /// What might be quicker than the best.
    rivals: Vec<Point>,
    /// Why batches were not cut, though the loop could be told to.
    unproved: Option<String>,
}

impl Runs<'_> {
    /// Searches, and keeps what is found. `None`: there is no answer, and the result says why.
    fn searched(&self, result: &mut FitResult, place: &Place) -> Result<Option<Found>> {
        (self.say)("trying the script as it is");
        let base = self.trial(&self.job, "as-it-is", Prints::ToFile)?;
        let told = answer::of(&self.job.program.stem, &base, self.card, self.card, self.request.limit);
        result.peaks = told.peaks;
        result.caveats.extend(told.caveats);
        result.offered = offered(&base, self.request);
        let Some(peaks) = told.peaks else {
            result.why_not = told.why_not;
            return Ok(None);
        };
        let flags =
            self.request.flags.as_ref().map(|(batch, accumulate)| (batch.as_str(), accumulate.as_str()));
        let space = Space::of(&base.measures, &self.job.program.args, flags);
        let without = &self.request.without;
        let space = without.iter().fold(space, |space, family| family.out_of(space));
        let found = self.search(space, &base)?;
        result.offered.extend(found.unproved.as_ref().map(|why| format!("micro-batches: {why}")));
        let mut kept = Remembered::new(found.space.clone(), found.best, found.rivals.clone());
        kept.peaks = [peaks.requested.0, peaks.allocated.0, peaks.reserved.0];
        kept.trials = found.tried.iter().map(Tried::kept).collect();
        (kept.offered, kept.caveats) = (result.offered.clone(), result.caveats.clone());
        place.write(kept, &self.job, self.allowed);
        Ok(Some(found))
    }

    /// What was found the last time.
    fn recalled(&self, result: &mut FitResult, kept: Remembered) -> Found {
        let [requested, allocated, reserved] = kept.peaks.map(Bytes);
        result.peaks = Some(PlannedPeaks { requested, allocated, reserved });
        result.offered = kept.offered;
        result.caveats.extend(kept.caveats);
        let tried = kept.trials.into_iter().map(|trial| Tried::recalled(&kept.space, trial)).collect();
        Found { space: kept.space, best: kept.best, rivals: kept.rivals, tried, unproved: None }
    }

    fn search(&self, mut space: Space, base: &Trial) -> Result<Found> {
        let as_it_is = Point { parts: 1, ..Point::default() };
        let mut trials = Trials::from([(as_it_is, self.judged(&space, as_it_is, base))]);
        let mut unproved = None;
        if trials[&as_it_is].1.fits.is_none() {
            if let Some(cut) = space.cut.as_ref().filter(|cut| cut.needs_proof()) {
                unproved = self.why_unproved(cut)?;
            }
            if unproved.is_some() {
                space.cut = None;
            }
            // Each by itself, two at a time: each run keeps about one core busy.
            for pair in space.clone().alone().chunks(2) {
                for (point, tried, outcome) in self.try_all(&space, pair)? {
                    match outcome {
                        Some(outcome) => drop(trials.insert(point, (tried, outcome))),
                        None if point.host > 0 => space = Family::HostActivations.out_of(space),
                        None => space = space.without(point),
                    }
                }
            }
            // Where activations cannot be on the host, the state may be.
            let on_host = space.on_host();
            if on_host.host > 0 && !trials.contains_key(&on_host) {
                for (point, tried, outcome) in self.try_all(&space, &[on_host])? {
                    match outcome {
                        Some(outcome) => drop(trials.insert(point, (tried, outcome))),
                        None => space = space.without(point),
                    }
                }
            }
        }
        let best = self.cheapest(&space, &space, &mut trials)?;
        let mut rivals: Vec<Point> = best.into_iter().collect();
        if best.is_some_and(|best| best != as_it_is) {
            // What it would take without each of its dear measures: shown to the user, and timed where there is a GPU.
            let on_host = Point { host: 1, ..as_it_is };
            let without = [
                Family::Checkpointing.out_of(space.clone()),
                Family::MicroBatches.out_of(space.clone()),
                space.clone().without(on_host),
            ];
            for smaller in without {
                rivals.extend(self.cheapest(&smaller, &space, &mut trials)?);
            }
        }
        rivals.sort_unstable_by_key(|point| {
            (space.costs(*point), point.blocks, point.parts, point.host, point.form, point.chunks)
        });
        rivals.dedup();
        for point in &rivals {
            if let Some((tried, _)) = trials.get_mut(point) {
                self.measure_setting(&space, tried)?;
            }
        }
        let mut tried: Vec<Tried> = trials.into_values().map(|(tried, _)| tried).collect();
        tried.sort_by_key(|tried| tried.combination.costs());
        Ok(Found { best, rivals, tried, space, unproved })
    }

    /// What was replayed with a setting is run with it, too: what it holds then is what it will hold.
    fn measure_setting(&self, space: &Space, tried: &mut Tried) -> Result<()> {
        if tried.setting.is_none() {
            return Ok(());
        }
        (self.say)(&format!("trying {}", words(&tried.combination.measures)));
        let job = Job {
            plan: self.job.plan,
            ring: self.job.ring,
            limit: None,
            card: None,
            ..self.job_of(space, tried)?
        };
        let trial = self.trial(&job, &format!("set-{}", name(tried.point)), Prints::ToFile)?;
        if let Some(within) = answer::within(&trial, self.allowed).filter(|_| trial.failure.is_none()) {
            tried.combination.peak_reserved = Some(within.held);
        }
        Ok(())
    }

    /// The cheapest point of a part of the space that fits.
    fn cheapest(&self, part: &Space, whole: &Space, trials: &mut Trials) -> Result<Option<Point>> {
        let mut search = Search::new(part, Bytes(self.allowed.0 / 100 * USABLE));
        search.tried = trials.iter().map(|(point, (_, outcome))| (*point, outcome.clone())).collect();
        let is_of_part = |point: &Point| part.strongest().covers(*point);
        search.tried.retain(|point, _| is_of_part(point));
        while let Some(point) = search.next() {
            for (point, tried, outcome) in self.try_all(whole, &[point])? {
                let outcome = outcome.unwrap_or(Outcome { needs: None, fits: None });
                search.tried.insert(point, outcome.clone());
                trials.insert(point, (tried, outcome));
            }
        }
        Ok(search.best().map(|(point, _)| point))
    }

    /// Times the rivals on the GPU that is there; the quickest is the best. One that cannot be timed counts as estimated.
    fn time(&self, found: &mut Found) -> Result<()> {
        if found.rivals.len() < 2 {
            return Ok(());
        }
        for tried in &mut found.tried {
            if !found.rivals.contains(&tried.point) {
                continue;
            }
            (self.say)(&format!("timing {}", words(&tried.combination.measures)));
            let mut job = self.job_of(&found.space, tried)?;
            job.measures = job.measures.map(|measures| Measures { timed: Some(TIMED), ..measures });
            let folder = self.folder.within(&format!("timed-{}", name(tried.point)), &job)?;
            let trial = self.stage.run_on_gpu(&job, &folder)?;
            tried.combination.step_us = trial.measures.step_us.filter(|_| trial.failure.is_none());
        }
        let timed = found.tried.iter().filter_map(|tried| Some((tried.point, tried.combination.step_us?)));
        found.best = timed.min_by_key(|(_, step)| *step).map(|(point, _)| point).or(found.best);
        Ok(())
    }
}

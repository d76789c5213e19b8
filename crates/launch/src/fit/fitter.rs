//! The fitter: from a script and a card to the cheapest measures under which it fits.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use oomph_diagnose::results::fit::{Combination, FitResult, Measure};
use oomph_diagnose::results::plan::PlannedPeaks;
use oomph_diagnose::tune::{Candidate, Search as Settings};
use oomph_machine::cores;
use oomph_trace::Bytes;
use oomph_trace::cards::{Card, card_named};

use super::point::{self, Point, Space};
use super::remembered::{self, Place, Remembered};
use super::search::{Outcome, Search};
use crate::folder::RunFolder;
use crate::job::Job;
use crate::measures::Measures;
use crate::plan::cards::CONTEXT;
use crate::plan::planner::{self, RequestError};
use crate::plan::trial::{Prints, Stage, Trial};
use crate::plan::{answer, phantom};
use crate::program::Target;
use crate::settings;

/// The card that stands for any where only a limit is named.
const ANY_CARD: &str = "H200";
/// A cache that is given back once, as a job starts, costs nothing; one that is given back again and again does.
const RETRIES: u64 = 1;
/// How much of the memory can be in use, in percent: with the best settings a few percent are held besides.
const USABLE: u64 = 97;
/// The steps that are timed: after the first ones, which allocate.
const TIMED: (u32, u32) = (4, 12);

/// A wish: this program, in this memory.
#[derive(Clone, Debug)]
pub struct Request {
    /// The program.
    pub target: Target,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The interpreter, where the user insists on one.
    pub python: Option<PathBuf>,
    /// PyTorch's allocator settings.
    pub settings: Vec<String>,
    /// The phantom's library, where the caller's own package has one.
    pub library: Option<PathBuf>,
    /// The card's name.
    pub gpu: Option<String>,
    /// What PyTorch may hold.
    pub limit: Option<Bytes>,
    /// The script's flags for the batch and for accumulation.
    pub flags: Option<(String, String)>,
    /// Optimizer steps to run; `None`: until the peak stands still.
    pub steps: Option<u64>,
    /// How long one run may take.
    pub longest: Duration,
    /// Measures that are not to be taken.
    pub without: Vec<Family>,
    /// Whether to search though the answer is known from the last time.
    pub again: bool,
    /// Whether there is a GPU on which those that fit can be timed.
    pub has_gpu: bool,
}

/// A family of measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Settings of the allocator.
    Settings,
    /// Forms of the optimizer.
    Optimizer,
    /// Gradient checkpointing.
    Checkpointing,
    /// Micro-batches.
    MicroBatches,
}

impl Family {
    /// A point that takes nothing else.
    fn point(self) -> Point {
        let nothing = Point { parts: 1, ..Point::default() };
        match self {
            Family::Settings => nothing,
            Family::Optimizer => Point { form: true, ..nothing },
            Family::Checkpointing => Point { blocks: 1, ..nothing },
            Family::MicroBatches => Point { parts: 2, ..nothing },
        }
    }
}

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
    let fitter = Fitter::new(request, card, say)?;
    let mut result = FitResult {
        script: fitter.job.program.stem.clone(),
        card: card.clone(),
        context: CONTEXT,
        limit: request.limit,
        allowed: fitter.allowed,
        peaks: None,
        tried: Vec::new(),
        chosen: None,
        offered: Vec::new(),
        caveats: Vec::new(),
        why_not: None,
    };
    let place = Place::of(request, &fitter.job, fitter.folder.path.parent().unwrap_or(&fitter.folder.path));
    let remembered = if request.again { None } else { place.read() };
    let found = match remembered {
        Some(remembered) => {
            result.caveats.push("found by an earlier search; --again searches again".to_owned());
            fitter.recalled(&mut result, remembered)
        }
        None => fitter.searched(&mut result, &place)?,
    };
    let Some(mut found) = found else { return Ok(Fit { result, job: None }) };
    if request.has_gpu {
        fitter.time(&mut found)?;
    }
    result.chosen = found.best.and_then(|best| found.tried.iter().position(|tried| tried.point == best));
    let job = result.chosen.map(|chosen| fitter.job_of(&found.space, &found.tried[chosen]));
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
    } else if notes.trainer_batch.is_some() && !notes.counts_labels {
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

/// A point that was tried.
struct Tried {
    point: Point,
    setting: Option<String>,
    combination: Combination,
}

impl Tried {
    fn kept(&self) -> remembered::Trial {
        remembered::Trial {
            point: self.point,
            setting: self.setting.clone(),
            peak_reserved: self.combination.peak_reserved.map(|peak| peak.0),
            fits: self.combination.fits,
        }
    }

    fn recalled(space: &Space, trial: remembered::Trial) -> Tried {
        let peak = trial.peak_reserved.map(Bytes);
        Tried::new(space, trial.point, trial.setting, peak, trial.fits)
    }

    fn new(space: &Space, point: Point, setting: Option<String>, peak: Option<Bytes>, fits: bool) -> Tried {
        let mut measures = space.measures(point);
        if let Some(options) = &setting {
            measures.insert(0, point::setting(options));
        }
        let combination = Combination { measures, peak_reserved: peak, fits, step_us: None };
        Tried { point, setting, combination }
    }
}

/// The trials of a search, and what they showed.
type Trials = HashMap<Point, (Tried, Outcome)>;

/// What a search found.
struct Found {
    space: Space,
    tried: Vec<Tried>,
    best: Option<Point>,
    /// What might be quicker than the best.
    rivals: Vec<Point>,
}

struct Fitter<'a> {
    request: &'a Request,
    card: &'a Card,
    say: &'a (dyn Fn(&str) + Sync),
    job: Job,
    folder: RunFolder,
    stage: Stage,
    allowed: Bytes,
}

impl Fitter<'_> {
    fn new<'a>(request: &'a Request, card: &'a Card, say: &'a (dyn Fn(&str) + Sync)) -> Result<Fitter<'a>> {
        let Request { target, args, python, settings, steps, .. } = request;
        let job = planner::job(target, args, python.as_deref(), settings, *steps)?;
        let job = Job { measures: Some(Measures::default()), ..job };
        let folder = std::env::current_dir()
            .and_then(|here| RunFolder::create(&here, &job))
            .context("cannot write .oomph/ here, where the trials' recordings go")?;
        let library = phantom::find(request.library.as_deref(), &folder.hook).map_err(RequestError::from)?;
        let stage = Stage { library, longest: request.longest };
        let allowed = answer::allowed(card, request.limit);
        Ok(Fitter { request, card, say, job, folder, stage, allowed })
    }

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
        let space = without.iter().fold(space, |space, family| space.without(family.point()));
        let found = self.search(space, &base)?;
        let mut kept = Remembered::new(found.space.clone(), found.best, found.rivals.clone());
        kept.peaks = [peaks.requested.0, peaks.allocated.0, peaks.reserved.0];
        kept.trials = found.tried.iter().map(Tried::kept).collect();
        (kept.offered, kept.caveats) = (result.offered.clone(), result.caveats.clone());
        place.write(kept);
        Ok(Some(found))
    }

    /// What was found the last time.
    fn recalled(&self, result: &mut FitResult, kept: Remembered) -> Option<Found> {
        let [requested, allocated, reserved] = kept.peaks.map(Bytes);
        result.peaks = Some(PlannedPeaks { requested, allocated, reserved });
        result.offered = kept.offered;
        result.caveats.extend(kept.caveats);
        let tried = kept.trials.into_iter().map(|trial| Tried::recalled(&kept.space, trial)).collect();
        Some(Found { space: kept.space, best: kept.best, rivals: kept.rivals, tried })
    }

    /// One run on the phantom, in a folder within the main one.
    fn trial(&self, job: &Job, name: &str, prints: Prints) -> Result<Trial> {
        let folder = self.folder.within(name, job)?;
        let trial = self.stage.run(job, &folder, self.card, prints);
        trial.with_context(|| format!("{}: cannot be started", Path::new(&job.program.called).display()))
    }

    fn search(&self, mut space: Space, base: &Trial) -> Result<Found> {
        let as_it_is = Point { parts: 1, ..Point::default() };
        let mut trials = Trials::from([(as_it_is, self.judged(&space, as_it_is, base))]);
        if trials[&as_it_is].1.fits.is_none() {
            // Each by itself, two at a time: each run keeps about one core busy.
            for pair in space.clone().alone().chunks(2) {
                for (point, tried, outcome) in self.try_all(&space, pair)? {
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
            // What it would take without each of its measures: shown to the user, and timed where there is a GPU.
            for family in [Family::Checkpointing, Family::MicroBatches] {
                let smaller = space.clone().without(family.point());
                rivals.extend(self.cheapest(&smaller, &space, &mut trials)?);
            }
        }
        rivals.sort_unstable_by_key(|point| space.costs(*point));
        rivals.dedup();
        for point in &rivals {
            if let Some((tried, _)) = trials.get_mut(point) {
                self.measure_setting(&space, tried)?;
            }
        }
        let mut tried: Vec<Tried> = trials.into_values().map(|(tried, _)| tried).collect();
        tried.sort_by_key(|tried| tried.combination.costs());
        Ok(Found { best, rivals, tried, space })
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
        if let Some(peaks) = trial.peaks.filter(|_| trial.failure.is_none()) {
            tried.combination.peak_reserved = Some(peaks.reserved.min(self.allowed));
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

    /// Tries points at once. No outcome: the program cannot do that, or failed with it.
    fn try_all(&self, space: &Space, points: &[Point]) -> Result<Vec<(Point, Tried, Option<Outcome>)>> {
        let words: Vec<String> = points.iter().map(|point| words(&space.measures(*point))).collect();
        (self.say)(&format!("trying {}", words.join("; and ")));
        thread::scope(|scope| {
            let runs = points.iter().map(|&point| {
                scope.spawn(move || {
                    let trial = self.trial(&self.job_at(space, point), &name(point), Prints::ToFile)?;
                    let (tried, outcome) = self.judged(space, point, &trial);
                    let is_done = trial.failure.is_none() && trial.is_changed() && trial.peaks.is_some();
                    Ok((point, tried, is_done.then_some(outcome)))
                })
            });
            let runs: Vec<_> = runs.collect();
            let ended = runs.into_iter().map(thread::ScopedJoinHandle::join);
            ended
                .map(|ended| ended.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::Other).into())))
                .collect()
        })
    }

    /// What a trial says: whether it fits as it ran, or with a setting.
    fn judged(&self, space: &Space, point: Point, trial: &Trial) -> (Tried, Outcome) {
        let needs = trial.peaks.filter(|_| trial.failure.is_none()).map(|peaks| peaks.reserved);
        let fits_so = needs.is_some()
            && answer::completes(trial, self.allowed)
                .is_some_and(|(fits, retries)| fits && retries <= RETRIES);
        let is_sought = needs.is_some() && !fits_so && !self.request.without.contains(&Family::Settings);
        let setting = if is_sought { self.setting(trial) } else { None };
        let costs = setting.as_ref().map_or(0, |(options, _)| point::setting(options).costs);
        let fits = fits_so || setting.is_some();
        // Where the cache has to be given back once, it holds what it may.
        let plain = if fits { needs.map(|needs| needs.min(self.allowed)) } else { needs };
        let (setting, peak) = setting.map_or((None, plain), |(options, peak)| (Some(options), Some(peak)));
        let tried = Tried::new(space, point, setting, peak, fits);
        // What is in use is what settings cannot change: points are compared by that.
        let needs = trial.peaks.filter(|_| trial.failure.is_none()).map(|peaks| peaks.allocated);
        (tried, Outcome { needs, fits: fits.then_some(costs) })
    }

    /// The first setting with which the run completes, of those that most often help.
    fn setting(&self, trial: &Trial) -> Option<(String, Bytes)> {
        let recording = trial.recording.as_ref()?;
        let candidates = cores::evaluate_shortlist(&Settings::new(recording, Some(self.allowed)));
        let others = candidates.iter().skip(1);
        // Collecting garbage waits for the GPU again and again.
        let is_cheap = |candidate: &&Candidate| {
            candidate.retries <= RETRIES && candidate.options.garbage_collection_threshold == 0.0
        };
        let first = others.filter(|candidate| candidate.completes).find(is_cheap)?;
        Some((first.options.to_string(), first.peak_reserved))
    }

    /// The program at a point, for a trial.
    fn job_at(&self, space: &Space, point: Point) -> Job {
        let mut job = Job { measures: Some(space.asked(point)), ..self.job.clone() };
        job.program.args = space.args(point, &job.program.args);
        job
    }

    /// The program with what was chosen, to be run in earnest.
    fn job_of(&self, space: &Space, chosen: &Tried) -> Result<Job> {
        let mut job = self.job_at(space, chosen.point);
        if let Some(setting) = &chosen.setting {
            let more = settings::Settings::checked(std::slice::from_ref(setting), &settings::in_force())?;
            job.settings = job.settings.with(&more);
        }
        job.plan = None;
        job.ring = crate::job::RING;
        job.limit = self.request.limit;
        job.card = self
            .request
            .gpu
            .as_deref()
            .filter(|_| job.limit.is_none())
            .and_then(|name| card_named(name).ok());
        Ok(job)
    }
}

/// The folder of a trial.
fn name(point: Point) -> String {
    format!("blocks-{}-parts-{}-form-{}", point.blocks, point.parts, u8::from(point.form))
}

fn words(measures: &[Measure]) -> String {
    let words: Vec<&str> = measures.iter().map(|measure| measure.what.as_str()).collect();
    if words.is_empty() { "the script as it is".to_owned() } else { words.join(" + ") }
}

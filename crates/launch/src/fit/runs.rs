//! Runs of the program with measures, and what each says.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::thread;

use anyhow::{Context, Result};
use oomph_diagnose::results::fit::{Combination, Measure};
use oomph_diagnose::tune::{Candidate, Search as Settings};
use oomph_machine::cores;
use oomph_trace::Bytes;
use oomph_trace::cards::{Card, card_named};

use super::costs;
use super::point::{Point, Space};
use super::remembered;
use super::request::{Family, Request};
use super::search::Outcome;
use crate::folder::RunFolder;
use crate::job::Job;
use crate::measures::Measures;
use crate::plan::answer;
use crate::plan::trial::{Prints, Stage, Trial};
use crate::settings;

/// A cache that is given back once, as a job starts, costs nothing; one that is given back again and again does.
const RETRIES: u64 = 1;

/// A point that was tried.
pub(super) struct Tried {
    pub(super) point: Point,
    pub(super) setting: Option<String>,
    pub(super) combination: Combination,
}

impl Tried {
    pub(super) fn kept(&self) -> remembered::Trial {
        remembered::Trial {
            point: self.point,
            setting: self.setting.clone(),
            peak_reserved: self.combination.peak_reserved.map(|peak| peak.0),
            fits: self.combination.fits,
        }
    }

    pub(super) fn recalled(space: &Space, trial: remembered::Trial) -> Tried {
        let peak = trial.peak_reserved.map(Bytes);
        Tried::new(space, trial.point, trial.setting, peak, trial.fits)
    }

    fn new(space: &Space, point: Point, setting: Option<String>, peak: Option<Bytes>, fits: bool) -> Tried {
        let mut measures = space.measures(point);
        if let Some(options) = &setting {
            measures.insert(0, costs::setting(options));
        }
        let combination = Combination { measures, peak_reserved: peak, fits, step_us: None };
        Tried { point, setting, combination }
    }
}

/// The trials of a search, and what they showed.
pub(super) type Trials = BTreeMap<Point, (Tried, Outcome)>;

/// What all runs share.
pub(super) struct Runs<'a> {
    pub(super) request: &'a Request,
    pub(super) card: &'a Card,
    pub(super) say: &'a (dyn Fn(&str) + Sync),
    pub(super) job: Job,
    pub(super) folder: RunFolder,
    pub(super) stage: Stage,
    pub(super) allowed: Bytes,
}

impl Runs<'_> {
    pub(super) fn new<'a>(
        request: &'a Request,
        card: &'a Card,
        say: &'a (dyn Fn(&str) + Sync),
    ) -> Result<Runs<'a>> {
        let job = Job { measures: Some(Measures::default()), ..request.subject.job()? };
        let (folder, stage) = request.subject.set_up(&job, "the trials'")?;
        let allowed = answer::allowed(card, request.limit, card.context.most);
        Ok(Runs { request, card, say, job, folder, stage, allowed })
    }

    /// One run on the phantom, in a folder within the main one.
    pub(super) fn trial(&self, job: &Job, name: &str, prints: Prints) -> Result<Trial> {
        let folder = self.folder.within(name, job)?;
        let trial = self.stage.run(job, &folder, self.card, prints);
        trial.with_context(|| format!("{}: cannot be started", Path::new(&job.program.called).display()))
    }

    /// Tries points at once. No outcome: the program cannot do that, or failed with it.
    pub(super) fn try_all(
        &self,
        space: &Space,
        points: &[Point],
    ) -> Result<Vec<(Point, Tried, Option<Outcome>)>> {
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
    pub(super) fn judged(&self, space: &Space, point: Point, trial: &Trial) -> (Tried, Outcome) {
        let needs = trial.peaks.filter(|_| trial.failure.is_none()).map(|peaks| peaks.reserved);
        let within = needs.and_then(|_| answer::within(trial, self.allowed));
        let fits_so = within.is_some_and(|within| within.completes && within.retries <= RETRIES);
        let is_sought = needs.is_some() && !fits_so && !self.request.without.contains(&Family::Settings);
        let setting = if is_sought { self.setting(trial) } else { None };
        let costs = setting.as_ref().map_or(0, |(options, _)| costs::setting(options).costs);
        let fits = fits_so || setting.is_some();
        let plain = within.filter(|_| fits_so).map(|within| within.held).or(needs);
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
    pub(super) fn job_of(&self, space: &Space, chosen: &Tried) -> Result<Job> {
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
pub(super) fn name(point: Point) -> String {
    format!(
        "blocks-{}-parts-{}-form-{}-chunks-{}-host-{}",
        point.blocks,
        point.parts,
        u8::from(point.form),
        u8::from(point.chunks),
        point.host
    )
}

pub(super) fn words(measures: &[Measure]) -> String {
    let words: Vec<&str> = measures.iter().map(|measure| measure.what.as_str()).collect();
    if words.is_empty() { "the script as it is".to_owned() } else { words.join(" + ") }
}

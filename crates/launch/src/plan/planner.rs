//! The planner: from a script and the cards in question to an answer for each.

use std::io;
use std::path::Path;
use std::thread;

use anyhow::{Context, Result};
use oomph_diagnose::class_curves::ClassCurves;
use oomph_diagnose::results::plan::{PlanResult, PlannedOption, PlannedVary};
use oomph_trace::Bytes;
use oomph_trace::cards::{Card, UnknownCard, card_named};

use super::cards::{Group, exact_groups, table_groups, with_memory};
use super::options::{self, CHANGES, Change};
use super::subject::{Subject, SubjectError};
use super::trial::{Prints, Stage, Trial};
use super::{answer, vary};
use crate::folder::RunFolder;
use crate::job::Job;

/// How long one run may take where nothing else is said, in seconds.
pub const LONGEST: u64 = 300;
/// Columns of the picture.
const COLUMNS: usize = 600;

/// A question: will this program fit?
#[derive(Clone, Debug)]
pub struct Request {
    /// The script.
    pub subject: Subject,
    /// The cards in question.
    pub cards: Cards,
    /// What PyTorch may hold, where that is less than the card has.
    pub limit: Option<Bytes>,
    /// Whether changes are tried that would make it fit.
    pub changes: Changes,
    /// A flag of the script whose largest fitting value is searched.
    pub vary: Option<String>,
    /// Where what the script prints goes.
    pub prints: Prints,
}

/// The cards in question.
#[derive(Clone, Debug)]
pub enum Cards {
    /// Every card that is known, as a table.
    All,
    /// These.
    Named(Vec<String>),
    /// One of which only its memory and perhaps its compute capability are known.
    Memory(Bytes, Option<(u8, u8)>),
}

/// Whether changes are tried that would make it fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// Where it does not fit.
    IfNeeded,
    /// In any case.
    Always,
    /// Never.
    Never,
}

/// A question that makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// No such card. A plan is given another size with `--memory`.
    #[error("{}", .0.to_string().replace("--limit", "--memory"))]
    Card(#[from] UnknownCard),
    /// The script cannot be tried.
    #[error(transparent)]
    Subject(#[from] SubjectError),
}

/// The answers.
#[derive(Debug)]
pub struct Plan {
    /// One for each card, in the order asked for; those of the table by their memory.
    pub results: Vec<PlanResult>,
    /// Memory over the step with the peak, of the first run.
    pub curves: Option<ClassCurves>,
    /// Whether the cards are the table of all.
    pub is_table: bool,
}

/// Answers. `say` is told, in a line, what is being tried.
pub fn plan(request: &Request, say: &(dyn Fn(&str) + Sync)) -> Result<Plan> {
    let planner = Planner::new(request, say)?;
    let is_table = matches!(request.cards, Cards::All);
    let groups = match &request.cards {
        Cards::All => table_groups(),
        Cards::Named(names) => {
            let cards = names.iter().map(|name| Ok(card_named(name)?.clone()));
            exact_groups(&cards.collect::<Result<Vec<Card>, RequestError>>()?)
        }
        Cards::Memory(total, capability) => exact_groups(&[with_memory(*total, *capability)]),
    };
    let trials = planner.run_groups(&groups)?;
    let mut results: Vec<PlanResult> = Vec::new();
    for (group, trial) in groups.iter().zip(&trials) {
        for card in &group.cards {
            let mut result =
                answer::of(&planner.job.program.stem, trial, card, &group.seen_on, request.limit);
            if !is_table {
                planner.add_options(&mut result, group, trial, card)?;
            }
            if let Some(flag) = &request.vary {
                result.vary = Some(planner.vary(flag, group, trial, card)?);
            }
            results.push(result);
        }
    }
    match &request.cards {
        Cards::All => results.sort_by_key(|result| result.card.total),
        Cards::Named(names) => {
            let is_called = |name: &String, result: &PlanResult| {
                card_named(name).is_ok_and(|card| card.short == result.card.short)
            };
            results.sort_by_key(|result| names.iter().position(|name| is_called(name, result)));
        }
        Cards::Memory(..) => {}
    }
    let curves = trials.first().and_then(|trial| answer::curves(trial, COLUMNS));
    Ok(Plan { results, curves, is_table })
}

/// What all runs of a plan share.
struct Planner<'a> {
    request: &'a Request,
    say: &'a (dyn Fn(&str) + Sync),
    job: Job,
    folder: RunFolder,
    stage: Stage,
}

impl Planner<'_> {
    fn new<'a>(request: &'a Request, say: &'a (dyn Fn(&str) + Sync)) -> Result<Planner<'a>> {
        let job = request.subject.job().map_err(RequestError::from)?;
        let (folder, stage) = request.subject.set_up(&job, "the plan's")?;
        Ok(Planner { request, say, job, folder, stage })
    }

    /// One run for each group, on all cores. The first one's recording is the plan's, and what it prints is shown.
    fn run_groups(&self, groups: &[Group]) -> Result<Vec<Trial>> {
        let Some((first, others)) = groups.split_first() else { return Ok(Vec::new()) };
        let trials = thread::scope(|scope| {
            let runs = others
                .iter()
                .map(|group| scope.spawn(move || self.once(&self.job, &group.seen_on.short, &group.seen_on)));
            let runs: Vec<_> = runs.collect();
            let first = self.stage.run(&self.job, &self.folder, &first.seen_on, self.request.prints);
            std::iter::once(first).chain(runs.into_iter().map(joined)).collect::<io::Result<Vec<Trial>>>()
        });
        trials
            .with_context(|| format!("{}: cannot be started", Path::new(&self.job.program.called).display()))
    }

    /// A run beside the main one, in a folder within its own.
    fn once(&self, job: &Job, name: &str, card: &Card) -> io::Result<Trial> {
        let folder = self.folder.within(name, job)?;
        self.stage.run(job, &folder, card, Prints::ToFile)
    }

    /// The changes, where it does not fit or they are asked for.
    fn add_options(&self, result: &mut PlanResult, group: &Group, base: &Trial, card: &Card) -> Result<()> {
        let wanted = match self.request.changes {
            Changes::Always => true,
            Changes::IfNeeded => result.fits == Some(false),
            Changes::Never => false,
        };
        if !wanted || result.peaks.is_none() || base.failure.is_some() {
            return Ok(());
        }
        let allowed = answer::allowed(card, self.request.limit);
        let mut found: Vec<PlannedOption> = options::setting(base, allowed).into_iter().collect();
        // Two at a time: each run keeps about one core busy.
        for pair in CHANGES.chunks(2) {
            let names: Vec<&str> = pair.iter().map(|change| change.name).collect();
            (self.say)(&format!("planning with {}", names.join(" and ")));
            let outcomes: io::Result<Vec<Option<PlannedOption>>> = thread::scope(|scope| {
                let runs = pair.iter().map(|change| {
                    scope.spawn(move || Ok(change.outcome(&self.changed(*change, group)?, base, allowed)))
                });
                let runs: Vec<_> = runs.collect();
                runs.into_iter().map(joined).collect()
            });
            found.extend(outcomes?.into_iter().flatten());
        }
        options::sort(&mut found);
        result.options = found;
        Ok(())
    }

    /// A run with one change.
    fn changed(&self, change: Change, group: &Group) -> io::Result<Trial> {
        let job = Job { measures: Some(change.measures), ..self.job.clone() };
        self.once(&job, change.key, &group.seen_on)
    }

    /// The largest value of the script's flag that fits a card.
    fn vary(&self, flag: &str, group: &Group, base: &Trial, card: &Card) -> Result<PlannedVary> {
        let asked = vary::value_of(&self.job.program.args, flag);
        let allowed = answer::allowed(card, self.request.limit);
        vary::largest(flag, asked, allowed, |value| {
            (self.say)(&format!("planning {flag} {value} on the {}", card.short));
            let fresh;
            let trial = if asked == Some(value) {
                base
            } else {
                let mut job = self.job.clone();
                job.program.args = vary::with_value(&job.program.args, flag, value);
                let name = format!("{}-{value}", flag.trim_start_matches('-'));
                fresh = self.once(&job, &name, &group.seen_on)?;
                &fresh
            };
            if let Some((class, text)) = &trial.failure {
                let first = text.lines().next().unwrap_or_default();
                anyhow::bail!("the script failed with {flag} {value}: {class}: {first}");
            }
            let needs = trial.peaks.map(|peaks| peaks.reserved).unwrap_or_default();
            let (fits, _) = answer::completes(trial, allowed)
                .with_context(|| format!("the script used no GPU with {flag} {value}"))?;
            Ok(vary::Need { fits, needs })
        })
    }
}

fn joined<T>(run: thread::ScopedJoinHandle<'_, io::Result<T>>) -> io::Result<T> {
    run.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

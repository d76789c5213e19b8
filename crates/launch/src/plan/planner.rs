//! The planner: from a script and the cards in question to an answer for each.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::thread;

use anyhow::{Context, Result};
use oomph_diagnose::class_curves::ClassCurves;
use oomph_diagnose::results::plan::PlanResult;
use oomph_trace::Bytes;
use oomph_trace::cards::{Card, UnknownCard, card_named};
use oomph_trace::phantom::MOST_CARDS;

use super::cards::{Group, exact_groups, table_groups, with_memory};
use super::changes::{Runs, joined};
use super::options::{Outcome, Room, Together};
use super::progress::Progress;
use super::ranks::{self, MESSAGES, MESSAGES_BESIDE, Ranks};
use super::subject::{Subject, SubjectError};
use super::trial::{Prints, Stage, Trial};
use super::{answer, vary};
use crate::folder::RunFolder;
use crate::job::{Job, WorldRequest};

/// How long one run may take where nothing else is said, in seconds.
pub const LONGEST: u64 = 300;
/// Said of a largest value: a search cannot know it of those that it did not run.
const UNEVEN: &str = "of the values above the largest only the next is known not to fit: what the cache leaves unused does not \
                      grow evenly, so one some percent larger may fit";
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
    /// The world that the script is a rank of.
    pub world: World,
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

/// The world of a distributed job, as far as it is told.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// How many ranks a node has; `None`: what the script's own launcher says.
    pub per_node: Option<u32>,
    /// How many nodes there are; `None`: one.
    pub nodes: Option<u32>,
    /// The ranks to run; none: those that may differ.
    pub ranks: Vec<u32>,
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
    /// A node without ranks, or with more than programs can see cards.
    #[error("a node has 1 to {MOST_CARDS} ranks, and a world at least 1 node")]
    World,
    /// No such rank.
    #[error("there is no rank {rank}: the world has {size}, from 0 on")]
    Rank {
        /// As asked for.
        rank: u32,
        /// How many there are.
        size: u32,
    },
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
    let progress = Progress::new(say);
    let planner = Planner::new(request, &progress)?;
    let is_table = matches!(request.cards, Cards::All);
    let groups = match &request.cards {
        Cards::All => table_groups(),
        Cards::Named(names) => {
            let cards = names.iter().map(|name| Ok(card_named(name)?.clone()));
            exact_groups(&cards.collect::<Result<Vec<Card>, RequestError>>()?)
        }
        Cards::Memory(total, capability) => exact_groups(&[with_memory(*total, *capability)]),
    };
    let runs = planner.run_groups(&groups)?;
    let mut results: Vec<PlanResult> = Vec::new();
    for (group, ranks) in groups.iter().zip(&runs) {
        let (rank, trial) = ranks.worst();
        let worst = planner.of_rank(rank);
        for card in &group.cards {
            let mut result =
                answer::of(&planner.job.program.stem, trial, card, &group.seen_on, request.limit);
            result.world = ranks.world(card.context.most);
            result.caveats.extend(ranks.caveats());
            worst.add_changes(&mut result, group, trial, card, is_table)?;
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
    let curves = runs.first().and_then(|ranks| answer::curves(ranks.worst().1, COLUMNS));
    Ok(Plan { results, curves, is_table })
}

/// What all runs of a plan share.
#[derive(Clone)]
struct Planner<'a> {
    request: &'a Request,
    progress: &'a Progress<'a>,
    job: Job,
    folder: RunFolder,
    stage: Stage,
}

impl Planner<'_> {
    fn new<'a>(request: &'a Request, progress: &'a Progress<'a>) -> Result<Planner<'a>> {
        let mut job = request.subject.job().map_err(RequestError::from)?;
        if let Some(plan) = &mut job.plan {
            plan.world = Some(first_rank(&request.world)?);
        }
        let (folder, stage) = request.subject.set_up(&job, "the plan's")?;
        Ok(Planner { request, progress, job, folder, stage })
    }

    /// One run for each group, on all cores. The first one's recording is the plan's, and what it prints is shown.
    fn run_groups(&self, groups: &[Group]) -> Result<Vec<Ranks>> {
        let Some((first, others)) = groups.split_first() else { return Ok(Vec::new()) };
        // Here the script speaks for itself.
        self.progress.expect(groups.len());
        groups.iter().for_each(|_| _ = self.progress.begin_silently());
        let runs = thread::scope(|scope| {
            let runs = others.iter().map(|group| {
                scope.spawn(move || {
                    let card = &group.seen_on;
                    self.ranks(self.once(&self.job, &card.short, card)?, &format!("{}-", card.short), card)
                })
            });
            let runs: Vec<_> = runs.collect();
            let first = self
                .stage
                .run(&self.job, &self.folder, &first.seen_on, self.request.prints)
                .and_then(|trial| self.ranks(trial, "", &first.seen_on));
            std::iter::once(first).chain(runs.into_iter().map(joined)).collect::<io::Result<Vec<Ranks>>>()
        });
        runs.with_context(|| format!("{}: cannot be started", Path::new(&self.job.program.called).display()))
    }

    /// The first rank's run with those of the ranks that may differ from it, in folders whose names begin so.
    fn ranks(&self, trial: Trial, prefix: &str, card: &Card) -> io::Result<Ranks> {
        let asked_first = self.job.plan.and_then(|plan| plan.world).map_or(0, |world| world.rank);
        let first = trial.notes.world.as_ref().map_or(asked_first, |note| note.rank);
        let asked = self.request.world.ranks.get(1..).unwrap_or_default();
        let mut heard = BTreeSet::from([first]);
        let trial = self.with_senders((first, trial), prefix, card, &mut heard)?;
        let has_messages = self.folder.path.join(MESSAGES).is_dir();
        let wanted = match &trial.notes.world {
            Some(note) if trial.failure.is_none() && self.request.world.ranks.is_empty() => {
                ranks::others(note, has_messages)
            }
            _ => asked.to_vec(),
        };
        let wanted: Vec<u32> = wanted.into_iter().filter(|rank| !trial.ranks.contains_key(rank)).collect();
        self.progress.expect(wanted.len());
        let mut found = Vec::new();
        // Two at a time: each run keeps about one core busy. Where they leave messages, one after the other.
        for some in wanted.chunks(if has_messages { 1 } else { 2 }) {
            some.iter().for_each(|rank| self.progress.begin(&format!("rank {rank}")));
            let trials: io::Result<Vec<Trial>> = thread::scope(|scope| {
                let runs = some.iter().map(|rank| {
                    let name = format!("{prefix}rank{rank}");
                    scope.spawn(move || self.once(&self.of_rank(*rank).job, &name, card))
                });
                let runs: Vec<_> = runs.collect();
                runs.into_iter().map(joined).collect()
            });
            for (rank, trial) in some.iter().copied().zip(trials?) {
                heard.insert(rank);
                found.push((rank, self.with_senders((rank, trial), prefix, card, &mut heard)?));
            }
        }
        Ok(Ranks::of((first, trial), found))
    }

    /// A rank's run. Where it waited in vain for others, they are run, and then it once more. `heard` has the ranks
    /// that need not be run for what they send.
    fn with_senders(
        &self,
        (rank, mut trial): (u32, Trial),
        prefix: &str,
        card: &Card,
        heard: &mut BTreeSet<u32>,
    ) -> io::Result<Trial> {
        loop {
            let missing = trial.notes.world.as_ref().map(|note| note.missing.as_slice()).unwrap_or_default();
            let senders: Vec<u32> = missing.iter().copied().filter(|rank| !heard.contains(rank)).collect();
            if senders.is_empty() || heard.len() > ranks::MOST_SENDERS {
                return Ok(trial);
            }
            self.progress.expect(senders.len() + 1);
            for sender in senders {
                if heard.insert(sender) {
                    self.progress.begin(&format!("rank {sender}, which sends to rank {rank}"));
                    let sent =
                        self.once(&self.of_rank(sender).job, &format!("{prefix}rank{sender}"), card)?;
                    self.with_senders((sender, sent), prefix, card, heard)?;
                } else {
                    self.progress.forget(1);
                }
            }
            self.progress.begin(&format!("rank {rank} again"));
            trial = self.once(&self.of_rank(rank).job, &format!("{prefix}rank{rank}"), card)?;
        }
    }

    /// The same planner for another rank.
    fn of_rank(&self, rank: u32) -> Self {
        let mut other = self.clone();
        if let Some(world) = other.job.plan.as_mut().and_then(|plan| plan.world.as_mut()) {
            world.rank = rank;
        }
        other
    }

    /// A run beside the main one, in a folder within its own.
    fn once(&self, job: &Job, name: &str, card: &Card) -> io::Result<Trial> {
        let mut job = job.clone();
        if let Some(world) = job.plan.as_mut().and_then(|plan| plan.world.as_mut()) {
            world.messages = MESSAGES_BESIDE;
        }
        let folder = self.folder.within(name, &job)?;
        self.stage.run(&job, &folder, card, Prints::ToFile)
    }

    /// The changes, where it does not fit or they are asked for, and the search over a flag.
    fn add_changes(
        &self,
        result: &mut PlanResult,
        group: &Group,
        base: &Trial,
        card: &Card,
        is_table: bool,
    ) -> Result<()> {
        let flag = self.request.vary.as_deref();
        let run = |together: &Together, value: Option<u64>| {
            let mut job = Job { measures: together.measures(), ..self.job.clone() };
            let mut name = together.key();
            let mut what = together.name();
            if let Some((flag, value)) = flag.zip(value) {
                job.program.args = vary::with_value(&job.program.args, flag, value);
                let beside = if name.is_empty() { "" } else { "-" };
                name = format!("{name}{beside}{}-{value}", flag.trim_start_matches('-'));
                let with = if what.is_empty() { String::new() } else { format!(" with {what}") };
                what = format!("{flag} {value}{with}");
            }
            self.progress.begin(&what);
            self.once(&job, &name, &group.seen_on)
        };
        let context = card.context.most;
        let allowed = answer::allowed(card, self.request.limit, base.beside(context));
        let runs = Runs { base, room: Room { allowed, context }, run: &run, progress: self.progress };
        let is_needed = result.fits == Some(false) || result.is_close;
        let wanted = match self.request.changes {
            Changes::Always => true,
            Changes::IfNeeded => is_needed,
            Changes::Never => false,
        };
        let can_change = wanted && !is_table && result.peaks.is_some() && base.failure.is_none();
        let outcomes =
            if can_change { runs.outcomes(group.seen_on.capability, is_needed)? } else { Vec::new() };
        result.options = outcomes.iter().map(|outcome| outcome.option(allowed)).collect();
        if can_change && is_needed && !outcomes.iter().any(Outcome::fits) {
            let as_it_is = Outcome::of(&Together::default(), base, runs.room);
            result.least = outcomes.first().or(as_it_is.as_ref()).and_then(|outcome| outcome.least(None));
        }
        let Some(flag) = flag else { return Ok(()) };
        let alone = outcomes.iter().find(|outcome| outcome.together.changes.is_empty());
        let asked = vary::value_of(&self.job.program.args, flag);
        let varied = runs.vary(flag, asked, alone.and_then(|outcome| outcome.together.setting.as_ref()))?;
        let (largest, least) = runs.largest(&outcomes, &varied)?;
        for (option, largest) in result.options.iter_mut().zip(&largest) {
            option.largest = *largest;
        }
        // With a smaller value something fits, or the least is at the smallest.
        result.least = result.least.take().and(least);
        if varied.found.largest.is_some() {
            result.caveats.push(UNEVEN.to_owned());
        }
        result.vary = Some(varied.found);
        Ok(())
    }
}

/// The rank that is run first.
fn first_rank(world: &World) -> Result<WorldRequest, RequestError> {
    let nodes = world.nodes.unwrap_or(1);
    if nodes == 0 || world.per_node.is_some_and(|per_node| !(1..=MOST_CARDS).contains(&per_node)) {
        return Err(RequestError::World);
    }
    if let Some(size) = world.per_node.map(|per_node| per_node.saturating_mul(nodes))
        && let Some(rank) = world.ranks.iter().copied().find(|rank| *rank >= size)
    {
        return Err(RequestError::Rank { rank, size });
    }
    let rank = world.ranks.first().copied().unwrap_or(0);
    Ok(WorldRequest { rank, per_node: world.per_node, nodes, messages: MESSAGES })
}

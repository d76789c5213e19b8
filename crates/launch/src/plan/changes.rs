//! The changes for one card: each alone, then together, and the largest value of a flag under each.

use std::{io, thread};

use anyhow::{Context, Result};
use oomph_diagnose::results::plan::{PlannedLargest, PlannedLeast, PlannedValue, PlannedVary};
use oomph_engine::torch::options::Options;
use oomph_trace::Bytes;

use super::combinations;
use super::options::{self, LORA, Outcome, Room, Together, changes};
use super::progress::Progress;
use super::trial::Trial;
use super::vary::{self, Known, Need};

/// The most runs for the largest value under one change: two for a line, two to be sure.
const RUNS: usize = 4;
/// Runs that the search for the largest value is expected to take.
const USUAL: usize = 5;

/// A run with changes and, where one is given, another value of the flag that is varied.
pub(super) type Run<'a> = dyn Fn(&Together, Option<u64>) -> io::Result<Trial> + Sync + 'a;

/// What all runs for one card share.
pub(super) struct Runs<'a> {
    /// The program as it is.
    pub(super) base: &'a Trial,
    /// What there is for it.
    pub(super) room: Room,
    /// Runs the program.
    pub(super) run: &'a Run<'a>,
    /// Who counts the runs.
    pub(super) progress: &'a Progress<'a>,
}

/// A search over a flag.
pub(super) struct Varied {
    /// As the plan says it.
    pub(super) found: PlannedVary,
    /// What was needed at the values that were run.
    runs: Vec<(u64, Need)>,
    /// The same with the settings of the allocator that help most.
    with_setting: Vec<(u64, Need)>,
}

impl Runs<'_> {
    /// The changes that win something. Where one `is_needed` and none suffices, also the first that do together, or those
    /// that need the least. Another training is tried where nothing that keeps it suffices, or where none is needed.
    pub(super) fn outcomes(&self, capability: (u8, u8), is_needed: bool) -> io::Result<Vec<Outcome>> {
        let Some(had) = self.base.peaks.map(|peaks| peaks.reserved) else { return Ok(Vec::new()) };
        let ranks = self.base.notes.world.as_ref().map_or(1, |world| world.size);
        let alone: Vec<Together> =
            changes(capability, ranks).iter().map(|change| Together::of(&[*change])).collect();
        let (singles, with_settings) = self.tried(&alone, is_needed)?;
        let mut found: Vec<Outcome> = self.replayed(&Together::default(), self.base).into_iter().collect();
        let wins = |outcome: &&Outcome| outcome.need.is_none() || outcome.wins_over(had);
        found.extend(singles.iter().filter(wins).cloned());
        let mut combined = with_settings;
        let suffices =
            |found: &[Outcome], combined: &[Outcome]| found.iter().chain(combined).any(Outcome::fits);
        if is_needed && !suffices(&found, &combined) {
            combined.extend(self.combined(&combinations::parts(&singles), had)?);
        }
        if !is_needed || !suffices(&found, &combined) {
            let (adapted, with_settings) = self.tried(&[Together::of(&[LORA])], is_needed)?;
            found.extend(adapted.iter().filter(wins).cloned());
            combined.extend(with_settings);
            if is_needed && !adapted.is_empty() && !suffices(&found, &combined) {
                let (plain, with_settings) =
                    self.tried(&combinations::around(LORA, &combinations::parts(&singles)), true)?;
                combined.extend(plain.into_iter().chain(with_settings));
            }
        }
        if is_needed && !found.iter().any(Outcome::fits) {
            options::sort(&mut combined);
            let fit = combined.iter().filter(|outcome| outcome.fits()).count();
            combined.truncate(fit.max(1));
            found.extend(combined.into_iter().filter(|outcome| outcome.wins_over(had)));
        }
        let mut found = combinations::worth_their_changes(found);
        options::sort(&mut found);
        Ok(found)
    }

    /// Several changes together, until some fit or none are left that could.
    fn combined(&self, parts: &[(options::Change, Bytes)], had: Bytes) -> io::Result<Vec<Outcome>> {
        let (mut plain, mut with_settings) = self.tried(&combinations::first(parts), true)?;
        if !with_settings.iter().any(Outcome::fits) {
            let others = self.tried(&combinations::second(parts, &plain, had), true)?;
            plain.extend(others.0);
            with_settings.extend(others.1);
        }
        plain.extend(with_settings);
        Ok(plain)
    }

    /// A run of each, two at a time: what it leads to, and, where it does not fit and that is asked for, what it does
    /// with other settings of the allocator too.
    fn tried(&self, all: &[Together], with_settings: bool) -> io::Result<(Vec<Outcome>, Vec<Outcome>)> {
        self.progress.expect(all.len());
        let run = |together: &Together| (self.run)(together, None);
        let found = in_pairs(all, run, |together, trial| {
            let plain = Outcome::of(together, &trial, self.room);
            let fails = plain.as_ref().is_some_and(|plain| plain.need.is_some() && !plain.fits());
            let set = if with_settings && fails { self.replayed(together, &trial) } else { None };
            (plain, set)
        })?;
        let (plain, set): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        Ok((plain.into_iter().flatten().collect(), set.into_iter().flatten().collect()))
    }

    /// A run with the settings that help it most.
    fn replayed(&self, together: &Together, trial: &Trial) -> Option<Outcome> {
        let (setting, need) = options::setting(trial, self.room.allowed)?;
        Some(Outcome {
            together: together.with(setting),
            need: Some(need),
            beside: trial.beside(self.room.context),
        })
    }

    /// The largest value of a flag that fits; `setting` is looked at on the way.
    pub(super) fn vary(&self, flag: &str, asked: Option<u64>, setting: Option<&Options>) -> Result<Varied> {
        let mut with_setting = Vec::new();
        self.progress.expect(USUAL);
        let found = vary::largest(asked.unwrap_or(1), self.room.allowed, &Known::default(), |value| {
            let fresh;
            let trial = if asked == Some(value) {
                self.base
            } else {
                fresh = (self.run)(&Together::default(), Some(value))?;
                &fresh
            };
            if let Some((class, text)) = &trial.failure {
                let first = text.lines().next().unwrap_or_default();
                anyhow::bail!("the script failed with {flag} {value}: {class}: {first}");
            }
            let need = options::need(trial, setting, self.room.allowed);
            with_setting.extend(need.filter(|_| setting.is_some()).map(|need| (value, need)));
            options::need(trial, None, self.room.allowed)
                .with_context(|| format!("the script used no GPU with {flag} {value}"))
        })?;
        let fresh = found.runs.iter().filter(|(value, _)| asked != Some(*value)).count();
        self.progress.forget(USUAL.saturating_sub(fresh));
        let value = |(value, need): &(u64, Need)| PlannedValue {
            value: *value,
            peak_reserved: need.needs,
            process: need.needs + self.base.beside(self.room.context),
            fits: need.fits,
        };
        let mut values: Vec<PlannedValue> = found.runs.iter().map(value).collect();
        values.sort_by_key(|run| run.value);
        let at_largest = values.iter().find(|run| Some(run.value) == found.largest);
        let peak_reserved = at_largest.map(|run| run.peak_reserved);
        let (largest, is_open) = (found.largest, found.is_open);
        let planned = PlannedVary { flag: flag.to_owned(), asked, largest, peak_reserved, is_open, values };
        Ok(Varied { found: planned, runs: found.runs, with_setting })
    }

    /// The same under each of these changes, by a few runs, two at a time; and, where not even the value 1 fits under
    /// any of them, the least that it needs.
    pub(super) fn largest(
        &self,
        outcomes: &[Outcome],
        varied: &Varied,
    ) -> io::Result<(Vec<Option<PlannedLargest>>, Option<PlannedLeast>)> {
        self.progress.expect(outcomes.len() * RUNS);
        let found = in_pairs(outcomes, |outcome| self.largest_under(outcome, varied), |_, found| found)?;
        let at_one = found.iter().flat_map(|(_, at_one)| at_one);
        let as_it_is = varied.runs.iter().find(|run| run.0 == 1).map(|(_, need)| Outcome {
            together: Together::default(),
            need: Some(*need),
            beside: self.base.beside(self.room.context),
        });
        let mut least: Vec<Outcome> = at_one.cloned().chain(as_it_is).collect();
        options::sort(&mut least);
        let nothing_fits = varied.found.largest.is_none()
            && found.iter().all(|(largest, _)| largest.is_none_or(|largest| largest.value.is_none()));
        let least = least.first().filter(|_| nothing_fits).and_then(|outcome| outcome.least(Some(1)));
        Ok((found.into_iter().map(|(largest, _)| largest).collect(), least))
    }

    /// The largest value under changes, and what they lead to at 1 if that was run. Nothing where the program fails.
    fn largest_under(
        &self,
        outcome: &Outcome,
        varied: &Varied,
    ) -> io::Result<(Option<PlannedLargest>, Option<Outcome>)> {
        let Outcome { together, need: Some(need), .. } = outcome else {
            self.progress.forget(RUNS);
            return Ok((None, None));
        };
        let own = varied.found.asked.map(|asked| (asked, *need));
        let runs =
            if together.changes.is_empty() { varied.with_setting.clone() } else { own.into_iter().collect() };
        let known = Known { at_zero: vary::at_zero(&varied.runs), runs, most: Some(RUNS) };
        // Where nothing was asked for, the program's own default has been run, whatever it is.
        let start = varied.found.largest.unwrap_or(1);
        let mut ran = 0;
        let found = vary::largest(start, self.room.allowed, &known, |value| {
            ran += 1;
            let trial = (self.run)(together, Some(value)).map_err(Some)?;
            Outcome::of(together, &trial, self.room).and_then(|found| found.need).ok_or(None)
        });
        self.progress.forget(RUNS.saturating_sub(ran));
        let found = match found {
            Ok(found) => found,
            Err(None) => return Ok((None, None)),
            Err(Some(error)) => return Err(error),
        };
        let at_one = found.runs.iter().find(|run| run.0 == 1);
        let at_one = at_one.map(|(_, need)| Outcome { need: Some(*need), ..outcome.clone() });
        Ok((Some(PlannedLargest { value: found.largest, is_open: found.is_open }), at_one))
    }
}

/// Two at a time: each run keeps about one core busy. What they left is looked at on this thread, which may share its work
/// with the threads that it belongs to; those of the runs belong to none.
fn in_pairs<T: Sync, R: Send, L>(
    all: &[T],
    run: impl Fn(&T) -> io::Result<R> + Sync,
    look: impl Fn(&T, R) -> L,
) -> io::Result<Vec<L>> {
    let run = &run;
    let mut found = Vec::new();
    for pair in all.chunks(2) {
        let of_pair: io::Result<Vec<R>> = thread::scope(|scope| {
            let runs: Vec<_> = pair.iter().map(|item| scope.spawn(move || run(item))).collect();
            runs.into_iter().map(joined).collect()
        });
        found.extend(pair.iter().zip(of_pair?).map(|(item, left)| look(item, left)));
    }
    Ok(found)
}

/// What a thread found.
pub(super) fn joined<T>(run: thread::ScopedJoinHandle<'_, io::Result<T>>) -> io::Result<T> {
    run.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

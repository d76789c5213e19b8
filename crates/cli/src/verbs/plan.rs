//! `oomph plan`.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use anyhow::{Context, Result};
use oomph_host::plan::cards::{Asked, Group, exact_groups, table_groups};
use oomph_host::plan::options::{self, CHANGES};
use oomph_host::plan::traced::{self, Prints, Traced};
use oomph_host::plan::{answer, phantom, vary};
use oomph_host::run::folder::RunFolder;
use oomph_host::run::plan::Plan as Run;
use oomph_host::run::program::Program;
use oomph_host::run::settings::{Frameworks, Settings, in_force};
use oomph_report::plan::{PlanResult, PlannedOption, PlannedVary};
use oomph_report::{html, json, text};
use oomph_trace::cards::card_named;
use serde_json::{Value, json};

use crate::args::{Common, Plan, UsageError};
use crate::output;

/// It fits.
const FITS: u8 = 0;
/// It does not.
const DOES_NOT: u8 = 1;
/// Nobody can tell.
const UNKNOWN: u8 = 3;
/// Events that are kept: those of some steps of a large model.
const RING: u64 = 2_000_000;
/// Columns of the picture.
const COLUMNS: usize = 600;

pub(crate) fn run(args: &Plan, common: &Common) -> Result<ExitCode> {
    let planner = Planner::new(args, common)?;
    let is_table = args.gpu.is_empty() && args.memory.is_none();
    let groups = if is_table { table_groups() } else { exact_groups(&cards(args)?) };
    let seen = planner.see(&groups)?;
    let mut results: Vec<PlanResult> = Vec::new();
    for (group, traced) in groups.iter().zip(&seen) {
        for card in &group.cards {
            let mut result = answer::of(&planner.script, traced, card, &group.seen_on, args.limit);
            if !is_table {
                planner.add_options(&mut result, group, traced, card)?;
            }
            if let Some(flag) = &args.vary {
                result.vary = Some(planner.vary(flag, group, traced, card)?);
            }
            results.push(result);
        }
    }
    let order = |result: &PlanResult| args.gpu.iter().position(|name| is_called(name, result));
    if is_table {
        results.sort_by_key(|result| result.card.total);
    } else {
        results.sort_by_key(order);
    }
    if let (Some(page), Some(result), Some(traced)) = (&args.html, results.first(), seen.first()) {
        let curves = answer::curves(traced, COLUMNS);
        output::write_file(page, &html::plan(result, curves.as_ref()), common.force)?;
    }
    let colour = output::colour(common);
    let text = match (common.json, results.as_slice()) {
        (true, _) => json::document(results.iter().map(json::plan).collect()),
        (false, [one]) => text::plan::render(one, colour),
        (false, several) => text::plan::cards(several, colour),
    };
    output::write(&text, common)?;
    Ok(ExitCode::from(code(&results, is_table)))
}

fn is_called(name: &str, result: &PlanResult) -> bool {
    card_named(name).is_ok_and(|card| card.short == result.card.short)
}

/// Of cards that were named, all have to fit; of the table, one.
fn code(results: &[PlanResult], is_table: bool) -> u8 {
    let any = |answer: Option<bool>| results.iter().any(|result| result.fits == answer);
    if is_table && any(Some(true)) {
        FITS
    } else if any(None) {
        UNKNOWN
    } else if any(Some(false)) {
        DOES_NOT
    } else {
        FITS
    }
}

fn cards(args: &Plan) -> Result<Vec<Asked>> {
    if let Some(memory) = args.memory {
        return Ok(vec![Asked::with_memory(memory, args.capability)]);
    }
    let named = args.gpu.iter().map(|name| card_named(name).map(Asked::from));
    named
        .collect::<Result<Vec<Asked>, _>>()
        .map_err(|error| UsageError(error.to_string().replace("--limit", "--memory")).into())
}

/// What all runs of a plan share.
struct Planner<'a> {
    args: &'a Plan,
    common: &'a Common,
    run: Run,
    folder: RunFolder,
    library: PathBuf,
    /// The program as it was named.
    script: String,
}

impl Planner<'_> {
    fn new<'a>(args: &'a Plan, common: &'a Common) -> Result<Planner<'a>> {
        let had = in_force(|name| std::env::var(name).ok());
        let (target, rest) = args.target();
        let usage = |error: &dyn std::fmt::Display| UsageError(error.to_string());
        let program = Program::find(&target, rest, args.python.as_deref()).map_err(|error| usage(&error))?;
        let first = program.args.first().map(PathBuf::from);
        if let Some(script) =
            first.filter(|word| word.extension().is_some_and(|suffix| suffix == "py") && !word.exists())
        {
            return Err(UsageError(format!("{}: not found", script.display())).into());
        }
        let run = Run {
            settings: Settings::checked(&args.settings, &had).map_err(|error| usage(&error))?,
            frameworks: Frameworks::default(),
            limit: None,
            card: None,
            ring: RING,
            planned: Some(planned(args.steps, &Value::Null)),
            program,
        };
        let library = phantom::find().map_err(|error| usage(&error))?;
        let folder = std::env::current_dir()
            .and_then(|here| RunFolder::create(&here, &run))
            .context("cannot write .oomph/ here, where the plan's recordings go")?;
        let script = run.program.stem.clone();
        Ok(Planner { args, common, run, folder, library, script })
    }

    /// One run for each group, on all cores. The first one's recording is the plan's, and what it prints is shown.
    fn see(&self, groups: &[Group]) -> Result<Vec<Traced>> {
        let others = groups.get(1..).unwrap_or_default();
        let traced: io::Result<Vec<Traced>> = thread::scope(|scope| {
            let rest: Vec<_> = others
                .iter()
                .map(|group| scope.spawn(move || self.once(&self.run, &group.seen_on.short, &group.seen_on)))
                .collect();
            let prints = if self.common.quiet { Prints::ToFile } else { Prints::ToUser };
            let mut all = Vec::new();
            if let Some(first) = groups.first() {
                all.push(traced::run(
                    &self.run,
                    &self.folder,
                    &self.library,
                    &first.seen_on,
                    prints,
                    self.args.timeout,
                )?);
            }
            for other in rest {
                all.push(other.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?);
            }
            Ok(all)
        });
        traced
            .with_context(|| format!("{}: cannot be started", Path::new(&self.run.program.called).display()))
    }

    /// A run beside the main one, in a folder within its own. Only its peaks are kept.
    fn once(&self, run: &Run, name: &str, card: &Asked) -> io::Result<Traced> {
        let folder = self.folder.within(name, run)?;
        traced::run(run, &folder, &self.library, card, Prints::ToFile, self.args.timeout)
    }

    /// The changes, where it does not fit or they are asked for.
    fn add_options(
        &self,
        result: &mut PlanResult,
        group: &Group,
        traced: &Traced,
        card: &Asked,
    ) -> Result<()> {
        let wanted = self.args.options || (result.fits == Some(false) && !self.args.no_options);
        if !wanted || result.peaks.is_none() || traced.failure.is_some() {
            return Ok(());
        }
        let allowed = answer::allowed(card, self.args.limit);
        let mut found: Vec<PlannedOption> = options::setting(traced, allowed).into_iter().collect();
        // Two at a time: each run keeps about one core busy.
        for pair in CHANGES.chunks(2) {
            output::remark(
                self.common,
                &format!(
                    "oomph: planning with {}",
                    pair.iter().map(|change| change.name).collect::<Vec<_>>().join(" and ")
                ),
            );
            let outcomes: io::Result<Vec<Option<PlannedOption>>> = thread::scope(|scope| {
                let runs: Vec<_> = pair
                    .iter()
                    .map(|change| {
                        scope.spawn(move || {
                            let run = Run {
                                planned: Some(planned(self.args.steps, &change.asked())),
                                ..self.run.clone()
                            };
                            let varied = self.once(&run, change.key, &group.seen_on)?;
                            Ok(change.outcome(&varied, traced, allowed))
                        })
                    })
                    .collect();
                runs.into_iter()
                    .map(|run| run.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())))
                    .collect()
            });
            found.extend(outcomes?.into_iter().flatten());
        }
        options::sort(&mut found);
        result.options = found;
        Ok(())
    }

    /// The largest value of the script's flag that fits a card.
    fn vary(&self, flag: &str, group: &Group, seen: &Traced, card: &Asked) -> Result<PlannedVary> {
        let asked = vary::value_of(&self.run.program.args, flag);
        let allowed = answer::allowed(card, self.args.limit);
        let found = vary::largest(asked.unwrap_or(1), allowed.0, |value| {
            output::remark(self.common, &format!("oomph: planning {flag} {value} on the {}", card.short));
            let fresh;
            let traced = if asked == Some(value) {
                seen
            } else {
                let mut run = self.run.clone();
                run.program.args = vary::with_value(&run.program.args, flag, value);
                fresh =
                    self.once(&run, &format!("{}-{value}", flag.trim_start_matches('-')), &group.seen_on)?;
                &fresh
            };
            if let Some((class, text)) = &traced.failure {
                let first = text.lines().next().unwrap_or_default();
                anyhow::bail!("the script failed with {flag} {value}: {class}: {first}");
            }
            let needs = traced.peaks.map(|peaks| peaks.reserved.0).unwrap_or_default();
            let (fits, _) = answer::completes(traced, allowed)
                .with_context(|| format!("the script used no GPU with {flag} {value}"))?;
            Ok(vary::Trial { fits, needs })
        })?;
        Ok(PlannedVary {
            flag: flag.to_owned(),
            asked,
            largest: found.largest,
            peak_reserved: found.needs.map(oomph_trace::Bytes),
            is_open: found.is_open,
            tried: found.tried,
        })
    }
}

/// What run.json asks of the process.
fn planned(steps: Option<u64>, changes: &Value) -> Value {
    json!({ "steps": steps, "changes": changes })
}

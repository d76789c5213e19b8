//! `oomph plan` as text: whether it fits, where the peak is and what it consists of, what would make it fit.

use std::path::Path;

use oomph_diagnose::classes::Class;
use oomph_diagnose::modules::ModuleNode;
use oomph_diagnose::results::plan::{
    ALIKE, GIVES_BACK, PlanResult, PlannedLargest, PlannedLeast, PlannedVary,
};

use oomph_trace::Bytes;

use super::report::Align::{Hidden, Left, Right};
use super::report::{Colour, Report, row};
use crate::breakdown::Breakdown;
use crate::headline::{alike, headline};
use crate::numbers::known;

/// That rows of the table stand for others.
const ALIKE_IN_TABLE: &str = "the cards were seen on three of them, whose kernels are taken to be chosen alike: name one with --gpu to see it on its own";

/// That a job would hold more than some cards have.
const GIVES_BACK_IN_TABLE: &str = "cards with * are held in full: the job fits only because PyTorch gives its cache back; that costs time, and leaves no room";

/// The modules that are named: so many at most, no deeper than this, each with at least this share of what is in use.
const MODULES: usize = 12;
const DEEPEST: u32 = 4;
const WORTH_A_ROW: f64 = 0.02;
/// A class with this share of a module's memory is most of it.
const MOST_OF_IT: f64 = 0.8;
/// Pinned memory is worth a line from here on.
const PINNED: Bytes = Bytes::mib(64);

/// The report on one card.
pub fn render(result: &PlanResult, colour: Colour) -> String {
    let mut report = Report::new(&coloured(result, colour), colour);
    report.say_all(result.why_not.as_ref().map(|why| ("Why", why)));
    if let Some(peaks) = result.peaks {
        report.say_all(moment(result).map(|at| ("Peak at", at)));
        report.say_all(result.world.as_ref().and_then(alike).map(|line| ("Ranks", line)));
        report.gap();
        report.breakdown(&Breakdown::planned(result, peaks));
        report.say_all(host(result).map(|line| ("Host", line)));
        modules(&mut report, &result.by_module);
        ranks(&mut report, result);
        options(&mut report, result);
        if let Some(vary) = &result.vary {
            report.gap();
            values(&mut report, vary);
            report.say("Vary", varied(vary));
        }
        if let Some(least) = &result.least {
            report.gap();
            report.say("Least", needs_least(least, result));
        }
    }
    notes(&mut report, result.caveats.iter().map(String::as_str).collect());
    report.finish()
}

fn coloured(result: &PlanResult, colour: Colour) -> String {
    let line = headline(result);
    if result.fits == Some(true) { colour.good(&line) } else { colour.bad(&line) }
}

/// `train.py:61, forward of step 2, in functional.py:3504`.
fn moment(result: &PlanResult) -> Option<String> {
    let at = &result.at;
    let name = |file: &str| Path::new(file).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let own = at.file.as_ref().zip(at.line).map(|(file, line)| format!("{}:{line}", name(file)));
    let step = at.step.map(|step| format!(", step {step}")).unwrap_or_default();
    let phase = at.phase.map(|phase| format!("{}{step}", phase.name()));
    let within = at.within.as_ref().map(|inner| format!("in {}:{}", name(&inner.file), inner.line));
    let parts: Vec<String> = [own, phase, within].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The modules that have most, and what for.
fn modules(report: &mut Report, tree: &[ModuleNode]) {
    let total: Bytes = tree.iter().filter(|node| node.depth == 0).map(ModuleNode::bytes).sum();
    // Without a module there is nothing to tell.
    if !tree.iter().any(|node| node.kind.is_some()) {
        return;
    }
    let is_shown = |node: &&ModuleNode| node.depth < DEEPEST && node.bytes().share_of(total) >= WORTH_A_ROW;
    let rows: Vec<Vec<String>> = tree
        .iter()
        .filter(is_shown)
        .take(MODULES)
        .map(|node| {
            let times = if node.count > 1 { format!(" ×{}", node.count) } else { String::new() };
            let name = format!("{}{}{times}", "  ".repeat(node.depth as usize), node.name);
            row![node.bytes(), name, mostly(node)]
        })
        .collect();
    report.gap();
    report.heading("In use at the peak, by module");
    report.table(4, &[Right, Left, Left], &rows);
}

/// What a module's memory is for: the class that is most of it, or the two largest.
fn mostly(node: &ModuleNode) -> String {
    let mut classes = node.by_class.clone();
    classes.sort_by_key(|(class, bytes)| (std::cmp::Reverse(*bytes), *class));
    match classes.as_slice() {
        [(class, _)] if node.kind.is_none() && *class == Class::Rounding => String::new(),
        [(class, _)] => class.words(),
        [(class, bytes), ..] if bytes.share_of(node.bytes()) >= MOST_OF_IT => {
            format!("mostly {}", class.words())
        }
        [(first, _), (second, _), ..] => format!("{}, {}", first.words(), second.words()),
        [] => String::new(),
    }
}

/// What is pinned of the host's memory, where that is much.
fn host(result: &PlanResult) -> Option<String> {
    let pinned = result.pinned.filter(|pinned| *pinned >= PINNED)?;
    Some(format!("{pinned} of pinned memory (PyTorch rounds each request up to a power of two)"))
}

/// What each rank needs, where they differ.
fn ranks(report: &mut Report, result: &PlanResult) {
    let Some(world) = result.world.as_ref().filter(|world| alike(world).is_none()) else { return };
    report.gap();
    report.heading(&format!("Ranks that were run, of {}", world.size));
    let has_stages = world.ranks.iter().any(|rank| rank.stage.is_some());
    let mut rows = vec![row!["rank", if has_stages { "stage" } else { "" }, "requested", "needs", ""]];
    for rank in &world.ranks {
        let stage = rank.stage.map(|stage| stage.to_string()).unwrap_or_default();
        let (requested, needs) = (known(rank.peak_requested, "-"), known(rank.process, "fails"));
        let worst = if rank.rank == world.worst { "the most" } else { "" };
        rows.push(row![rank.rank, stage, requested, needs, worst]);
    }
    report.table(2, &[Right, Right, Right, Right, Left], &rows);
}

fn options(report: &mut Report, result: &PlanResult) {
    if result.options.is_empty() {
        return;
    }
    report.gap();
    report.heading("What would change it");
    let varies = if result.vary.is_some() { Right } else { Hidden };
    let mut rows = vec![row!["", "needs", "fits", "largest", "known by", "change"]];
    for (index, option) in result.options.iter().enumerate() {
        let (needs, fits) = (known(option.process, "fails"), answer(option.fits));
        let most = largest(option.largest);
        rows.push(row![index + 1, needs, fits, most, option.how.name(), option.change]);
    }
    report.table(2, &[Right, Right, Left, varies, Left, Left], &rows);
    let best = result.options.first().filter(|option| option.fits == Some(true));
    let labels = ["Do"].into_iter().chain(std::iter::repeat("and"));
    report.say_all(labels.zip(best.iter().flat_map(|best| &best.instructions)));
}

/// The largest value under a change: `24`, or `24+` where a larger one may fit.
fn largest(found: Option<PlannedLargest>) -> String {
    match found {
        Some(PlannedLargest { value: Some(value), is_open }) => {
            format!("{value}{}", if is_open { "+" } else { "" })
        }
        Some(PlannedLargest { value: None, is_open: false }) => "none".to_owned(),
        _ => "?".to_owned(),
    }
}

/// The least that it needs, where nothing makes it fit.
fn needs_least(least: &PlannedLeast, result: &PlanResult) -> String {
    let flag = result.vary.as_ref().map(|vary| vary.flag.as_str());
    let at = flag.zip(least.value).map(|(flag, value)| format!(" at {flag} {value}")).unwrap_or_default();
    let with = match least.change.as_str() {
        "" => ", as it is: no change that was tried lowers it".to_owned(),
        change => format!(", with {change}: nothing that was tried makes it fit"),
    };
    format!("{}{at}{with}. `oomph fit --dry-run` tries more, such as micro-batches", least.process)
}

/// What each value that was run needs.
fn values(report: &mut Report, vary: &PlannedVary) {
    if vary.values.len() < 2 {
        return;
    }
    report.heading("Memory by value");
    let mut rows = vec![row![vary.flag, "needs", "fits"]];
    rows.extend(vary.values.iter().map(|run| row![run.value, run.process, answer(Some(run.fits))]));
    report.table(2, &[Right, Right, Left], &rows);
}

fn answer(fits: Option<bool>) -> &'static str {
    fits.map_or("?", |fits| if fits { "yes" } else { "no" })
}

/// What the search over a flag found.
fn varied(vary: &PlannedVary) -> String {
    let Some(largest) = vary.largest else {
        return format!("not even {} 1 fits", vary.flag);
    };
    let more = if vary.is_open { "fits, and more may" } else { "is the largest that fits" };
    let kept = match (vary.asked, vary.accumulation()) {
        (Some(asked), Some((micro, times))) if asked > largest => {
            format!("; {micro} × {times} steps of accumulation keep the batch of {asked}")
        }
        _ => String::new(),
    };
    format!("{} {largest} {more}{kept}", vary.flag)
}

fn notes(report: &mut Report, notes: Vec<&str>) {
    if !notes.is_empty() {
        report.gap();
    }
    report.say_all(notes.into_iter().map(|note| ("Note", note)));
}

/// The change that makes it fit, where it does not without; else the least that it needs.
fn makes_it_fit(result: &PlanResult) -> Option<String> {
    let suffices = result.options.first().filter(|option| option.fits == Some(true));
    let change = suffices.filter(|_| result.fits == Some(false)).map(|option| option.change.clone());
    change.or_else(|| result.least.as_ref().map(|least| format!("nothing below {}", least.process)))
}

/// A table over several cards, in the order given.
pub fn cards(results: &[PlanResult], colour: Colour) -> String {
    let fitting = results.iter().filter(|result| result.fits == Some(true)).count();
    let mut report = Report::new(&format!("fits on {fitting} of {} cards", results.len()), colour);
    report.gap();
    let varies = results.iter().any(|result| result.vary.is_some());
    let most = if varies { Right } else { Hidden };
    let changes = if results.iter().any(|result| makes_it_fit(result).is_some()) { Left } else { Hidden };
    let mut rows = vec![row!["", "memory", "needs", "fits", "seen on", "largest", "what makes it fit"]];
    for result in results {
        let card = &result.card;
        let largest = result.vary.as_ref().map(|vary| known(vary.largest, "none")).unwrap_or_default();
        let (needs, seen_on) =
            (known(result.process(), "-"), result.seen_on.as_deref().unwrap_or(&card.short));
        let change = makes_it_fit(result).unwrap_or_default();
        let fits = answer(result.fits);
        let fits = if result.fits == Some(true) && result.retries > 0 {
            format!("{fits} *")
        } else {
            fits.to_owned()
        };
        rows.push(row![card.short, card.total, needs, fits, seen_on, largest, change]);
    }
    report.table(2, &[Left, Right, Right, Left, Left, most, changes], &rows);
    if let Some(at) = results.first().and_then(moment) {
        report.gap();
        report.say("Peak at", at);
    }
    // Each note once; that cards stand for others, in one for all.
    let mut said: Vec<&str> = Vec::new();
    for note in results.iter().flat_map(|result| result.why_not.iter().chain(&result.caveats)) {
        let note = match note {
            note if note.starts_with(ALIKE) => ALIKE_IN_TABLE,
            note if note.starts_with(GIVES_BACK) => GIVES_BACK_IN_TABLE,
            note => note,
        };
        if !said.contains(&note) {
            said.push(note);
        }
    }
    notes(&mut report, said);
    report.finish()
}

//! `oomph tune` as text.

use oomph_diagnose::results::tune::TuneResult;
use oomph_diagnose::tune::{Candidate, risks};

use super::report::{Align, Colour, Report, row};
use crate::numbers::{count, counted, known};
use crate::{recording, settings};

/// How many rows are shown unless all are asked for.
const SHOWN: usize = 12;

/// The whole report. `all`: every row rather than the best dozen.
pub fn render(result: &TuneResult, all: bool, colour: Colour) -> String {
    let title = match result.best.map(|best| &result.candidates[best]) {
        Some(best) if best.completes || result.limit.is_none() => {
            colour.good(&format!("{} is best", settings::named(&best.options, "defaults")))
        }
        Some(best) => {
            let (least, limit) =
                (settings::named(&best.options, "defaults"), known(result.limit, "the limit"));
            colour.bad(&format!("no setting fits {limit}: the job needs less memory; {least} comes nearest"))
        }
        None if result.candidates[0].completes => "no setting does better than the recorded one".to_owned(),
        None => colour.bad("no allocator setting helps: the job needs less memory or a larger card"),
    };
    let mut report = Report::new(&title, colour);
    report.say_all(recording::facts(&result.recording));
    let limit = match (result.limit, recording::limit(&result.recording)) {
        (Some(limit), Some((known, source))) if limit == known => format!("{limit} ({source})"),
        (Some(limit), _) => limit.to_string(),
        (None, _) => "none known: give one with --limit to see what fits it".to_owned(),
    };
    report.say("Limit", limit);
    report.gap();
    candidates(&mut report, result, all);
    report.gap();
    explain_best(&mut report, result);
    if let Some(growth) = &result.growth {
        let grown = growth.per_step;
        report.say("But", format!("memory in use grows by {grown} with every step: no setting cures that"));
    }
    report.say(
        "Columns",
        "runs from: the smallest limit that completes. peak held: with memory to spare. retries and driver calls: under the limit.",
    );
    let tried = counted(result.candidates.len(), "setting");
    report.say("Known by", format!("replay of {tried}; {}", recording::fidelity(&result.recording)));
    report.finish()
}

/// The best first, then those that complete, by what they need; always with the recorded one.
fn candidates(report: &mut Report, result: &TuneResult, all: bool) {
    let mut order: Vec<usize> = (0..result.candidates.len()).collect();
    let need = |candidate: &Candidate| candidate.smallest_limit.map_or(u64::MAX, |limit| limit.0);
    order.sort_by_key(|index| {
        let candidate = &result.candidates[*index];
        (Some(*index) != result.best, !candidate.completes, need(candidate), candidate.retries, *index)
    });
    let hidden = if all { 0 } else { order.len().saturating_sub(SHOWN) };
    order.truncate(order.len() - hidden);
    if !order.contains(&0) {
        order.push(0);
    }
    let mut rows = vec![row!["runs from", "peak held", "retries", "calls", "fits", "settings"]];
    for index in order {
        let tried = &result.candidates[index];
        let mark = if index == 0 { " (recorded)" } else { "" };
        let settings = settings::named(&tried.options, "defaults") + mark;
        let (from, fits) = (known(tried.smallest_limit, "-"), settings::fits(tried, result.limit));
        let (retries, calls) = (count(tried.retries), count(tried.driver_calls));
        rows.push(row![from, tried.peak_reserved, retries, calls, fits, settings]);
    }
    use Align::{Left, Right};
    report.table(2, &[Right, Right, Right, Right, Left, Left], &rows);
    if hidden > 0 {
        report.line(&format!("  … and {} (--all shows them)", counted(hidden, "more setting")));
    }
}

fn explain_best(report: &mut Report, result: &TuneResult) {
    let recorded = &result.candidates[0];
    let need = |candidate: &Candidate| known(candidate.smallest_limit, "more than replay tried");
    let needed = need(recorded);
    let Some(best) = result.best.map(|best| &result.candidates[best]) else {
        let floor = result.recording.peaks.requested.bytes;
        let text =
            format!("{floor} is in use at the peak whatever the settings; the recorded ones need {needed}");
        report.say("Why", text);
        return;
    };
    let mut why = format!("runs from {}, the recorded settings from {needed}", need(best));
    if !recorded.completes && best.completes {
        why.push_str("; under the limit it completes, which the recorded run did not");
    }
    report.say("Why", why);
    if best.completes || result.limit.is_none() {
        report.say("Do", settings::command(&best.options));
    }
    report.say_all(risks(&best.options).into_iter().map(|risk| ("Mind", risk)));
}

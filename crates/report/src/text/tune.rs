//! `oomph tune` as text.

use std::fmt::Write as _;

use oomph_diagnose::tune::{Candidate, risks};

use super::heading;
use super::style::{Align, Colour, paragraph, table};
use crate::words::{self, count, counted};
use oomph_diagnose::results::tune::TuneResult;

/// How many rows are shown unless all are asked for.
const SHOWN: usize = 12;

/// The whole report. `all`: every row rather than the best dozen.
pub fn render(result: &TuneResult, all: bool, colour: Colour) -> String {
    let mut out = String::new();
    let recorded = &result.candidates[0];
    let verdict = match result.best.map(|best| &result.candidates[best]) {
        Some(best) => colour.good(&format!("{} is best", words::settings(best))),
        None if recorded.completes => "no setting does better than the recorded one".to_owned(),
        None => colour.bad("no allocator setting helps: the job needs less memory or a larger card"),
    };
    let _ = writeln!(out, "{}", colour.strong(&verdict));
    heading::recording(&mut out, &result.recording);
    let limit = match (result.limit, words::limit(&result.recording)) {
        (Some(limit), Some((known, source))) if limit == known => format!("{limit} ({source})"),
        (Some(limit), _) => limit.to_string(),
        (None, _) => "none known: give one with --limit to see what fits it".to_owned(),
    };
    paragraph(&mut out, "Limit", &limit);
    out.push('\n');

    let mut order: Vec<usize> = (0..result.candidates.len()).collect();
    let need = |candidate: &Candidate| candidate.smallest_limit.map_or(u64::MAX, |limit| limit.0);
    order.sort_by_key(|index| {
        let candidate = &result.candidates[*index];
        (Some(*index) != result.best, !candidate.completes, need(candidate), candidate.retries, *index)
    });
    let hidden = if all { 0 } else { order.len().saturating_sub(SHOWN) };
    let mut shown: Vec<usize> = order[..order.len() - hidden].to_vec();
    if !shown.contains(&0) {
        shown.push(0);
    }
    let limited = result.limit.is_some();
    let mut rows =
        vec![["runs from", "peak held", "retries", "calls", "fits", "settings"].map(str::to_owned).to_vec()];
    for index in shown {
        let candidate = &result.candidates[index];
        let mark = if index == 0 { " (recorded)" } else { "" };
        rows.push(vec![
            candidate.smallest_limit.map_or_else(|| "-".to_owned(), |limit| limit.to_string()),
            candidate.peak_reserved.to_string(),
            count(candidate.retries),
            count(candidate.driver_calls),
            match (limited, candidate.completes) {
                (false, _) => "-",
                (true, true) => "yes",
                (true, false) => "no",
            }
            .to_owned(),
            format!("{}{mark}", words::settings(candidate)),
        ]);
    }
    use Align::{Left, Right};
    table(&mut out, 2, &[Right, Right, Right, Right, Left, Left], &rows);
    if hidden > 0 {
        let _ = writeln!(out, "  … and {} (--all shows them)", counted(hidden as u64, "more setting"));
    }
    out.push('\n');
    explain_best(&mut out, result);
    if let Some(growth) = &result.growth {
        let text =
            format!("memory in use grows by {} with every step: no setting cures that", growth.per_step);
        paragraph(&mut out, "But", &text);
    }
    paragraph(
        &mut out,
        "Columns",
        "runs from: the smallest limit that completes. peak held: with memory to spare. retries and driver calls: under the limit.",
    );
    paragraph(
        &mut out,
        "Known by",
        &format!(
            "replay of {}; {}",
            counted(result.candidates.len() as u64, "setting"),
            words::fidelity(&result.recording)
        ),
    );
    out
}

fn explain_best(out: &mut String, result: &TuneResult) {
    let recorded = &result.candidates[0];
    let Some(best) = result.best.map(|best| &result.candidates[best]) else {
        let floor = result.recording.peaks.requested.bytes;
        paragraph(
            out,
            "Why",
            &format!(
                "{floor} is in use at the peak whatever the settings; the recorded ones need {}",
                need(recorded)
            ),
        );
        return;
    };
    let mut why = format!("runs from {}, the recorded settings from {}", need(best), need(recorded));
    if !recorded.completes && best.completes {
        why.push_str("; under the limit it completes, which the recorded run did not");
    }
    paragraph(out, "Why", &why);
    paragraph(out, "Do", &words::instruction(best));
    for risk in risks(&best.options) {
        paragraph(out, "Mind", risk);
    }
}

fn need(candidate: &Candidate) -> String {
    candidate.smallest_limit.map_or_else(|| "more than replay tried".to_owned(), |limit| limit.to_string())
}

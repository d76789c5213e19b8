//! `oomph explain` as text: the verdict, why it is not another, the card, the fixes.

use oomph_diagnose::explain::Explanation;
use oomph_diagnose::judge::Not;
use oomph_diagnose::results::explain::DeviceResult;

use super::report::Align::{Hidden, Left, Right};
use super::report::{Colour, Report, row};
use crate::breakdown::Breakdown;
use crate::numbers::{count, known};
use crate::{recording, settings, verdict};

/// The whole report.
pub fn render(result: &DeviceResult, colour: Colour) -> String {
    let explanation = &result.explanation;
    let headline = verdict::headline(result);
    let headline = if explanation.ooms.is_empty() { headline } else { colour.bad(&headline) };
    let mut report = Report::new(&headline, colour);
    report.say_all(verdict::facts(result));
    findings(&mut report, explanation);
    report.gap();
    report.breakdown(&Breakdown::at_moment(result));
    report.say_all(verdict::borrowed(explanation).map(|note| ("Note", note)));
    if let Some(classes) = Breakdown::by_class(result) {
        report.gap();
        report.breakdown(&classes);
    }
    report.gap();
    if recording::has_history(&result.recording) {
        fixes(&mut report, result);
        advice(&mut report, explanation);
    }
    report.say("Check", recording::fidelity(&result.recording));
    report.finish()
}

fn findings(report: &mut Report, explanation: &Explanation) {
    match &explanation.verdict {
        Some(verdict) => super::verdict::say(report, verdict),
        None if explanation.ooms.is_empty() => {}
        None => report.say("Cause", format!("unknown: {}", verdict::NO_CAUSE)),
    }
    for finding in &explanation.findings {
        report.say("Also", format!("{} [{}]", finding.claim, finding.rule));
        report.say_all(finding.evidence.iter().map(|line| ("", line)));
    }
    for Not { cause, why: reason } in explanation.verdict.iter().flat_map(|verdict| &verdict.not) {
        report.say("Not", format!("{}: {reason}", cause.name()));
    }
}

fn fixes(report: &mut Report, result: &DeviceResult) {
    let explanation = &result.explanation;
    if explanation.fixes.is_empty() {
        return;
    }
    report.heading(&format!("{} (replayed)", settings::heading(explanation)));
    let limit = result.recording.ceiling();
    let mut rows = vec![row!["", "peak held", "retries", "room", "fits", "settings"]];
    for (rank, fix) in settings::listed(explanation) {
        let tried = &fix.candidate;
        let (room, fits) = (known(tried.room, "-"), settings::fits(tried, limit));
        let named = settings::named(&tried.options, "defaults");
        rows.push(row![known(rank, "–"), tried.peak_reserved, count(tried.retries), room, fits, named]);
    }
    // Where nothing failed, there is nothing to have room after.
    let room = if explanation.ooms.is_empty() { Hidden } else { Right };
    report.table(2, &[Right, Right, Right, room, Left, Left], &rows);
    report.say_all(settings::columns(result).map(|text| ("Columns", text)));
    if let Some(remedy) = settings::remedy(explanation) {
        // A verdict says at its head what to do.
        if explanation.verdict.is_none() {
            let text = if remedy.is_setting { report.colour.good(&remedy.text) } else { remedy.text };
            report.say("Do", text);
        }
        report.say_all(remedy.risks.into_iter().map(|risk| ("Mind", risk)));
    }
    report.gap();
}

/// What to change in the program, and what is tried in vain.
fn advice(report: &mut Report, explanation: &Explanation) {
    let advice = settings::beside(explanation);
    if advice.is_empty() {
        return;
    }
    report.heading("Beside settings");
    advice.iter().for_each(|(rank, text)| report.say(&known(*rank, "–"), text));
    report.gap();
}

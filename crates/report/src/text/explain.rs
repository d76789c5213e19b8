//! `oomph explain` as text: the verdict, why it is not another, the card, the fixes.

use std::str::FromStr;

use oomph_diagnose::explain::Explanation;
use oomph_diagnose::judge::Not;
use oomph_diagnose::results::explain::DeviceResult;
use oomph_trace::named;
use oomph_trace::spelling::nearest;

use super::report::Align::{Hidden, Left, Right};
use super::report::{Colour, Report, row};
use crate::breakdown::Breakdown;
use crate::numbers::{count, known};
use crate::{recording, settings, verdict};

named! {
    /// A part of the report, by its heading.
    Section {
        /// What failed, where, why, and why it was nothing else.
        Verdict = "verdict",
        /// Who holds the card's memory.
        Memory = "memory",
        /// What is in use by what it is for.
        ByClass = "by-class",
        /// Settings that were replayed.
        Settings = "settings",
        /// What to change in the program.
        BesideSettings = "beside-settings",
        /// Whether the replay is exact.
        Check = "check",
    }
}

/// No section has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no section `{name}`{}", suggestion(name))]
pub struct NoSection {
    name: String,
}

fn suggestion(name: &str) -> String {
    let names = || Section::ALL.iter().map(|section| section.name());
    match nearest(name, names()) {
        Some(near) => format!(", did you mean `{near}`?"),
        None => format!(": name some of {}", names().collect::<Vec<_>>().join(", ")),
    }
}

impl FromStr for Section {
    type Err = NoSection;

    fn from_str(name: &str) -> Result<Section, NoSection> {
        Section::from_name(name).ok_or_else(|| NoSection { name: name.to_owned() })
    }
}

/// The report's headline and these of its sections, in the order of the report.
pub fn render(result: &DeviceResult, sections: &[Section], colour: Colour) -> String {
    let explanation = &result.explanation;
    let headline = verdict::headline(result);
    let headline = if explanation.ooms.is_empty() { headline } else { colour.bad(&headline) };
    let mut report = Report::new(&headline, colour);
    let is_whole = sections == Section::ALL;
    for section in Section::ALL.iter().filter(|section| sections.contains(section)) {
        let began = report.len();
        if *section != Section::Verdict {
            report.gap();
        }
        let begins = report.len();
        show(&mut report, *section, result);
        if report.len() == begins {
            report.shorten(began);
            // Who asks for a section by its name learns that it is empty.
            if !is_whole {
                report.gap();
                report.say("None", format!("{}: this recording has nothing of that", section.name()));
            }
        }
    }
    report.finish()
}

fn show(report: &mut Report, section: Section, result: &DeviceResult) {
    let explanation = &result.explanation;
    let has_history = recording::has_history(&result.recording);
    match section {
        Section::Verdict => {
            report.say_all(verdict::facts(result));
            findings(report, explanation);
        }
        Section::Memory => {
            report.breakdown(&Breakdown::at_moment(result));
            report.say_all(verdict::borrowed(explanation).map(|note| ("Note", note)));
        }
        Section::ByClass => {
            if let Some(classes) = Breakdown::by_class(result) {
                report.breakdown(&classes);
            }
        }
        Section::Settings if has_history => fixes(report, result),
        Section::BesideSettings if has_history => advice(report, explanation),
        Section::Settings | Section::BesideSettings => {}
        Section::Check => report.say("Check", recording::fidelity(&result.recording)),
    }
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
}

/// What to change in the program, and what is tried in vain.
fn advice(report: &mut Report, explanation: &Explanation) {
    let advice = settings::beside(explanation);
    if advice.is_empty() {
        return;
    }
    report.heading("Beside settings");
    advice.iter().for_each(|(rank, text)| report.say(&known(*rank, "–"), text));
}

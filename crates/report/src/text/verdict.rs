//! The verdict on a failure as one screen: what was asked and where, the cause, the line to blame, and the cure.

use oomph_diagnose::judge::{Culprit, Verdict};
use oomph_diagnose::results::explain::DeviceResult;

use super::report::{Colour, Report, WIDTH};
use crate::place::located;
use crate::verdict::{did, headline, proof};

/// A verdict under a traceback is no longer than this.
const LINES: usize = 14;
/// Where text begins beside its label.
const INDENT: usize = 11;

/// One screen; `None` where there is no verdict. `more` is what to type to see the rest.
pub fn render(result: &DeviceResult, more: &str, colour: Colour) -> Option<String> {
    let verdict = result.explanation.verdict.as_ref()?;
    let mut report = Report::new(&colour.bad(&headline(result)), colour);
    let place = result.explanation.ooms.first().and_then(|oom| oom.place.as_ref());
    report.say_all(place.map(|place| ("Where", located(place))));
    say(&mut report, verdict);
    let mut lines: Vec<String> = report.finish().lines().map(str::to_owned).collect();
    for not in &verdict.not {
        let mut aside = Report::new("", colour);
        aside.say("Not", format!("{}: {}", not.cause.name(), not.why));
        let aside: Vec<String> = aside.finish().lines().map(str::to_owned).collect();
        if lines.len() + aside.len() < LINES {
            lines.extend(aside);
        }
    }
    lines.truncate(LINES - 1);
    lines.push(format!("  {:<9}{more}", "More"));
    Some(lines.join("\n") + "\n")
}

/// The cause, the line to blame, and the first cure with its proof.
pub(super) fn say(report: &mut Report, verdict: &Verdict) {
    report.say("Cause", format!("{}: {}", verdict.cause.name().replace('_', " "), verdict.claim));
    if let Some(culprit) = verdict.culprits.first() {
        quote(report, culprit);
    }
    if let Some(cure) = verdict.cures.first() {
        report.say("Do", &cure.action);
        report.say("Proof", proof(cure));
    }
}

/// The line, what it did, and what it says.
fn quote(report: &mut Report, culprit: &Culprit) {
    report.say("Line", format!("{}: {}", culprit.line, did(culprit)));
    if let Some(code) = &culprit.code {
        let bar = format!("{:>width$} | ", culprit.line.line, width = INDENT - 3);
        let code: String = code.chars().filter(|c| !c.is_control()).take(WIDTH - bar.len()).collect();
        report.line(&format!("{bar}{code}"));
    }
}

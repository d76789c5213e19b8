//! The settings that were replayed, and what to do.

use std::fmt::Write as _;

use oomph_diagnose::cause::Cause;
use oomph_diagnose::explain::Fix;
use oomph_diagnose::tune::risks;

use super::escape::Escaped;
use crate::results::ExplainResult;
use crate::words;

/// How many settings that do not help are listed.
const FRUITLESS: usize = 3;

pub(super) fn write(out: &mut String, result: &ExplainResult<'_>) {
    let explanation = &result.explanation;
    if explanation.fixes.is_empty() {
        return;
    }
    let _ = writeln!(out, "<section class=\"card\"><h2>{}</h2>", heading(result));
    let room =
        if explanation.ooms.is_empty() { "" } else { "; room: what more such requests could take after it" };
    let columns = if result.recording.ceiling().is_some() {
        format!(" Peak held: with memory to spare; the others: under the limit{room}.")
    } else {
        String::new()
    };
    let _ =
        writeln!(out, "<p class=\"note\">Each is known by replaying the recording under it.{columns}</p>");
    table(out, result);
    instruction(out, result);
    if !explanation.advice.is_empty() {
        out.push_str("<h3>Beside settings</h3>\n");
        advice(out, result);
    }
    out.push_str("</section>\n");
}

/// What the settings of the table would have done.
pub(super) fn heading(result: &ExplainResult<'_>) -> &'static str {
    let explanation = &result.explanation;
    let helping = explanation.fixes.iter().filter(|fix| fix.helps).count();
    match (helping, !explanation.ooms.is_empty()) {
        (1.., true) if explanation.cause == Some(Cause::Leak) => {
            "Settings that would have moved the failure to a later step"
        }
        (0, true) => "Settings: none would have let it pass",
        (0, false) => "Settings: none would lower the peak by 1% or more",
        (_, true) => "Settings that would have let it pass",
        (_, false) => "Settings that lower the peak",
    }
}

/// The settings, those that help first.
pub(super) fn table(out: &mut String, result: &ExplainResult<'_>) {
    let explanation = &result.explanation;
    let failed = !explanation.ooms.is_empty();
    let head = if failed { "<th class=\"n\">room</th>" } else { "" };
    let _ = writeln!(
        out,
        "<div class=\"scroll\"><table><thead><tr><th></th><th>settings</th><th class=\"n\">peak held</th>\
         <th class=\"n\">retries</th>{head}<th>fits</th><th>known by</th></tr></thead><tbody>"
    );
    let limited = result.recording.ceiling().is_some();
    let fruitless = explanation.fixes.iter().filter(|fix| !fix.helps).take(FRUITLESS);
    for (rank, fix) in explanation.fixes.iter().filter(|fix| fix.helps).chain(fruitless).enumerate() {
        row(out, rank, fix, limited, failed);
    }
    out.push_str("</tbody></table></div>\n");
}

/// What to do first.
pub(super) fn instruction(out: &mut String, result: &ExplainResult<'_>) {
    let explanation = &result.explanation;
    if explanation.cause == Some(Cause::Leak) {
        let cure = words::cure_of_growth(explanation);
        let _ = writeln!(out, "<div class=\"do\"><p><b>Do</b> {}</p></div>", Escaped(cure));
    } else if let Some(best) = explanation.fixes.first().filter(|fix| fix.helps) {
        let instruction = words::instruction(&best.candidate);
        let _ = write!(out, "<div class=\"do\"><p><b>Do</b> <code>{}</code></p>", Escaped(instruction));
        for risk in risks(&best.candidate.options) {
            let _ = write!(out, "<p class=\"mind\"><b>Mind</b> {}</p>", Escaped(risk));
        }
        out.push_str("</div>\n");
    }
}

/// What to change in the program, then what is tried in vain.
pub(super) fn advice(out: &mut String, result: &ExplainResult<'_>) {
    let advice = &result.explanation.advice;
    out.push_str("<ul class=\"advice\">\n");
    let helping = advice.iter().filter(|advice| advice.helps).map(|advice| ("", advice));
    let fruitless = advice.iter().filter(|advice| !advice.helps).map(|advice| (" class=\"vain\"", advice));
    for (class, advice) in helping.chain(fruitless) {
        let _ = writeln!(out, "<li{class}>{}</li>", Escaped(words::advice(advice)));
    }
    out.push_str("</ul>\n");
}

fn row(out: &mut String, rank: usize, fix: &Fix, limited: bool, failed: bool) {
    let candidate = &fix.candidate;
    let (class, mark) =
        if fix.helps { ("helps", (rank + 1).to_string()) } else { ("vain", "–".to_owned()) };
    let (fits_class, fits) = match (limited, candidate.completes) {
        (false, _) => ("", "-"),
        (true, true) => ("yes", "yes"),
        (true, false) => ("no", "no"),
    };
    let room = candidate.room.map_or_else(|| "-".to_owned(), |room| room.to_string());
    let room = if failed { format!("<td class=\"n\">{room}</td>") } else { String::new() };
    let _ = writeln!(
        out,
        "<tr class=\"{class}\"><td>{mark}</td><td><code>{}</code></td><td class=\"n\">{}</td><td class=\"n\">{}</td>{room}\
         <td class=\"{fits_class}\">{fits}</td><td>replay</td></tr>",
        Escaped(words::settings(candidate)),
        candidate.peak_reserved,
        words::count(candidate.retries),
    );
}

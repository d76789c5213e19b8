//! The verdict in words: what failed, where, why, and why it was nothing else.

use std::fmt::{Display, Write as _};

use super::escape::Escaped;
use crate::results::ExplainResult;
use crate::words;

pub(super) fn write(out: &mut String, result: &ExplainResult<'_>) {
    let _ = writeln!(out, "<h1>{}</h1>", Escaped(headline(&words::headline(result))));
    causes(out, result);
    out.push_str("<dl>\n");
    facts(out, result);
    out.push_str("</dl>\n");
}

/// A headline as a page shows it: it begins with a capital, and a number is not parted from what it counts.
pub(super) fn headline(text: &str) -> String {
    let tied = [("GPU ", "GPU\u{a0}"), ("step ", "step\u{a0}"), (" MiB", "\u{a0}MiB"), (" GiB", "\u{a0}GiB")];
    let text = tied.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// What caused it, with the evidence.
pub(super) fn causes(out: &mut String, result: &ExplainResult<'_>) {
    let explanation = &result.explanation;
    if explanation.cause.is_none() && !explanation.ooms.is_empty() {
        out.push_str(
            "<div class=\"cause\"><p class=\"claim\"><span class=\"name\">Unknown</span>: the limit cannot be told \
             from this recording; give it with --limit</p></div>\n",
        );
    }
    let cause = explanation.cause;
    for finding in explanation.findings.iter().filter(|found| found.cause.is_some() && found.cause == cause) {
        let name = cause.map_or("", oomph_diagnose::cause::Cause::name);
        let _ = write!(
            out,
            "<div class=\"cause\"><p class=\"claim\"><span class=\"name\">{name}</span>: {} \
             <span class=\"rule\">[{}]</span></p>",
            Escaped(&finding.claim),
            finding.rule
        );
        evidence(out, &finding.evidence);
        out.push_str("</div>\n");
    }
}

pub(super) fn evidence(out: &mut String, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    out.push_str("<ul class=\"evidence\">");
    for line in lines {
        let _ = write!(out, "<li>{}</li>", Escaped(line));
    }
    out.push_str("</ul>");
}

fn facts(out: &mut String, result: &ExplainResult<'_>) {
    let explanation = &result.explanation;
    if let Some(oom) = explanation.ooms.first() {
        if let Some(place) = &oom.place {
            let _ = writeln!(out, "<dt>Where</dt><dd><code>{}</code></dd>", Escaped(words::located(place)));
        }
        fact(out, "When", words::when(result));
        if let Some(failed) =
            explanation.moment.failed.filter(|failed| failed.segment.to_string() != failed.size.to_string())
        {
            let segment = failed.segment;
            fact(
                out,
                "Size",
                format_args!("PyTorch's message says {segment}, which is what it asked of the driver"),
            );
        }
    } else if words::has_history(result.recording) {
        fact(out, "When", words::when(result));
    }
    fact(out, "Run", words::run(result.recording));
    for unknown in &result.recording.program.unknown {
        fact(out, "Unknown", words::unknown(*unknown));
    }
    let is_cause = |cause| cause == explanation.cause && explanation.cause.is_some();
    for finding in explanation.findings.iter().filter(|finding| !is_cause(finding.cause)) {
        let name = finding.cause.map_or_else(String::new, |cause| format!("{}: ", cause.name()));
        let _ = write!(
            out,
            "<dt>Also</dt><dd>{name}{} <span class=\"rule\">[{}]</span>",
            Escaped(&finding.claim),
            finding.rule
        );
        evidence(out, &finding.evidence);
        out.push_str("</dd>\n");
    }
    for (cause, reason) in &explanation.ruled_out {
        let _ = writeln!(out, "<dt>Not</dt><dd><b>{}</b>: {}</dd>", cause.name(), Escaped(reason));
    }
}

fn fact(out: &mut String, label: &str, text: impl Display) {
    let _ = writeln!(out, "<dt>{label}</dt><dd>{}</dd>", Escaped(text));
}

//! The verdict on a recording, for the page: the sentences of `explain`.

use oomph_diagnose::results::explain::DeviceResult;
use oomph_view::groups::Part;
use oomph_view::picture::Subject;
use serde_json::{Value, json};

use super::foreign::{bytes, document, text};
use crate::breakdown::Breakdown;
use crate::{recording, settings, verdict as said};

/// What happened, why, and what to do; and what of it can be replayed.
pub fn verdict(result: &DeviceResult, subject: &Subject) -> Vec<u8> {
    let explanation = &result.explanation;
    let facts = said::facts(result);
    let mut facts: Vec<Value> = facts.iter().map(|(label, fact)| json!([label, text(fact)])).collect();
    facts.extend(said::borrowed(explanation).map(|lent| json!(["Lines", text(&lent)])));
    facts.push(json!(["Check", text(&recording::fidelity(&result.recording))]));
    let judged = explanation.verdict.as_ref().map(|found| {
        let culprits: Vec<Value> = found
            .culprits
            .iter()
            .map(|culprit| {
                json!({
                    "line": text(&culprit.line.to_string()), "did": text(&said::did(culprit)),
                    "code": culprit.code.as_deref().map(text),
                })
            })
            .collect();
        let cures: Vec<Value> = found
            .cures
            .iter()
            .map(|cure| json!({ "do": text(&cure.action), "proof": text(&said::proof(cure)) }))
            .collect();
        json!({
            "cause": text(&found.cause.name().replace('_', " ")), "claim": text(&found.claim),
            "culprits": culprits, "cures": cures,
        })
    });
    let findings = explanation.findings.iter();
    let findings: Vec<Value> = findings.map(|finding| json!([text(&finding.claim), finding.rule])).collect();
    let memory = Breakdown::at_moment(result);
    let parts: Vec<Value> = memory
        .parts
        .iter()
        .map(|part| {
            let line = part.line.as_deref().map(text);
            json!({ "style": part.style, "bytes": bytes(part.bytes), "what": text(&part.what), "line": line })
        })
        .collect();
    let steps = &explanation.steps;
    let starts: Vec<Value> =
        steps.starts.iter().zip(&steps.numbers).map(|(start, number)| json!([start.0, number])).collect();
    document(&json!({
        "headline": text(&said::headline(result)),
        "failed": !explanation.ooms.is_empty(),
        "unknown": said::NO_CAUSE,
        "slot": explanation.moment.event.0,
        "facts": facts, "verdict": judged, "findings": findings,
        "memory": { "heading": text(&memory.heading), "parts": parts, "total": bytes(memory.total), "source": text(&memory.source) },
        "steps": starts,
        "menu": menu(result, subject),
    }))
}

/// What is worth a replay: settings of the shortlist, those that help first; then the job without what a line to blame holds.
fn menu(result: &DeviceResult, subject: &Subject) -> Value {
    let explanation = &result.explanation;
    let settings = explanation.fixes.iter().map(|fix| {
        json!({
            "settings": fix.candidate.options.to_string(),
            "title": settings::named(&fix.candidate.options, "default settings"),
            "helps": fix.helps,
        })
    });
    let culprits = explanation.verdict.iter().flat_map(|found| &found.culprits);
    let lines = &subject.groups.lines;
    let without = culprits.filter_map(|culprit| {
        let number = lines.iter().position(|line| line.as_ref() == Some(&culprit.line))?;
        let name = &subject.groups.parts[Part::Line as usize].names[number];
        Some(json!({ "without": number, "title": text(&format!("without what {name} holds then")), "helps": null }))
    });
    Value::from(settings.chain(without).collect::<Vec<Value>>())
}

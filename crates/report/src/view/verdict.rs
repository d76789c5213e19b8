//! The verdict on a recording, for the page: the sentences of `explain`.

use oomph_diagnose::results::explain::DeviceResult;
use oomph_view::groups::Part;
use oomph_view::picture::Subject;
use serde_json::{Value, json};

use super::foreign::{bytes, document, text};
use crate::breakdown::Breakdown;
use crate::{recording, settings, verdict as said};

/// Replays under settings that a single file has room for, besides one without what a line holds.
const KEPT_SETTINGS: usize = 2;

/// The verdict on a recording.
#[derive(Debug)]
pub struct Judged {
    /// For the page: what happened, why, and what to do; and what of it can be replayed.
    pub document: Vec<u8>,
    /// What the page asks for where one of the replays that say most is chosen.
    pub replays: Vec<String>,
}

/// The verdict on a recording.
pub fn verdict(result: &DeviceResult, subject: &Subject) -> Judged {
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
    let menu = menu(result, subject);
    let replays = replays(&menu, explanation.moment.event.0);
    let document = document(&json!({
        "headline": text(&said::headline(result)),
        "failed": !explanation.ooms.is_empty(),
        "unknown": said::NO_CAUSE,
        "slot": explanation.moment.event.0,
        "facts": facts, "verdict": judged, "findings": findings,
        "memory": { "heading": text(&memory.heading), "parts": parts, "total": bytes(memory.total), "source": text(&memory.source) },
        "steps": starts,
        "menu": menu.iter().map(Offer::shown).collect::<Vec<Value>>(),
    }));
    Judged { document, replays }
}

/// What is worth a replay.
enum Offer {
    /// Settings of the shortlist, and whether they help.
    Settings { settings: String, title: String, helps: bool },
    /// The job without what the line of this number holds.
    Without { line: usize, title: String },
}

impl Offer {
    fn shown(&self) -> Value {
        match self {
            Offer::Settings { settings, title, helps } => {
                json!({ "settings": settings, "title": title, "helps": helps })
            }
            Offer::Without { line, title } => json!({ "without": line, "title": text(title), "helps": null }),
        }
    }
}

/// Settings first, those that help before the others; then the job without what a line to blame holds.
fn menu(result: &DeviceResult, subject: &Subject) -> Vec<Offer> {
    let explanation = &result.explanation;
    let settings = explanation.fixes.iter().map(|fix| Offer::Settings {
        settings: fix.candidate.options.to_string(),
        title: settings::named(&fix.candidate.options, "default settings"),
        helps: fix.helps,
    });
    let culprits = explanation.verdict.iter().flat_map(|found| &found.culprits);
    let lines = &subject.groups.lines;
    let without = culprits.filter_map(|culprit| {
        let line = lines.iter().position(|line| line.as_ref() == Some(&culprit.line))?;
        let name = &subject.groups.parts[Part::Line as usize].names[line];
        Some(Offer::Without { line, title: format!("without what {name} holds then") })
    });
    settings.chain(without).collect()
}

/// Of the menu at this slot, the settings that help, and the first line to blame.
fn replays(menu: &[Offer], slot: u32) -> Vec<String> {
    let settings = menu.iter().filter_map(|offer| match offer {
        Offer::Settings { settings, helps: true, .. } => Some(format!("replay/{}/", escaped(settings))),
        _ => None,
    });
    let without = menu.iter().filter_map(|offer| match offer {
        Offer::Without { line, .. } => Some(format!("without/{line}/{slot}")),
        Offer::Settings { .. } => None,
    });
    settings.take(KEPT_SETTINGS).chain(without.take(1)).collect()
}

/// As JavaScript's `encodeURIComponent` writes it.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_menu_what_helps_is_kept_and_the_line_to_blame() {
        let settings = |settings: &str, helps| Offer::Settings {
            settings: settings.to_owned(),
            title: String::new(),
            helps,
        };
        let without = |line| Offer::Without { line, title: String::new() };
        let menu =
            [settings("a:1,b:é", true), settings("c:2", false), settings("d:3", true), settings("e:4", true)];
        let menu: Vec<Offer> = menu.into_iter().chain([without(7), without(9)]).collect();
        assert_eq!(replays(&menu, 5), ["replay/a%3A1%2Cb%3A%C3%A9/", "replay/d%3A3/", "without/7/5"]);
    }
}

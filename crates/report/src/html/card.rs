//! The verdict as a card under a notebook's cell: a fragment of HTML that brings its own style, asks for nothing, and can
//! stand in a document many times.

use maud::{Markup, PreEscaped, html};
use oomph_diagnose::cause::Cause;
use oomph_diagnose::message::Log;
use oomph_diagnose::place::Line;
use oomph_diagnose::results::explain::{DeviceResult, Explained, FileResult};

use super::message::message;
use super::parts::{headline, memory, place};
use super::printed::printed;
use super::{fixes, style, verdict};
use crate::breakdown::Breakdown;
use crate::place::located;
use crate::{recording, settings};

/// The card of what was explained: a part for each device, process or text. `code` gives the text of a line of source,
/// where it can be read.
pub fn card(files: &[FileResult], code: &dyn Fn(&Line) -> Option<String>) -> String {
    let results: Vec<&Explained> = files.iter().flat_map(|file| &file.results).collect();
    let markup = html! {
        div.oomph-card role="group" aria-label="oomph" {
            style { (PreEscaped(style::card())) }
            @for result in &results {
                @match result {
                    Explained::Device(result) => { (device(result, code)) }
                    Explained::Process(result) => { (message(result.log.as_ref().unwrap_or(&Log::default()))) }
                    Explained::Text(log) => { (message(log)) }
                }
            }
            @if results.is_empty() { (headline("no device")) }
        }
    };
    printed(&markup) + "\n"
}

/// A verdict says what to do; the table of settings is for one that is about settings, or where there is none.
fn device(result: &DeviceResult, code: &dyn Fn(&Line) -> Option<String>) -> Markup {
    let explanation = &result.explanation;
    let judged = explanation.verdict.as_ref();
    let blamed = judged.and_then(|verdict| verdict.culprits.first());
    let asked = explanation.ooms.first().and_then(|oom| oom.place.as_ref());
    // Not twice: the line to blame may be the one that asked.
    let asked = asked.filter(|place| blamed.is_none_or(|by| by.line != place.line || by.code.is_none()));
    let is_about_settings = judged.is_none_or(|verdict| verdict.cause == Cause::Fragmentation);
    html! {
        (headline(&crate::verdict::headline(result)))
        (verdict::causes(explanation))
        @if let Some(asked) = asked { (place(&located(asked), result.code(&asked.line, code).as_deref())) }
        (memory(&Breakdown::at_moment(result)))
        @if is_about_settings && recording::has_history(&result.recording) && !explanation.fixes.is_empty() {
            p.label { (settings::heading(explanation)) }
            (fixes::table(result))
            (fixes::remedy(explanation))
        }
        @if judged.is_none() && !explanation.advice.is_empty() {
            p.label { "Beside settings" }
            (fixes::advice(explanation))
        }
    }
}

//! The verdict as a card under a notebook's cell: a fragment of HTML that brings its own style, asks for nothing, and can
//! stand in a document many times.

use maud::{Markup, PreEscaped, html};
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

fn device(result: &DeviceResult, code: &dyn Fn(&Line) -> Option<String>) -> Markup {
    let explanation = &result.explanation;
    let found = explanation.ooms.first().and_then(|oom| oom.place.as_ref());
    html! {
        (headline(&crate::verdict::headline(result)))
        (verdict::causes(explanation))
        @if let Some(found) = found { (place(&located(found), result.code(&found.line, code).as_deref())) }
        (memory(&Breakdown::at_moment(result)))
        @if recording::has_history(&result.recording) && !explanation.fixes.is_empty() {
            p.label { (settings::heading(explanation)) }
            (fixes::table(result))
            (fixes::remedy(explanation))
        }
        @if !explanation.advice.is_empty() { p.label { "Beside settings" } (fixes::advice(explanation)) }
    }
}

//! Results as one page that needs nothing but itself: no script is needed to read it, no address is asked for anything,
//! and the same results give the same bytes.
//!
//! Markup is made by `maud`, which escapes every text; `printed` replaces what a page cannot hold.

mod prose;
mod verdict;
mod fixes;
mod parts;
mod message;
mod printed;
mod style;
pub mod card;
mod axes;
mod map;
mod memory;
mod plan;
mod timeline;

use maud::{Markup, PreEscaped, html};
use oomph_diagnose::results::explain::{DeviceResult, Explained, FileResult};
use oomph_trace::Bytes;
pub use plan::plan;

use crate::breakdown::Breakdown;
use crate::recording;
use printed::printed;

const SCRIPT: &str = include_str!("tip.js");
/// What the browser may load: what is in the page.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
/// Fills that can be told apart without colour.
const PATTERNS: &str = include_str!("patterns.svg");

/// The page of what was explained: one section for each device. `None` where there is no device: a message alone, or a
/// process that used no GPU, has nothing to draw.
pub fn page(files: &[FileResult]) -> Option<String> {
    let results = files.iter().flat_map(|file| &file.results);
    let devices: Vec<&DeviceResult> = results.filter_map(Explained::device).collect();
    let title = crate::verdict::headline(devices.first()?);
    let number = |result: &DeviceResult| result.recording.trace().device;
    let body = html! {
        @if devices.len() > 1 {
            nav aria-label="Devices" {
                @for result in &devices { a href={ "#gpu" (number(result)) } { "GPU " (number(result)) } }
            }
        }
        @for result in &devices {
            section.device id={ "gpu" (number(result)) } { (device(result)) }
        }
    };
    Some(document("oomph explain", &title, &body))
}

fn device(result: &DeviceResult) -> Markup {
    let has_history = recording::has_history(&result.recording);
    html! {
        (verdict::section(result))
        (memory::section(&Breakdown::at_moment(result), &result.explanation))
        @if let Some(classes) = Breakdown::by_class(result) { (memory::classes(&classes)) }
        @if has_history { (timeline::section(result)) }
        (map::section(result))
        @if has_history { (fixes::section(result)) }
        p.check { b { "Check" } " " (recording::fidelity(&result.recording)) }
    }
}

/// A whole page.
fn document(brand: &str, title: &str, body: &Markup) -> String {
    printed(&html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                title { (title) " · oomph" }
                style { (PreEscaped(style::page())) }
            }
            body {
                (PreEscaped(PATTERNS))
                main { p.brand { (brand) } (body) }
                div #tip role="status" hidden {}
                script { (PreEscaped(SCRIPT)) }
            }
        }
    })
}

/// What the colours of a drawing mean.
fn keys<'a>(keys: impl IntoIterator<Item = (&'a str, &'a str)>) -> Markup {
    html! {
        ul.keys { @for (style, what) in keys { li { span class={ "key " (style) } {} (what) } } }
    }
}

/// `part` of `whole` in per cent, to a millionth of it.
fn percent(part: Bytes, whole: Bytes) -> String {
    let text = format!("{:.4}", part.share_of(whole) * 100.0);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}%")
}

/// An amount without decimals that say nothing, never broken over two lines: 6 GiB.
fn whole(bytes: Bytes) -> String {
    if bytes == Bytes::ZERO {
        "0".to_owned()
    } else {
        bytes.to_string().replace(".00 ", " ").replace(' ', "\u{a0}")
    }
}

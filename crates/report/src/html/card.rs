//! The verdict as a card under a notebook's cell: a fragment of HTML that brings its own style, asks for nothing, and can
//! stand in a document many times.

mod message;

use std::fmt::Write as _;

use oomph_diagnose::place::Line;
use oomph_trace::Bytes;

use super::escape::Escaped;
use super::{bar, fixes, percent, style, verdict};
use crate::words;
use oomph_diagnose::message::Log;
use oomph_diagnose::results::explain::{DeviceResult, Explained, FileResult};

use message::message;

/// The card of what was explained: a part for each device, process or text. `code` gives the text of a line of source,
/// where it can be read.
pub fn card(files: &[FileResult], code: &dyn Fn(&Line) -> Option<String>) -> String {
    let mut out = begin();
    let results = files.iter().flat_map(|file| &file.results);
    let mut is_empty = true;
    for result in results {
        is_empty = false;
        match result {
            Explained::Device(result) => device(&mut out, result, code),
            Explained::Process(result) => message(&mut out, result.log.as_ref().unwrap_or(&Log::default())),
            Explained::Text(log) => message(&mut out, log),
        }
    }
    if is_empty {
        out.push_str("<p class=\"headline\">No device</p>\n");
    }
    end(out)
}

fn device(out: &mut String, result: &DeviceResult, code: &dyn Fn(&Line) -> Option<String>) {
    headline(out, &words::headline(result));
    verdict::causes(out, result);
    if let Some(found) = result.explanation.ooms.first().and_then(|oom| oom.place.as_ref()) {
        place(out, &words::located(found), code(&found.line).as_deref());
    }
    let (parts, total, source) = bar::parts(result);
    let label = format!("Memory {}", words::moment(result));
    memory(out, &label, &parts, total, &source);
    if words::has_history(&result.recording) && !result.explanation.fixes.is_empty() {
        let _ = writeln!(out, "<p class=\"label\">{}</p>", fixes::heading(result));
        fixes::table(out, result);
        fixes::instruction(out, result);
    }
    if !result.explanation.advice.is_empty() {
        out.push_str("<p class=\"label\">Beside settings</p>\n");
        fixes::advice(out, result);
    }
}

fn begin() -> String {
    let style = style::card();
    format!("<div class=\"oomph-card\" role=\"group\" aria-label=\"oomph\">\n<style>\n{style}</style>\n")
}

fn end(mut out: String) -> String {
    out.push_str("</div>\n");
    out
}

fn headline(out: &mut String, text: &str) {
    let _ = writeln!(out, "<p class=\"headline\">{}</p>", Escaped(verdict::headline(text)));
}

/// The line of the program, and what it says.
fn place(out: &mut String, place: &str, code: Option<&str>) {
    let _ = write!(out, "<div class=\"where\"><code>{}</code>", Escaped(place));
    if let Some(code) = code.map(str::trim).filter(|code| !code.is_empty()) {
        let _ = write!(out, "<pre>{}</pre>", Escaped(code));
    }
    out.push_str("</div>\n");
}

/// The parts as one bar and as a list; they add up to `total`, which `source` names.
fn memory(out: &mut String, label: &str, parts: &[bar::Part], total: Bytes, source: &str) {
    let _ = write!(
        out,
        "<p class=\"label\">{label}</p>\n<div class=\"bar\" data-total=\"{}\" role=\"img\" aria-label=\"Memory, {total} in all\">",
        total.0
    );
    for part in parts {
        let _ = write!(
            out,
            "<span class=\"{}\" style=\"width:{}\" data-bytes=\"{}\" title=\"{}: {}\"></span>",
            part.class,
            percent(part.bytes, total),
            part.bytes.0,
            Escaped(bar::described(part)),
            part.bytes
        );
    }
    out.push_str("</div>\n<ul class=\"keys\">");
    for part in parts {
        let what = Escaped(bar::described(part));
        let _ = write!(
            out,
            "<li><span class=\"key {}\"></span><b>{}</b> {what}</li>",
            part.class,
            super::whole(part.bytes)
        );
    }
    let _ = writeln!(out, "<li class=\"sum\">= <b>{}</b> {}</li></ul>", super::whole(total), Escaped(source));
}

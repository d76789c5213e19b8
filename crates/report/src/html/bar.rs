//! The memory at the moment as one bar, and the same as a table: the parts add up to the card.

use std::fmt::Write as _;

use oomph_trace::Bytes;

use super::escape::Escaped;
use super::{HOLDERS, holder_class, percent};
use crate::memory;
use crate::words;
use oomph_diagnose::results::explain::DeviceResult;

/// One part of the whole.
pub(super) struct Part {
    pub(super) class: String,
    pub(super) bytes: Bytes,
    pub(super) what: String,
    /// How many allocations, where that can be said.
    pub(super) count: Option<usize>,
}

pub(super) fn write(out: &mut String, result: &DeviceResult) {
    let (parts, total, source) = parts(result);
    let _ = writeln!(
        out,
        "<section class=\"card\"><h2>Memory {}</h2>\n<p class=\"note\">What each line of the program holds, and what is \
         held for nobody. All of it adds up to {total}.</p>",
        words::moment(result)
    );
    let _ = writeln!(
        out,
        "<div class=\"bar-frame\"><svg class=\"bar\" data-total=\"{}\" role=\"group\" aria-label=\"Memory, {total} in all\">",
        total.0
    );
    let mut before = Bytes::ZERO;
    for part in &parts {
        let tip = format!("{}\n{} ({} bytes)", described(part), part.bytes, words::count(part.bytes.0));
        let tip = Escaped(&tip);
        let _ = writeln!(
            out,
            "<rect class=\"{}\" x=\"{}\" y=\"0\" width=\"{}\" height=\"60\" data-bytes=\"{}\" tabindex=\"0\" role=\"img\" \
             aria-label=\"{tip}\" data-tip=\"{tip}\"/>",
            part.class,
            percent(before, total),
            percent(part.bytes, total),
            part.bytes.0,
        );
        before += part.bytes;
    }
    let _ = writeln!(out, "</svg></div>\n<div class=\"ends\"><span>0</span><span>{total}</span></div>");
    out.push_str(
        "<table class=\"legend\"><thead><tr><th></th><th>held by</th><th class=\"n\">size</th>\
         <th class=\"n exact-head\">bytes</th><th class=\"n share\">share</th></tr></thead><tbody>\n",
    );
    for part in &parts {
        let _ = writeln!(
            out,
            "<tr><td><span class=\"key {}\"></span></td><td>{}</td><td class=\"n\">{}</td>\
             <td class=\"n exact\">{}</td><td class=\"n share\">{}</td></tr>",
            part.class,
            Escaped(described(part)),
            part.bytes,
            words::count(part.bytes.0),
            share(part.bytes, total)
        );
    }
    let _ = writeln!(
        out,
        "<tr class=\"total\"><td></td><td>{}</td><td class=\"n\">{total}</td><td class=\"n exact\">{}</td>\
         <td class=\"n share\">100%</td></tr>\n</tbody></table>",
        Escaped(source),
        words::count(total.0)
    );
    if let Some(note) = words::borrowed(&result.explanation) {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", Escaped(note));
    }
    out.push_str("</section>\n");
    classes(out, result);
}

/// What was in use by what it was for, as a table that adds up.
fn classes(out: &mut String, result: &DeviceResult) {
    let moment = &result.explanation.moment;
    let parts = moment.classes.as_ref().map(memory::by_class).unwrap_or_default();
    if parts.is_empty() {
        return;
    }
    let active = moment.counters.active;
    out.push_str(
        "<section class=\"card\"><h2>By class</h2>\n<table class=\"legend\"><thead><tr><th>what for</th>\
         <th class=\"n\">size</th><th class=\"n exact-head\">bytes</th><th class=\"n share\">share</th></tr></thead>\
         <tbody>\n",
    );
    let mut row = |style: &str, name: &str, bytes: Bytes| {
        let _ = writeln!(
            out,
            "<tr{style}><td>{name}</td><td class=\"n\">{bytes}</td><td class=\"n exact\">{}</td>\
             <td class=\"n share\">{}</td></tr>",
            words::count(bytes.0),
            share(bytes, active)
        );
    };
    for (bytes, name) in parts {
        row("", name, bytes);
    }
    row(" class=\"total\"", "in use", active);
    out.push_str("</tbody></table></section>\n");
}

fn share(part: Bytes, whole: Bytes) -> String {
    match part.share_of(whole) * 100.0 {
        tiny if tiny < 0.05 => "&lt;0.1%".to_owned(),
        share => format!("{share:.1}%"),
    }
}

/// Who holds it, and in how many allocations.
pub(super) fn described(part: &Part) -> String {
    match part.count {
        Some(count) if count > 1 => format!("{} ×{}", part.what, words::count(count as u64)),
        _ => part.what.clone(),
    }
}

/// The parts that are not empty, what they add up to, and what that is.
pub(super) fn parts(result: &DeviceResult) -> (Vec<Part>, Bytes, String) {
    let moment = &result.explanation.moment;
    let unlined = words::unlined(&result.recording);
    let mut parts = Vec::new();
    for (rank, holder) in moment.holders.iter().take(HOLDERS).enumerate() {
        let what = words::holder(holder, unlined);
        parts.push(Part { class: holder_class(rank), bytes: holder.bytes, what, count: Some(holder.count) });
    }
    let mut add = |class: &str, bytes, what: &str| {
        parts.push(Part { class: class.to_owned(), bytes, what: what.to_owned(), count: None });
    };
    let rest = moment.holders.get(HOLDERS..).unwrap_or_default();
    let elsewhere = format!("{} elsewhere", words::counted(rest.len() as u64, "line"));
    add("hx", rest.iter().map(|holder| holder.bytes).sum(), &elsewhere);
    add("trapped", moment.trapped(), "cached beside blocks in use: cannot be given back");
    add("spare", moment.releasable, "cached, could be given back");
    let (not_held, total, source) = memory::not_held(result);
    for (class, bytes, what) in not_held {
        add(class, bytes, &what);
    }
    parts.retain(|part| part.bytes > Bytes::ZERO);
    (parts, total, source)
}

//! The counters over the whole run, as areas of steps.

use std::fmt::Write as _;

use oomph_diagnose::timeline::{self, Curve, Timeline};
use oomph_trace::{Bytes, EventIdx};

use super::whole;
use crate::words;
use oomph_diagnose::results::explain::DeviceResult;

/// Points of each curve at most.
const POINTS: usize = 2000;
/// The chart inside the drawing: its top, its height, and the units of its own axes.
const TOP: f64 = 26.0;
const HEIGHT: f64 = 230.0;
const UNITS: f64 = 10_000.0;
/// How many stretches can be pointed at.
const COLUMNS: usize = 120;
/// More ticks than this run into each other.
const TICKS: usize = 300;

/// From events and bytes to the units of the chart.
struct Scale {
    events: f64,
    top: Bytes,
}

impl Scale {
    fn x(&self, event: EventIdx) -> f64 {
        (f64::from(event.0) / self.events * UNITS).round().min(UNITS)
    }

    fn y(&self, bytes: Bytes) -> f64 {
        ((1.0 - bytes.share_of(self.top)) * UNITS).round()
    }

    /// In the drawing rather than the chart.
    fn pixel(&self, bytes: Bytes) -> f64 {
        TOP + (1.0 - bytes.share_of(self.top)) * HEIGHT
    }
}

pub(super) fn write(out: &mut String, result: &DeviceResult) {
    let recording = &result.recording;
    let timeline = timeline::of(recording, POINTS);
    let limit = recording.ceiling();
    let end = EventIdx(timeline.events as u32);
    let highest = timeline.reserved.greatest(EventIdx(0), end).max(limit.unwrap_or_default());
    // A little air above the highest line.
    let scale =
        Scale { events: timeline.events.max(1) as f64, top: Bytes(highest.0 / 16 * 17).max(Bytes(1)) };
    out.push_str("<section class=\"card\"><h2>Over the run</h2>\n<p class=\"note\">");
    let starts = &result.explanation.steps.starts;
    let steps = match starts.len() {
        0 => String::new(),
        n => format!(" The ticks at the bottom are where {} begin.", words::counted(n as u64, "step")),
    };
    let _ = writeln!(
        out,
        "From event 0 to {}: in use, and held from the driver.{steps}</p>",
        words::count(timeline.events as u64)
    );
    out.push_str("<div class=\"plot\"><svg class=\"axis\" aria-hidden=\"true\">\n");
    let lines = grid_lines(&scale, highest, limit);
    for bytes in &lines {
        let y = scale.pixel(*bytes) + 4.0;
        let _ = writeln!(out, "<text x=\"100%\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>", whole(*bytes));
    }
    if let Some(limit) = limit {
        let y = scale.pixel(limit) + 4.0;
        let _ = writeln!(
            out,
            "<text class=\"strong\" x=\"100%\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>",
            whole(limit)
        );
    }
    out.push_str(
        "</svg><svg class=\"chart\" role=\"img\" aria-label=\"Memory in use and held, by event\">\n",
    );
    for bytes in &lines {
        let y = scale.pixel(*bytes);
        let _ = writeln!(out, "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
    }
    let _ = writeln!(
        out,
        "<svg x=\"0\" y=\"{TOP}\" width=\"100%\" height=\"{HEIGHT}\" viewBox=\"0 0 {UNITS} {UNITS}\" preserveAspectRatio=\"none\">"
    );
    for (class, curve) in [("reserved", &timeline.reserved), ("active", &timeline.active)] {
        let steps = steps_of(curve, &scale);
        let _ = writeln!(out, "<path class=\"{class}\" d=\"M0 {UNITS}{steps}V{UNITS}Z\"/>");
    }
    let allocated = steps_of(&timeline.allocated, &scale).replacen('V', "M0 ", 1);
    let _ = writeln!(out, "<path class=\"allocated\" d=\"{allocated}\"/>\n</svg>");
    marks(out, result, &scale);
    columns(out, &timeline);
    out.push_str(
        "</svg></div>\n<ul class=\"keys\"><li><span class=\"key active\"></span>in use (active)</li>\
         <li><span class=\"key allocated\"></span>allocated: active without frees that wait for another stream</li>\
         <li><span class=\"key reserved\"></span>held from the driver (reserved)</li></ul></section>\n",
    );
}

/// The curve from its first value to the chart's right edge, to stand after a point at x = 0.
fn steps_of(curve: &Curve, scale: &Scale) -> String {
    let mut path = String::new();
    for (index, (at, bytes)) in curve.points.iter().enumerate() {
        if index > 0 {
            let _ = write!(path, "H{}", scale.x(*at));
        }
        let _ = write!(path, "V{}", scale.y(*bytes));
    }
    let _ = write!(path, "H{UNITS}");
    path
}

/// Round amounts, none so near the limit that their names would run into each other.
fn grid_lines(scale: &Scale, highest: Bytes, limit: Option<Bytes>) -> Vec<Bytes> {
    let mut each = Bytes(1);
    while highest.0 / each.0 > 5 {
        each = each + each;
    }
    let lines = (0..=highest.0 / each.0).map(|line| Bytes(line * each.0));
    let apart =
        |bytes: &Bytes| limit.is_none_or(|limit| (scale.pixel(limit) - scale.pixel(*bytes)).abs() > 14.0);
    lines.filter(apart).collect()
}

/// The limit, the moment and the steps.
fn marks(out: &mut String, result: &DeviceResult, scale: &Scale) {
    let bottom = TOP + HEIGHT;
    let per_cent = |event: EventIdx| scale.x(event) / UNITS * 100.0;
    if let Some(limit) = result.recording.ceiling() {
        let y = scale.pixel(limit);
        let _ = writeln!(
            out,
            "<line class=\"limit\" x1=\"0\" x2=\"100%\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"label strong\" x=\"2\" y=\"{:.1}\">limit</text>",
            y - 5.0
        );
    }
    let starts = &result.explanation.steps.starts;
    let each = starts.len().div_ceil(TICKS).max(1);
    for start in starts.iter().step_by(each) {
        let _ = write!(
            out,
            "<line class=\"step\" x1=\"{0:.2}%\" x2=\"{0:.2}%\" y1=\"{1}\" y2=\"{2}\"/>",
            per_cent(*start),
            bottom + 2.0,
            bottom + 9.0
        );
    }
    let event = result.explanation.moment.event;
    let x = per_cent(event);
    let label = if result.explanation.ooms.is_empty() { "peak in use" } else { "failed" };
    let (anchor, shift) = if x > 50.0 { ("end", -6) } else { ("start", 6) };
    let _ = writeln!(
        out,
        "\n<line class=\"moment\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"4\" y2=\"{bottom}\"/>\
         <text class=\"moment-label\" x=\"{x:.2}%\" dx=\"{shift}\" y=\"14\" text-anchor=\"{anchor}\">{label}, event {}</text>\n\
         <text x=\"2\" y=\"{2}\">event 0</text><text x=\"100%\" dx=\"-2\" y=\"{2}\" text-anchor=\"end\">{1}</text>",
        words::count(u64::from(event.0)),
        words::count(scale.events as u64),
        bottom + 26.0
    );
}

/// Stretches to point at, each with its greatest values.
fn columns(out: &mut String, timeline: &Timeline) {
    let columns = COLUMNS.min(timeline.events);
    for column in 0..columns {
        let [from, to] = [column, column + 1].map(|n| EventIdx((n * timeline.events / columns) as u32));
        let greatest = |curve: &Curve| curve.greatest(from, to);
        let _ = writeln!(
            out,
            "<rect class=\"column\" x=\"{:.4}%\" width=\"{:.4}%\" y=\"{TOP}\" height=\"{HEIGHT}\" \
             data-tip=\"events {} to {}&#10;in use: up to {}&#10;allocated: up to {}&#10;held: up to {}\"/>",
            column as f64 * 100.0 / columns as f64,
            100.0 / columns as f64,
            words::count(u64::from(from.0)),
            words::count(u64::from(to.0.max(1) - 1)),
            greatest(&timeline.active),
            greatest(&timeline.allocated),
            greatest(&timeline.reserved),
        );
    }
}

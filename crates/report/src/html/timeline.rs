//! The counters over the whole run, as areas of steps.

use std::fmt::Write as _;

use maud::{Markup, display, html};
use oomph_diagnose::results::explain::DeviceResult;
use oomph_diagnose::timeline::{self, Curve, Timeline};
use oomph_trace::{Bytes, EventIdx};

use super::{keys, whole};
use crate::numbers::{count, counted};

/// Points of each curve at most.
const POINTS: usize = 2000;
/// The chart inside the drawing: its top, its height, its bottom, and the units of its own axes.
const TOP: f64 = 26.0;
const HEIGHT: f64 = 230.0;
const BOTTOM: f64 = TOP + HEIGHT;
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

/// The page's section.
pub(super) fn section(result: &DeviceResult) -> Markup {
    let recording = &result.recording;
    let timeline = timeline::of(recording, POINTS);
    let limit = recording.ceiling();
    let end = EventIdx(timeline.events as u32);
    let highest = timeline.reserved.greatest(EventIdx(0), end).max(limit.unwrap_or_default());
    // A little air above the highest line.
    let scale =
        Scale { events: timeline.events.max(1) as f64, top: Bytes(highest.0 / 16 * 17).max(Bytes(1)) };
    let steps = result.explanation.steps.starts.len();
    let lines = grid_lines(&scale, highest, limit);
    let pixel = |bytes: Bytes, down: f64| format!("{:.1}", scale.pixel(bytes) + down);
    let outline = |curve: &Curve| format!("M0 {UNITS}{}V{UNITS}Z", steps_of(curve, &scale));
    html! {
        section.card {
            h2 { "Over the run" }
            p.note {
                "From event 0 to " (count(timeline.events)) ": in use, and held from the driver."
                @if steps > 0 { " The ticks at the bottom are where " (counted(steps, "step")) " begin." }
            }
            div.plot {
                svg.axis aria-hidden="true" {
                    @for bytes in &lines { text x="100%" y=(pixel(*bytes, 4.0)) text-anchor="end" { (whole(*bytes)) } }
                    @if let Some(limit) = limit {
                        text.strong x="100%" y=(pixel(limit, 4.0)) text-anchor="end" { (whole(limit)) }
                    }
                }
                svg.chart role="img" aria-label="Memory in use and held, by event" {
                    @for bytes in &lines {
                        line.grid x1="0" x2="100%" y1=(pixel(*bytes, 0.0)) y2=(pixel(*bytes, 0.0)) {}
                    }
                    svg x="0" y=(TOP) width="100%" height=(HEIGHT) viewBox={ "0 0 " (UNITS) " " (UNITS) }
                        preserveAspectRatio="none" {
                        path.reserved d=(outline(&timeline.reserved)) {}
                        path.active d=(outline(&timeline.active)) {}
                        path.allocated d=(steps_of(&timeline.allocated, &scale).replacen('V', "M0 ", 1)) {}
                    }
                    @if let Some(limit) = limit {
                        line.limit x1="0" x2="100%" y1=(pixel(limit, 0.0)) y2=(pixel(limit, 0.0)) {}
                        text.label.strong x="2" y=(pixel(limit, -5.0)) { "limit" }
                    }
                    (marks(result, &scale))
                    (columns(&timeline))
                }
            }
            (keys([
                ("active", "in use (active)"),
                ("allocated", "allocated: active without frees that wait for another stream"),
                ("reserved", "held from the driver (reserved)"),
            ]))
        }
    }
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

/// The steps, the moment, and the ends of the axis.
fn marks(result: &DeviceResult, scale: &Scale) -> Markup {
    let per_cent = |event: EventIdx| format!("{:.2}%", scale.x(event) / UNITS * 100.0);
    let starts = &result.explanation.steps.starts;
    let each = starts.len().div_ceil(TICKS).max(1);
    let event = result.explanation.moment.event;
    let x = per_cent(event);
    let (anchor, shift) = if scale.x(event) > UNITS / 2.0 { ("end", -6) } else { ("start", 6) };
    html! {
        @for start in starts.iter().step_by(each) {
            line.step x1=(per_cent(*start)) x2=(per_cent(*start)) y1=(BOTTOM + 2.0) y2=(BOTTOM + 9.0) {}
        }
        line.moment x1=(x) x2=(x) y1="4" y2=(BOTTOM) {}
        text.moment-label x=(x) dx=(shift) y="14" text-anchor=(anchor) {
            (if result.explanation.ooms.is_empty() { "peak in use" } else { "failed" }) ", event " (count(event.0))
        }
        text x="2" y=(BOTTOM + 26.0) { "event 0" }
        text x="100%" dx="-2" y=(BOTTOM + 26.0) text-anchor="end" { (count(scale.events)) }
    }
}

/// Stretches to point at, each with its greatest values.
fn columns(timeline: &Timeline) -> Markup {
    let columns = COLUMNS.min(timeline.events);
    let width = 100.0 / columns as f64;
    html! {
        @for column in 0..columns {
            @let [from, to] = [column, column + 1].map(|n| EventIdx((n * timeline.events / columns) as u32));
            @let most = |curve: &Curve| display(curve.greatest(from, to));
            rect.column x=(format!("{:.4}%", column as f64 * 100.0 / columns as f64)) width=(format!("{width:.4}%"))
                y=(TOP) height=(HEIGHT) data-tip={
                    "events " (count(from.0)) " to " (count(to.0.max(1) - 1))
                    "\nin use: up to " (most(&timeline.active))
                    "\nallocated: up to " (most(&timeline.allocated))
                    "\nheld: up to " (most(&timeline.reserved))
                } {}
        }
    }
}

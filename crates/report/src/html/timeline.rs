//! The counters over the whole run, as areas of steps.

use std::fmt::Write as _;

use maud::{Markup, display, html};
use oomph_diagnose::results::explain::DeviceResult;
use oomph_diagnose::timeline::{self, Curve, Timeline};
use oomph_trace::EventIdx;

use super::axes::{self, BOTTOM, HEIGHT, Limit, Scale, TOP, UNITS};
use super::keys;
use crate::numbers::{count, counted};

/// Points of each curve at most.
const POINTS: usize = 2000;
/// How many stretches can be pointed at.
const COLUMNS: usize = 120;
/// More ticks than this run into each other.
const TICKS: usize = 300;

/// The page's section.
pub(super) fn section(result: &DeviceResult) -> Markup {
    let recording = &result.recording;
    let timeline = timeline::of(recording, POINTS);
    let limit = recording.ceiling().map(|bytes| Limit { bytes, name: "limit".to_owned(), at_end: false });
    let all = EventIdx(0)..EventIdx(timeline.events as u32);
    let most = timeline.reserved.greatest(all.start, all.end);
    let scale = Scale::new(&all, limit.as_ref().map_or(most, |limit| limit.bytes.max(most)));
    let steps = result.explanation.steps.starts.len();
    let outline = |curve: &Curve| format!("M0 {UNITS}{}V{UNITS}Z", steps_of(curve, &scale));
    let areas = html! {
        path.reserved d=(outline(&timeline.reserved)) {}
        path.active d=(outline(&timeline.active)) {}
        path.allocated d=(steps_of(&timeline.allocated, &scale).replacen('V', "M0 ", 1)) {}
    };
    let marks = html! { (marks(result, &timeline, &scale)) (columns(&timeline)) };
    html! {
        section.card {
            h2 { "Over the run" }
            p.note {
                "From event 0 to " (count(timeline.events)) ": in use, and held from the driver."
                @if steps > 0 { " The ticks at the bottom are where " (counted(steps, "step")) " begin." }
            }
            (axes::plot(&scale, limit.as_ref(), "Memory in use and held, by event", &areas, &marks))
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

/// The steps, the moment, and the ends of the axis.
fn marks(result: &DeviceResult, timeline: &Timeline, scale: &Scale) -> Markup {
    let starts = &result.explanation.steps.starts;
    let each = starts.len().div_ceil(TICKS).max(1);
    let event = result.explanation.moment.event;
    let name = if result.explanation.ooms.is_empty() { "peak in use" } else { "failed" };
    html! {
        @for start in starts.iter().step_by(each) {
            @let x = scale.per_cent(*start);
            line.step x1=(x) x2=(x) y1=(BOTTOM + 2.0) y2=(BOTTOM + 9.0) {}
        }
        (axes::moment(scale, event, &format!("{name}, event {}", count(event.0))))
        text x="2" y=(BOTTOM + 26.0) { "event 0" }
        text x="100%" dx="-2" y=(BOTTOM + 26.0) text-anchor="end" { (count(timeline.events.max(1))) }
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

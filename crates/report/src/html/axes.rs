//! What charts over events share: from events and bytes to a drawing, the lines across it, and the limit.

use std::ops::Range;

use maud::{Markup, html};
use oomph_trace::{Bytes, EventIdx};

use super::whole;

/// The chart inside the drawing: its top, its height, its bottom, and the units of its own axes.
pub(super) const TOP: f64 = 26.0;
pub(super) const HEIGHT: f64 = 230.0;
pub(super) const BOTTOM: f64 = TOP + HEIGHT;
pub(super) const UNITS: f64 = 10_000.0;

/// From events and bytes to the units of the chart.
pub(super) struct Scale {
    from: f64,
    events: f64,
    /// The highest amount that is drawn.
    highest: Bytes,
    top: Bytes,
}

impl Scale {
    /// For these events, and amounts up to `highest`: a little air stays above it.
    pub(super) fn new(events: &Range<EventIdx>, highest: Bytes) -> Scale {
        Scale {
            from: f64::from(events.start.0),
            events: f64::from(events.end.0.saturating_sub(events.start.0).max(1)),
            highest,
            top: Bytes(highest.0.saturating_add(highest.0 / 16)).max(Bytes(1)),
        }
    }

    pub(super) fn x(&self, event: EventIdx) -> f64 {
        ((f64::from(event.0) - self.from) / self.events * UNITS).round().clamp(0.0, UNITS)
    }

    pub(super) fn y(&self, bytes: Bytes) -> f64 {
        ((1.0 - bytes.share_of(self.top)) * UNITS).round()
    }

    /// Across the drawing.
    pub(super) fn per_cent(&self, event: EventIdx) -> String {
        format!("{:.2}%", self.x(event) / UNITS * 100.0)
    }

    /// Down the drawing rather than the chart.
    fn pixel(&self, bytes: Bytes) -> f64 {
        TOP + (1.0 - bytes.share_of(self.top)) * HEIGHT
    }
}

/// An amount that is drawn as a line across the chart, and what it is called.
pub(super) struct Limit {
    pub(super) bytes: Bytes,
    pub(super) name: String,
    /// Whether the name stands at the right end of the line; at the left one otherwise.
    pub(super) at_end: bool,
}

/// The drawing: amounts at the left, lines across, `areas` in the units of the chart, the limit over them, and `marks` on
/// top.
pub(super) fn plot(
    scale: &Scale,
    limit: Option<&Limit>,
    label: &str,
    areas: &Markup,
    marks: &Markup,
) -> Markup {
    let lines = grid_lines(scale, limit.map(|limit| limit.bytes));
    let pixel = |bytes: Bytes, down: f64| format!("{:.1}", scale.pixel(bytes) + down);
    html! {
        div.plot {
            svg.axis aria-hidden="true" {
                @for bytes in &lines { text x="100%" y=(pixel(*bytes, 4.0)) text-anchor="end" { (whole(*bytes)) } }
                @if let Some(Limit { bytes, .. }) = limit {
                    text.strong x="100%" y=(pixel(*bytes, 4.0)) text-anchor="end" { (whole(*bytes)) }
                }
            }
            svg.chart role="img" aria-label=(label) {
                @for bytes in &lines {
                    line.grid x1="0" x2="100%" y1=(pixel(*bytes, 0.0)) y2=(pixel(*bytes, 0.0)) {}
                }
                svg x="0" y=(TOP) width="100%" height=(HEIGHT) viewBox={ "0 0 " (UNITS) " " (UNITS) }
                    preserveAspectRatio="none" { (areas) }
                @if let Some(Limit { bytes, name, at_end }) = limit {
                    @let (x, shift, anchor) = if *at_end { ("100%", -2, "end") } else { ("0", 2, "start") };
                    line.limit x1="0" x2="100%" y1=(pixel(*bytes, 0.0)) y2=(pixel(*bytes, 0.0)) {}
                    text.label.strong x=(x) dx=(shift) y=(pixel(*bytes, -5.0)) text-anchor=(anchor) { (name) }
                }
                (marks)
            }
        }
    }
}

/// The moment that matters, as a line down the chart with its name above.
pub(super) fn moment(scale: &Scale, event: EventIdx, name: &str) -> Markup {
    let x = scale.per_cent(event);
    let (anchor, shift) = if scale.x(event) > UNITS / 2.0 { ("end", -6) } else { ("start", 6) };
    html! {
        line.moment x1=(x) x2=(x) y1="4" y2=(BOTTOM) {}
        text.moment-label x=(x) dx=(shift) y="14" text-anchor=(anchor) { (name) }
    }
}

/// Round amounts, none so near the limit that their names would run into each other.
fn grid_lines(scale: &Scale, limit: Option<Bytes>) -> Vec<Bytes> {
    let mut each = Bytes(1);
    while scale.highest.0 / each.0 > 5 {
        each = each + each;
    }
    let lines = (0..=scale.highest.0 / each.0).map(|line| Bytes(line * each.0));
    let apart =
        |bytes: &Bytes| limit.is_none_or(|limit| (scale.pixel(limit) - scale.pixel(*bytes)).abs() > 14.0);
    lines.filter(apart).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_amount_that_a_recording_can_claim_has_a_scale() {
        for highest in [0, 1, 15, u64::MAX - 1, u64::MAX] {
            let scale = Scale::new(&(EventIdx(0)..EventIdx(0)), Bytes(highest));
            assert!((0.0..=UNITS).contains(&scale.y(Bytes(highest))), "{highest}");
            assert!(!grid_lines(&scale, Some(Bytes(highest))).is_empty() || highest < 16, "{highest}");
        }
    }
}

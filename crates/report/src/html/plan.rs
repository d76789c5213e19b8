//! `oomph plan --html`: memory over one step by class, as one page that needs nothing but itself.

use std::fmt::Write as _;

use maud::{Markup, html};
use oomph_diagnose::class_curves::ClassCurves;
use oomph_diagnose::results::plan::PlanResult;
use oomph_trace::Bytes;

use super::{document, whole};
use crate::breakdown::style_of;
use crate::text;

/// The drawing, in its own units.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 320.0;

/// The page: what the plan says, and the step with the peak.
pub fn plan(result: &PlanResult, curves: Option<&ClassCurves>) -> String {
    let report = text::plan::render(result, text::Colour::Off);
    let (title, rest) = report.split_once('\n').unwrap_or((&report, ""));
    let body = html! {
        h1 { (title) }
        @if let Some(curves) = curves.filter(|curves| !curves.points.is_empty()) { (chart(result, curves)) }
        section.card { h2 { "The plan" } pre.mono { (rest) } }
    };
    document("oomph plan", title, &body)
}

/// Areas on top of each other, one for each class, and the card's memory as a line where it is near.
fn chart(result: &PlanResult, curves: &ClassCurves) -> Markup {
    let total = |held: &[Bytes]| held.iter().copied().sum::<Bytes>();
    let highest = curves.points.iter().map(|(_, held)| total(held)).max().unwrap_or_default();
    let room = result.card.total.saturating_sub(result.context);
    let shows_room = room.0 < highest.0.saturating_mul(2);
    let top = if shows_room { highest.max(room) } else { highest };
    let top = Bytes(top.0 / 16 * 17).max(Bytes(1));
    let y = |bytes: Bytes| format!("{:.1}", (1.0 - bytes.share_of(top)) * HEIGHT);
    let step = result.at.step.map(|step| format!(", step {step}")).unwrap_or_default();
    let classes =
        || curves.classes.iter().enumerate().map(|(rank, class)| (rank, style_of(rank), class.words()));
    let most = |rank: usize| curves.points.iter().map(|(_, held)| held[rank]).max().unwrap_or_default();
    html! {
        section.card {
            h2 { "Over one step, by class" }
            p.note {
                "In use during the step with the peak" (step) ": up to " (whole(highest))
                ". Without what rounding adds and what is cached."
            }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" style={ "height:" (HEIGHT) "px" }
                role="img" aria-label="Memory in use by class" {
                @for (rank, style, name) in classes() {
                    path class=(style) d=(area(curves, rank, &y)) data-tip={ (name) ": up to " (whole(most(rank))) } {}
                }
                @if shows_room {
                    line.limit x1="0" x2=(WIDTH) y1=(y(room)) y2=(y(room)) vector-effect="non-scaling-stroke" {}
                }
            }
            ul.keys {
                @for (_, style, name) in classes() { li { span class={ "key " (style) } {} (name) } }
                @if shows_room { li { "line: " (whole(room)) ", what the " (result.card.short) " has for PyTorch" } }
            }
        }
    }
}

/// The outline of a class: along its upper edge, and back along that of the classes below it.
fn area(curves: &ClassCurves, rank: usize, y: &dyn Fn(Bytes) -> String) -> String {
    let last = (curves.points.len().max(2) - 1) as f64;
    let edge = |classes: usize| {
        let held = curves.points.iter().map(move |(_, held)| held[..classes].iter().copied().sum::<Bytes>());
        held.enumerate().map(|(index, bytes)| (index as f64 / last * WIDTH, y(bytes)))
    };
    let (upper, lower): (Vec<_>, Vec<_>) = (edge(rank + 1).collect(), edge(rank).collect());
    let mut path = String::new();
    for (index, (x, y)) in upper.iter().chain(lower.iter().rev()).enumerate() {
        let _ = write!(path, "{}{x:.1} {y}", if index == 0 { "M" } else { "L" });
    }
    path + "Z"
}

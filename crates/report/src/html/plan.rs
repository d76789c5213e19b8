//! `oomph plan --html`: memory over one step by class, as one page that needs nothing but itself.

use std::fmt::Write as _;

use maud::{Markup, html};
use oomph_diagnose::class_curves::ClassCurves;
use oomph_diagnose::results::plan::PlanResult;
use oomph_trace::Bytes;

use super::axes::{self, BOTTOM, Limit, Scale, UNITS};
use super::{document, keys, verdict, whole};
use crate::breakdown::style_of;
use crate::text;

/// A limit that is so many times as high as the highest curve is named and not drawn: it would flatten the curves.
const FAR: u64 = 3;
/// A phase that takes up less of the chart's width has no room for its name.
const NAMED: f64 = 0.06;

/// The page: what the plan says, and the step with the peak. Of several cards their table, the step as it was seen on the
/// first of them, and what is said of each.
pub fn plan(results: &[PlanResult], curves: Option<&ClassCurves>) -> String {
    let report = match results {
        [one] => text::plan::render(one, text::Colour::Off),
        several => text::plan::cards(several, text::Colour::Off),
    };
    let (title, rest) = parted(&report);
    let drawn = results.first().zip(curves.filter(|curves| !curves.points.is_empty()));
    let body = html! {
        h1 { (verdict::headline(title)) }
        @if let Some((first, curves)) = drawn { (chart(first, curves)) }
        section.card { h2 { "The plan" } pre.mono { (rest) } }
        @if results.len() > 1 { @for result in results { (of_card(result)) } }
    };
    document("oomph plan", title, &body)
}

/// What is said of one card among several.
fn of_card(result: &PlanResult) -> Markup {
    let report = text::plan::render(result, text::Colour::Off);
    let (title, rest) = parted(&report);
    html! { details.card { summary { (title) } pre.mono { (rest) } } }
}

/// The first line of a report, and the others.
fn parted(report: &str) -> (&str, &str) {
    report.split_once('\n').unwrap_or((report, ""))
}

/// Areas on top of each other, one for each class, phases below them, and what PyTorch may hold as a line.
fn chart(result: &PlanResult, curves: &ClassCurves) -> Markup {
    let total = |held: &[Bytes]| held.iter().copied().sum::<Bytes>();
    let peak = curves.points.iter().map(|(event, held)| (total(held), *event)).max_by_key(|(held, _)| *held);
    let (highest, at) = peak.unwrap_or_default();
    let room = result.card.total.saturating_sub(result.beside());
    let (bytes, name) = match result.limit.filter(|limit| *limit < room) {
        Some(limit) => (limit, format!("limit {}", whole(limit))),
        None => (room, format!("limit {}: what the {} has for PyTorch", whole(room), result.card.short)),
    };
    // At the end of a step little is in use, so there the name stands on clear ground.
    let limit = Limit { bytes, name, at_end: true };
    let is_near = limit.bytes.0 < highest.0.saturating_mul(FAR);
    let scale = Scale::new(&curves.range, if is_near { highest.max(limit.bytes) } else { highest });
    let names: Vec<String> = curves.classes.iter().map(|class| class.words()).collect();
    let named = || names.iter().enumerate().map(|(rank, name)| (style_of(rank), name.as_str()));
    let most = |rank: usize| curves.points.iter().map(|(_, held)| held[rank]).max().unwrap_or_default();
    let areas = html! {
        @for (rank, (style, name)) in named().enumerate() {
            path class=(style) d=(area(curves, rank, &scale)) data-tip={ (name) ": up to " (whole(most(rank))) } {}
        }
    };
    let marks = html! {
        (phases(curves, &scale))
        (axes::moment(&scale, at, &format!("peak in use, {}", whole(highest))))
        @if !is_near { text.strong x="100%" dx="-2" y=(BOTTOM + 32.0) text-anchor="end" { "above this chart: " (limit.name) } }
    };
    let step = result.at.step.map(|step| format!(", step {step}")).unwrap_or_default();
    html! {
        section.card {
            h2 { "Over one step, by class" }
            p.note {
                "In use during the step with the peak" (step) ": up to " (whole(highest))
                ". From left to right one allocation or free after another. Without what rounding adds and what is cached."
            }
            (axes::plot(&scale, Some(&limit).filter(|_| is_near), "Memory in use by class", &areas, &marks))
            (keys(named()))
        }
    }
}

/// Where each phase begins, and its name where there is room.
fn phases(curves: &ClassCurves, scale: &Scale) -> Markup {
    let begins: Vec<f64> = curves.phases.iter().map(|phase| scale.x(phase.from) / UNITS).collect();
    let ends = begins.iter().skip(1).copied().chain([1.0]);
    let per_cent = |share: f64| format!("{:.2}%", share * 100.0);
    html! {
        @for ((begin, end), stretch) in begins.iter().copied().zip(ends).zip(&curves.phases) {
            @if begin > 0.0 { line.step x1=(per_cent(begin)) x2=(per_cent(begin)) y1=(BOTTOM) y2=(BOTTOM + 16.0) {} }
            @if end - begin >= NAMED {
                text x=(per_cent(f64::midpoint(begin, end))) y=(BOTTOM + 13.0) text-anchor="middle" {
                    (stretch.phase.name())
                }
            }
        }
        @if curves.phases.is_empty() { text x="2" y=(BOTTOM + 13.0) { "the whole run" } }
    }
}

/// The outline of a class: along its upper edge, and back along that of the classes below it. What is held stays so until
/// the next point.
fn area(curves: &ClassCurves, rank: usize, scale: &Scale) -> String {
    let edge = |classes: usize| {
        let held = move |held: &[Bytes]| scale.y(held[..classes].iter().copied().sum::<Bytes>());
        curves.points.iter().map(move |(event, bytes)| (scale.x(*event), held(bytes)))
    };
    let (upper, lower): (Vec<_>, Vec<_>) = (edge(rank + 1).collect(), edge(rank).collect());
    let mut path = String::from("M0");
    for (index, (x, y)) in upper.iter().enumerate() {
        let _ = if index == 0 { write!(path, " {y}") } else { write!(path, "H{x}V{y}") };
    }
    let _ = write!(path, "H{UNITS}");
    for (index, (x, y)) in lower.iter().enumerate().rev() {
        let _ = write!(path, "V{y}H{}", if index == 0 { &0.0 } else { x });
    }
    path + "Z"
}

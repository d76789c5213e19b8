//! `oomph plan --html`: memory over one step by class, as one page that needs nothing but itself.

use std::fmt::Write as _;

use oomph_diagnose::class_curves::ClassCurves;
use oomph_trace::Bytes;

use super::escape::Escaped;
use super::{POLICY, SCRIPT, holder_class, style, whole};
use crate::text;
use oomph_diagnose::results::plan::PlanResult;

/// The drawing, in its own units.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 320.0;

/// The page: what the plan says, and the step with the peak.
pub fn plan(result: &PlanResult, curves: Option<&ClassCurves>) -> String {
    let report = text::plan::render(result, text::Colour::Off);
    let (title, rest) = report.split_once('\n').unwrap_or((&report, ""));
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{0} · oomph</title>\n<style>\n{1}</style>\n</head>\n\
         <body>\n<main>\n<p class=\"brand\">oomph plan</p>\n<h1>{0}</h1>\n",
        Escaped(title.to_owned()),
        style::page()
    );
    if let Some(curves) = curves.filter(|curves| !curves.points.is_empty()) {
        chart(&mut out, result, curves);
    }
    let _ = write!(
        out,
        "<section class=\"card\"><h2>The plan</h2>\n<pre class=\"mono\">{}</pre></section>\n</main>\n\
         <div id=\"tip\" role=\"status\" hidden></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        Escaped(rest.to_owned())
    );
    out
}

/// Areas on top of each other, one for each class, and the card's memory as a line where it is near.
fn chart(out: &mut String, result: &PlanResult, curves: &ClassCurves) {
    let total = |held: &[Bytes]| held.iter().copied().sum::<Bytes>();
    let highest = curves.points.iter().map(|(_, held)| total(held)).max().unwrap_or_default();
    let room = result.card.total.saturating_sub(result.card.context);
    let shows_room = room.0 < highest.0.saturating_mul(2);
    let top = if shows_room { highest.max(room) } else { highest };
    let top = Bytes(top.0 / 16 * 17).max(Bytes(1));
    let y = |bytes: Bytes| (1.0 - bytes.share_of(top)) * HEIGHT;
    let last = (curves.points.len().max(2) - 1) as f64;
    let x = |index: usize| index as f64 / last * WIDTH;
    let step = result.at.step.map_or_else(String::new, |step| format!(", step {step}"));
    let _ = writeln!(
        out,
        "<section class=\"card\"><h2>Over one step, by class</h2>\n<p class=\"note\">In use during the step with the \
         peak{step}: up to {}. Without what rounding adds and what is cached.</p>\n\
         <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" style=\"height:{HEIGHT}px\" role=\"img\" \
         aria-label=\"Memory in use by class\">",
        whole(highest)
    );
    let mut below = vec![Bytes::ZERO; curves.points.len()];
    for (rank, class) in curves.classes.iter().enumerate() {
        let lower: Vec<(f64, f64)> =
            below.iter().enumerate().map(|(index, had)| (x(index), y(*had))).collect();
        for (had, (_, held)) in below.iter_mut().zip(&curves.points) {
            *had += held[rank];
        }
        let mut path = String::new();
        for (index, had) in below.iter().enumerate() {
            let _ = write!(path, "{}{:.1} {:.1}", if index == 0 { "M" } else { "L" }, x(index), y(*had));
        }
        for (x, y) in lower.iter().rev() {
            let _ = write!(path, "L{x:.1} {y:.1}");
        }
        let most = curves.points.iter().map(|(_, held)| held[rank]).max().unwrap_or_default();
        let _ = writeln!(
            out,
            "<path class=\"{}\" d=\"{path}Z\" data-tip=\"{}: up to {}\"/>",
            holder_class(rank),
            class.name(),
            whole(most)
        );
    }
    if shows_room {
        let at = y(room);
        let _ = writeln!(
            out,
            "<line class=\"limit\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{at:.1}\" y2=\"{at:.1}\" vector-effect=\"non-scaling-stroke\"/>"
        );
    }
    out.push_str("</svg>\n<ul class=\"keys\">");
    for (rank, class) in curves.classes.iter().enumerate() {
        let _ = write!(out, "<li><span class=\"key {}\"></span>{}</li>", holder_class(rank), class.name());
    }
    if shows_room {
        let _ = write!(out, "<li>line: {}, what the {} has for PyTorch</li>", whole(room), result.card.short);
    }
    out.push_str("</ul></section>\n");
}

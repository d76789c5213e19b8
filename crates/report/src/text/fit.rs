//! `oomph fit` as text: what it takes to fit, how exactly that keeps the result, and what else was tried.

use oomph_diagnose::results::fit::{Combination, FitResult};
use oomph_trace::Bytes;

use super::report::Align::{Left, Right};
use super::report::{Colour, Report, row};
use crate::numbers::known;

/// The report.
pub fn render(result: &FitResult, colour: Colour) -> String {
    let mut report = Report::new(&headline(result, colour), colour);
    report.say_all(result.why_not.as_ref().map(|why| ("Why", why)));
    if let Some(chosen) = result.choice() {
        for measure in &chosen.measures {
            let text = format!(
                "{} ({}; about {} of a step)",
                measure.what,
                measure.exact.name(),
                time(measure.costs)
            );
            report.say("With", text);
        }
        report.say_all(chosen.measures.iter().map(|measure| ("By hand", &measure.instruction)));
    }
    tried(&mut report, result);
    report.say_all(result.offered.iter().map(|offered| ("Not done", offered)));
    report.say_all(result.caveats.iter().map(|caveat| ("Note", caveat)));
    report.finish()
}

fn headline(result: &FitResult, colour: Colour) -> String {
    let room = match result.limit {
        Some(limit) => format!("under a limit of {limit}"),
        None => format!("on the {} ({})", result.card.short, result.card.total),
    };
    let process = |tried: &Combination| known(needs(result, tried), "?");
    match (result.choice(), result.floor()) {
        (Some(chosen), _) if chosen.measures.is_empty() => {
            colour.good(&format!("fits {room} as it is: {} at its peak", process(chosen)))
        }
        (Some(chosen), _) => {
            let measures = match chosen.measures.len() {
                1 => "one measure".to_owned(),
                n => format!("{n} measures"),
            };
            colour.good(&format!("fits {room} with {measures}: {} at its peak", process(chosen)))
        }
        (None, Some(floor)) => colour
            .bad(&format!("does not fit {room}, whatever was tried: it needs at least {}", process(floor))),
        (None, None) => colour.bad(&format!("cannot tell what would make it fit {room}")),
    }
}

/// Everything that was tried, the cheapest first.
fn tried(report: &mut Report, result: &FitResult) {
    if result.tried.len() < 2 {
        return;
    }
    report.gap();
    report.heading("What was tried on the phantom GPU, the cheapest first");
    let is_timed = result.tried.iter().any(|tried| tried.step_us.is_some());
    let mut rows = vec![row!["", "needs", "fits", "time", if is_timed { "a step" } else { "" }, "measures"]];
    for (index, tried) in result.tried.iter().enumerate() {
        let mark = if result.chosen == Some(index) { "*" } else { "" };
        let needs = known(needs(result, tried), "fails");
        let names: Vec<&str> = tried.measures.iter().map(|measure| measure.what.as_str()).collect();
        let names = if names.is_empty() { "as it is".to_owned() } else { names.join(" + ") };
        let fits = if tried.fits { "yes" } else { "no" };
        let step =
            tried.step_us.map(|step| format!("{}.{} ms", step / 1000, step / 100 % 10)).unwrap_or_default();
        rows.push(row![mark, needs, fits, time(tried.costs()), step, names]);
    }
    report.table(2, &[Left, Right, Left, Right, Right, Left], &rows);
}

/// What is compared with the room: of a limit, what PyTorch holds; of a card, that and the context.
fn needs(result: &FitResult, tried: &Combination) -> Option<Bytes> {
    let context = if result.limit.is_some() { Bytes::ZERO } else { result.card.context.most };
    tried.peak_reserved.map(|peak| peak + context)
}

/// Thousandths of a step, as a share that is added.
fn time(costs: u32) -> String {
    format!("+{}.{}%", costs / 10, costs % 10)
}

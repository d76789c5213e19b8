//! `oomph replay` as text.

use std::fmt::Write as _;

use oomph_trace::Bytes;

use super::heading;
use super::style::{Align, Colour, paragraph, table};
use crate::words::{self, count};
use oomph_diagnose::results::replay::ReplayResult;

/// The whole report.
pub fn render(result: &ReplayResult, colour: Colour) -> String {
    let mut out = String::new();
    let recording = &result.recording;
    let verdict = match (result.as_recorded, recording.is_exact(), result.replayed.completes()) {
        _ if !words::has_history(recording) => "nothing to replay: the snapshot has no history".to_owned(),
        (true, true, _) => colour.good("the replay reproduces the recording exactly"),
        (true, false, _) => colour.bad("the replay departs from the recording"),
        (false, _, true) => colour.good("every request is served under these settings"),
        (false, _, false) if result.replayed.died.is_some() => {
            colour.bad("out of memory under these settings")
        }
        (false, _, false) => colour.bad("out of memory under these settings too"),
    };
    let _ = writeln!(out, "{}", colour.strong(&verdict));
    heading::recording(&mut out, recording);
    if !result.as_recorded {
        let settings = result.setup.options.to_string();
        let settings = if settings.is_empty() { "default settings".to_owned() } else { settings };
        let limit = result.setup.limit.or(result.setup.capacity);
        let limit = limit.map_or_else(|| "memory to spare".to_owned(), |limit| format!("limit {limit}"));
        paragraph(&mut out, "Replayed", &format!("{settings}, {limit}"));
        if result.setup.options.garbage_collection_threshold > 0.0 && result.setup.limit.is_none() {
            let text =
                "garbage_collection_threshold does nothing without a memory limit: give one with --limit";
            paragraph(&mut out, "Mind", text);
        }
    } else if let Some((limit, source)) = words::limit(recording) {
        paragraph(&mut out, "Limit", &format!("{limit} ({source})"));
    }
    out.push('\n');
    let (a, b) = (&recording.peaks, &result.replayed.peaks);
    let mut rows = vec![["", "recorded", "replayed", ""].map(str::to_owned).to_vec()];
    for (name, recorded, replayed) in [
        ("peak requested", a.requested, b.requested),
        ("peak allocated", a.allocated, b.allocated),
        ("peak active", a.active, b.active),
        ("peak reserved", a.reserved, b.reserved),
    ] {
        rows.push(vec![
            name.to_owned(),
            recorded.bytes.to_string(),
            replayed.bytes.to_string(),
            change(recorded.bytes, replayed.bytes),
        ]);
    }
    let (x, y) = (&recording.fidelity.replayed.tally, &result.replayed.tally);
    let known = recording.is_exact();
    let shown = |n: u64| if known { count(n) } else { "?".to_owned() };
    for (name, recorded, replayed) in [
        ("retries", x.retries, y.retries),
        ("failed requests", x.ooms, y.ooms),
        ("driver calls", x.driver_grows + x.driver_shrinks, y.driver_grows + y.driver_shrinks),
    ] {
        rows.push(vec![name.to_owned(), shown(recorded), count(replayed), String::new()]);
    }
    table(&mut out, 2, &[Align::Left, Align::Right, Align::Right, Align::Right], &rows);
    out.push('\n');
    if let Some(event) = result.replayed.died.filter(|_| !result.as_recorded) {
        let text = format!(
            "at event {}, which the recording survived; the replayed figures end there",
            count(u64::from(event.0))
        );
        paragraph(&mut out, "Dies", &text);
    }
    paragraph(&mut out, "Check", &words::fidelity(recording));
    if !result.as_recorded && !recording.is_exact() {
        paragraph(&mut out, "", "So the replayed figures are estimates.");
    }
    out
}

/// The change in percent, where there is one.
fn change(from: Bytes, to: Bytes) -> String {
    if from == to || from == Bytes::ZERO {
        return String::new();
    }
    format!("{:+.1}%", 100.0 * (to.0 as f64 / from.0 as f64 - 1.0))
}

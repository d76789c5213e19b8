//! `oomph replay` as text.

use oomph_diagnose::results::replay::ReplayResult;
use oomph_trace::Bytes;

use super::report::{Align, Colour, Report, row};
use crate::numbers::count;
use crate::{recording, settings};

/// The whole report.
pub fn render(result: &ReplayResult, colour: Colour) -> String {
    let recording = &result.recording;
    let title = match (result.as_recorded, recording.is_exact(), result.replayed.completes()) {
        _ if !recording::has_history(recording) => {
            "nothing to replay: the snapshot has no history".to_owned()
        }
        (true, true, _) => colour.good("the replay reproduces the recording exactly"),
        (true, false, _) => colour.bad("the replay departs from the recording"),
        (false, _, true) => colour.good("every request is served under these settings"),
        (false, _, false) if result.replayed.died.is_some() => {
            colour.bad("out of memory under these settings")
        }
        (false, _, false) => colour.bad("out of memory under these settings too"),
    };
    let mut report = Report::new(&title, colour);
    report.say_all(recording::facts(recording));
    if !result.as_recorded {
        let settings = settings::named(&result.setup.options, "default settings");
        let limit = result.setup.limit.or(result.setup.capacity);
        let limit = limit.map_or_else(|| "memory to spare".to_owned(), |limit| format!("limit {limit}"));
        report.say("Replayed", format!("{settings}, {limit}"));
        if result.setup.options.garbage_collection_threshold > 0.0 && result.setup.limit.is_none() {
            let text =
                "garbage_collection_threshold does nothing without a memory limit: give one with --limit";
            report.say("Mind", text);
        }
    } else if let Some((limit, source)) = recording::limit(recording) {
        report.say("Limit", format!("{limit} ({source})"));
    }
    report.gap();
    figures(&mut report, result);
    report.gap();
    if let Some(event) = result.replayed.died.filter(|_| !result.as_recorded) {
        let event = count(event.0);
        let text = format!("at event {event}, which the recording survived; the replayed figures end there");
        report.say("Dies", text);
    }
    report.say("Check", recording::fidelity(recording));
    if !result.as_recorded && !recording.is_exact() {
        report.say("", "So the replayed figures are estimates.");
    }
    report.finish()
}

/// Peaks and counts, as recorded and as replayed.
fn figures(report: &mut Report, result: &ReplayResult) {
    let recording = &result.recording;
    let (a, b) = (&recording.peaks, &result.replayed.peaks);
    let peaks = [
        ("peak requested", a.requested, b.requested),
        ("peak allocated", a.allocated, b.allocated),
        ("peak active", a.active, b.active),
        ("peak reserved", a.reserved, b.reserved),
    ];
    let (x, y) = (&recording.fidelity.replayed.tally, &result.replayed.tally);
    let counts = [
        ("retries", x.retries, y.retries),
        ("failed requests", x.ooms, y.ooms),
        ("driver calls", x.driver_grows + x.driver_shrinks, y.driver_grows + y.driver_shrinks),
    ];
    let counted = |n: u64| if recording.is_exact() { count(n) } else { "?".to_owned() };
    let mut rows = vec![row!["", "recorded", "replayed", ""]];
    rows.extend(peaks.map(|(name, a, b)| row![name, a.bytes, b.bytes, change(a.bytes, b.bytes)]));
    rows.extend(counts.map(|(name, a, b)| row![name, counted(a), count(b), ""]));
    report.table(2, &[Align::Left, Align::Right, Align::Right, Align::Right], &rows);
}

/// The change in percent, where there is one.
fn change(from: Bytes, to: Bytes) -> String {
    if from == to || from == Bytes::ZERO {
        return String::new();
    }
    format!("{:+.1}%", 100.0 * (to.0 as f64 / from.0 as f64 - 1.0))
}

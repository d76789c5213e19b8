//! `oomph inspect` as text: what a file holds, before anything is concluded from it.

use oomph_engine::torch::profile::Version;
use oomph_trace::Snapshot;

use super::report::{Align, Colour, Report, row};
use crate::json;
use crate::numbers::{count, counted};

/// The whole report.
pub fn render(snapshot: &Snapshot, colour: Colour) -> String {
    let title = format!("a memory snapshot of {}", counted(snapshot.traces.len(), "device"));
    let mut report = Report::new(&title, colour);
    report.say("Version", format!("PyTorch {} by its fields", Version::inferred_from(&snapshot.fields)));
    let settings =
        match snapshot.settings.as_ref().map(|settings| settings.conf.as_deref().unwrap_or_default()) {
            None => "not recorded",
            Some("") => "default",
            Some(conf) => conf,
        };
    report.say("Settings", settings);
    let stacks = counted(snapshot.stacks.len(), "distinct stack");
    report.say("Stacks", format!("{stacks} of {}", counted(snapshot.stacks.frame_count(), "frame")));
    report.gap();
    let mut rows = vec![row!["device", "events", "segments", "held", "in use"]];
    for trace in &snapshot.traces {
        let device = if trace.device < 0 { "host".to_owned() } else { format!("GPU {}", trace.device) };
        let (events, segments) = (count(trace.events.len()), count(trace.segments.len()));
        rows.push(row![device, events, segments, json::held(trace), json::in_use(trace)]);
    }
    report.table(2, &[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right], &rows);
    report.finish()
}

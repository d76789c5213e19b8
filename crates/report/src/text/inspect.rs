//! `oomph inspect` as text: what a file holds, before anything is concluded from it.

use std::fmt::Write as _;

use oomph_engine::torch::profile::Version;
use oomph_trace::{Bytes, Snapshot};

use crate::json::in_use;

use super::style::{Align, Colour, paragraph, table};
use crate::words::{count, counted};

/// The whole report.
pub fn render(snapshot: &Snapshot, colour: Colour) -> String {
    let mut out = String::new();
    let title = format!("a memory snapshot of {}", counted(snapshot.traces.len() as u64, "device"));
    let _ = writeln!(out, "{}", colour.strong(&title));
    paragraph(
        &mut out,
        "Version",
        &format!("PyTorch {} by its fields", Version::inferred_from(&snapshot.fields)),
    );
    let settings =
        match snapshot.settings.as_ref().map(|settings| settings.conf.as_deref().unwrap_or_default()) {
            None => "not recorded",
            Some("") => "default",
            Some(conf) => conf,
        };
    paragraph(&mut out, "Settings", settings);
    let stacks = format!(
        "{} of {}",
        counted(snapshot.stacks.len() as u64, "distinct stack"),
        counted(snapshot.stacks.frame_count() as u64, "frame")
    );
    paragraph(&mut out, "Stacks", &stacks);
    out.push('\n');
    let mut rows = vec![["device", "events", "segments", "held", "in use"].map(str::to_owned).to_vec()];
    for trace in &snapshot.traces {
        let held: Bytes = trace.segments.iter().map(|segment| segment.size).sum();
        rows.push(vec![
            if trace.device < 0 { "host".to_owned() } else { format!("GPU {}", trace.device) },
            count(trace.events.len() as u64),
            count(trace.segments.len() as u64),
            held.to_string(),
            in_use(trace).to_string(),
        ]);
    }
    table(&mut out, 2, &[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right], &rows);
    out
}

//! `oomph explain` of a recording without memory of a card, as text: how the process ended, and the host's memory.

use std::fmt::Write as _;

use oomph_trace::Sidecar;
use oomph_trace::sidecar::{Framework, Host, Why};

use super::message;
use super::style::{Align, Colour, paragraph, table};
use crate::results::ProcessResult;
use crate::words::{count, rank};

/// The longest exception that is shown, in characters.
const LONGEST: usize = 400;

/// The whole report.
pub fn render(result: &ProcessResult<'_>, colour: Colour) -> String {
    let sidecar = result.sidecar;
    let mut out = String::new();
    match result.log.as_ref().filter(|log| !log.reports.is_empty()) {
        Some(log) => {
            out.push_str(&message::render(log, colour));
            out.push('\n');
        }
        None => {
            let uncaught = sidecar.exception.as_ref().is_some_and(|exception| exception.uncaught);
            let kills = sidecar.host.as_ref().and_then(|host| host.cgroup_oom_kills).unwrap_or(0);
            let title = match (uncaught, kills) {
                (true, _) => "the process died of an exception that is no lack of memory",
                (false, 0) => "no failure was recorded",
                (false, _) => "out of host memory: the kernel killed a process of its control group",
            };
            let _ = writeln!(out, "{}", colour.strong(title));
            exception(&mut out, sidecar);
        }
    }
    paragraph(&mut out, "Run", &run(sidecar));
    paragraph(&mut out, "GPU", "no memory of a GPU was recorded: nothing to replay or to tune");
    if let Some(host) = &sidecar.host {
        memory(&mut out, host);
    }
    out
}

fn exception(out: &mut String, sidecar: &Sidecar) {
    let Some(exception) = &sidecar.exception else { return };
    let class = exception.class.as_deref().unwrap_or("an exception");
    let text = exception.text.as_deref().unwrap_or_default();
    let text: String = format!("{class}: {text}").chars().take(LONGEST).collect();
    paragraph(out, "Said", text.trim_end_matches(": "));
}

fn run(sidecar: &Sidecar) -> String {
    let identity = &sidecar.identity;
    let mut parts = Vec::new();
    let rank = rank(sidecar);
    parts.extend((!rank.is_empty()).then(|| rank.trim_end_matches(", ").to_owned()));
    parts.extend(identity.pid.map(|pid| format!("process {pid}")));
    parts.extend((!identity.argv.is_empty()).then(|| identity.argv.join(" ")));
    parts.extend(sidecar.framework.map(|framework| {
        match framework {
            Framework::Torch => "PyTorch",
            Framework::Jax => "JAX",
            Framework::TensorFlow => "TensorFlow",
        }
        .to_owned()
    }));
    parts.extend(sidecar.why.map(|why| {
        match why {
            Why::Start => "last written when it began",
            Why::Beat => "last written while it ran",
            Why::Oom => "written when memory ran out",
            Why::Exit => "written when it ended",
            Why::Signal => "written on a signal",
            Why::Dump => "written on demand",
        }
        .to_owned()
    }));
    if parts.is_empty() { "nothing is known of it".to_owned() } else { parts.join(", ") }
}

/// The host's memory, as far as it is known.
fn memory(out: &mut String, host: &Host) {
    let rows = [
        (host.rss, "held by the process"),
        (host.peak_rss, "held by it at its peak"),
        (host.available, "available on the machine"),
        (host.total, "on the machine in all"),
        (host.cgroup_current, "held by its control group"),
        (host.cgroup_limit, "allowed to its control group"),
        (host.shm_free, "free in /dev/shm"),
        (host.shm_total, "in /dev/shm in all"),
    ];
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .filter_map(|(bytes, what)| Some(vec![bytes?.to_string(), what.to_owned()]))
        .collect();
    out.push_str("\n  Host memory when it was written\n");
    table(out, 4, &[Align::Right, Align::Left], &rows);
    if let Some(kills) = host.cgroup_oom_kills.filter(|kills| *kills > 0) {
        let text = format!("the kernel killed processes of its control group for memory: {}", count(kills));
        paragraph(out, "Killed", &text);
    }
}

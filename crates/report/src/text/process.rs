//! `oomph explain` of a recording without memory of a card, as text: how the process ended, and the host's memory.

use oomph_diagnose::results::explain::ProcessResult;
use oomph_trace::Sidecar;
use oomph_trace::sidecar::{Framework, Host, Why};

use super::message;
use super::report::{Colour, Report};
use crate::numbers::count;
use crate::recording::rank;

/// The longest exception that is shown, in characters.
const LONGEST: usize = 400;

/// The whole report.
pub fn render(result: &ProcessResult, colour: Colour) -> String {
    let sidecar = &result.sidecar;
    let mut report = match result.log.as_ref().filter(|log| !log.reports.is_empty()) {
        Some(log) => {
            let mut report = message::report(log, colour);
            report.gap();
            report
        }
        None => {
            let uncaught = sidecar.exception.as_ref().is_some_and(|exception| exception.uncaught);
            let kills = sidecar.host.as_ref().and_then(|host| host.cgroup_oom_kills).unwrap_or(0);
            let title = match (uncaught, kills) {
                (true, _) => "the process died of an exception that is not about memory",
                (false, 0) => "no failure was recorded",
                (false, _) => "out of host memory: the kernel killed a process of its control group",
            };
            let mut report = Report::new(title, colour);
            report.say_all(exception(sidecar).map(|text| ("Said", text)));
            report
        }
    };
    report.say("Run", run(sidecar));
    report.say("GPU", "no memory of a GPU was recorded: nothing to replay or to tune");
    if let Some(host) = &sidecar.host {
        memory(&mut report, host);
    }
    report.finish()
}

fn exception(sidecar: &Sidecar) -> Option<String> {
    let exception = sidecar.exception.as_ref()?;
    let class = exception.class.as_deref().unwrap_or("an exception");
    let text = exception.text.as_deref().unwrap_or_default();
    let text: String = format!("{class}: {text}").chars().take(LONGEST).collect();
    Some(text.trim_end_matches(": ").to_owned())
}

fn run(sidecar: &Sidecar) -> String {
    let identity = &sidecar.identity;
    let framework = sidecar.framework.map(|framework| match framework {
        Framework::Torch => "PyTorch",
        Framework::Jax => "JAX",
        Framework::TensorFlow => "TensorFlow",
    });
    let why = sidecar.why.map(|why| match why {
        Why::Start => "last written when it began",
        Why::Beat => "last written while it ran",
        Why::Oom => "written when memory ran out",
        Why::Exit => "written when it ended",
        Why::Signal => "written on a signal",
        Why::Dump => "written on demand",
    });
    let parts = [
        rank(sidecar),
        identity.pid.map(|pid| format!("process {pid}")),
        (!identity.argv.is_empty()).then(|| identity.argv.join(" ")),
        framework.map(str::to_owned),
        why.map(str::to_owned),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "nothing is known of it".to_owned() } else { parts.join(", ") }
}

/// The host's memory, as far as it is known.
fn memory(report: &mut Report, host: &Host) {
    let figures = [
        (host.rss, "held by the process"),
        (host.peak_rss, "held by it at its peak"),
        (host.available, "available on the machine"),
        (host.total, "on the machine in all"),
        (host.cgroup_current, "held by its control group"),
        (host.cgroup_limit, "allowed to its control group"),
        (host.shm_free, "free in /dev/shm"),
        (host.shm_total, "in /dev/shm in all"),
    ];
    report.figures("Host memory when it was written", &figures);
    if let Some(kills) = host.cgroup_oom_kills.filter(|kills| *kills > 0) {
        let text = format!("the kernel killed processes of its control group for memory: {}", count(kills));
        report.say("Killed", text);
    }
}

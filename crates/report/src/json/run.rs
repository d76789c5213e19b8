//! `oomph run --json`.

use oomph_diagnose::results::run::{HostDeath, LaterFailure, Peak, RunEnd, RunResult};
use serde_json::{Value, json};

use super::{SCHEMA, bytes, explained};

/// The result of one run.
pub fn run(result: &RunResult) -> Value {
    let (gpu_death, host_death) = match &result.end {
        RunEnd::GpuDeath(death) => (Some(death), None),
        RunEnd::HostDeath(death) => (None, Some(death)),
        RunEnd::Other => (None, None),
    };
    json!({
        "schema": SCHEMA,
        "exit_code": result.exit_code,
        "folder": result.folder.display().to_string(),
        "out_of_memory": gpu_death.map(|death| json!({
            "process": death.process,
            "explained": death.results.iter().map(explained).collect::<Vec<_>>(),
            "later": death.later.iter().map(later).collect::<Vec<_>>(),
        })),
        "host_death": host_death.map(|death| killed(death)),
        "peaks": result.peaks.iter().map(peak).collect::<Vec<_>>(),
        "failures": result.failures,
    })
}

fn later(failure: &LaterFailure) -> Value {
    json!({ "process": failure.process, "seconds": failure.seconds, "recording": failure.recording })
}

fn killed(death: &HostDeath) -> Value {
    json!({
        "claim": death.title(),
        "certainty": death.sure().name(),
        "known_by": death.known_by(),
        "memory": death.figures(),
        "do": death.cure(),
        "signal": death.signal,
        "process": death.process,
        "rss_bytes": death.rss.map(bytes),
        "group_limit_bytes": death.group_limit.map(bytes),
        "group_kills": death.group_kills,
        "machine_kills": death.machine_kills,
    })
}

fn peak(peak: &Peak) -> Value {
    json!({
        "process": peak.process,
        "device": peak.device,
        "reserved_bytes": bytes(peak.held),
        "allowed_bytes": peak.whole.map(bytes),
        "is_limit": peak.is_limit,
        "retries": peak.retries,
    })
}

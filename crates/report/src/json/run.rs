//! `oomph run --json`.

use oomph_diagnose::results::run::{self as ended, LaterFailure, Peak, RunEnd, RunResult, Sure};
use oomph_trace::Bytes;

use super::{Explained, SCHEMA, explained};

document! {
    /// A run that has ended.
    pub fn run(result: &RunResult) -> Run {
        /// The schema's number: 1.
        schema: u32 = SCHEMA,
        /// The exit code, as a shell reports it.
        exit_code: u8 = result.exit_code,
        /// The folder of the run, from the directory it was started in.
        folder: String = result.folder.display().to_string(),
        /// What is known where GPU memory ran out and that ended the run.
        out_of_memory: Option<GpuDeath> = match &result.end {
            RunEnd::GpuDeath(death) => Some(gpu_death(death)),
            RunEnd::HostDeath(_) | RunEnd::Other => None,
        },
        /// What is known where a process was killed and the host's memory may have run out.
        host_death: Option<HostDeath> = match &result.end {
            RunEnd::HostDeath(death) => Some(host_death(death)),
            RunEnd::GpuDeath(_) | RunEnd::Other => None,
        },
        /// Peaks of the processes that did not run out of memory.
        peaks: Vec<Peak> = result.peaks.clone(),
        /// How often a request for GPU memory failed, in all processes.
        failures: u64 = result.failures,
    }

    /// What is known of a run that GPU memory ended.
    fn gpu_death(death: &ended::GpuDeath) -> GpuDeath {
        /// The first process that failed; null where there was but one.
        process: Option<String> = death.process.clone(),
        /// What `oomph explain` says of it, in the order of the devices.
        explained: Vec<Explained> = death.results.iter().map(explained).collect(),
        /// Those that failed after it.
        later: Vec<LaterFailure> = death.later.clone(),
    }

    /// A process that was killed, most often because the host's memory ran out.
    fn host_death(death: &ended::HostDeath) -> HostDeath {
        /// What happened, in a line.
        claim: String = death.title(),
        /// How sure it is that memory was the reason.
        certainty: Sure = death.sure(),
        /// What that is known by, in words.
        known_by: String = death.known_by(),
        /// The memory of the process, its control group and the machine, as last noted, in words.
        memory: String = death.figures(),
        /// What to do.
        r#do: &'static str = death.cure(),
        /// The signal, where the script itself died of it.
        signal: Option<u8> = death.signal,
        /// Whose figures these are: the process that vanished, or the largest.
        process: Option<String> = death.process.clone(),
        /// Its memory when it last noted it.
        rss_bytes: Option<Bytes> = death.rss,
        /// What its control group may use.
        group_limit_bytes: Option<Bytes> = death.group_limit,
        /// Processes that the kernel killed in that group during the run.
        group_kills: u64 = death.group_kills,
        /// Processes that the kernel killed on the whole machine during the run.
        machine_kills: u64 = death.machine_kills,
    }
}

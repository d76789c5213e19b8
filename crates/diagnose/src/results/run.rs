//! What `oomph run` finds when a script has ended: why memory ran out, a death for want of the host's memory, or peaks.

use std::path::PathBuf;

use oomph_trace::{Bytes, named};
use schemars::JsonSchema;
use serde::Serialize;

use super::explain::Explained;
use crate::cause::Cause;

/// From this share of a limit on, memory was short.
const SHORT: f64 = 0.9;

/// The result of one run.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The exit code, as a shell reports it.
    pub exit_code: u8,
    /// The folder of the run, from the directory it was started in.
    pub folder: PathBuf,
    /// How it ended.
    pub end: RunEnd,
    /// Peaks of the processes that did not run out of memory.
    pub peaks: Vec<Peak>,
    /// How often a request for GPU memory failed, in all processes.
    pub failures: u64,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub enum RunEnd {
    /// GPU memory ran out, and that ended the run.
    GpuDeath(Box<GpuDeath>),
    /// A process was killed, for want of the host's memory or so that it looks like it.
    HostDeath(Box<HostDeath>),
    /// In some other way, mostly well.
    Other,
}

/// What is known of a run that GPU memory ended.
#[derive(Clone, Debug)]
pub struct GpuDeath {
    /// The first process that failed; `None` where there was but one process.
    pub process: Option<String>,
    /// What is explained of it.
    pub results: Vec<Explained>,
    /// Those that failed after it.
    pub later: Vec<LaterFailure>,
}

/// A process that ran out of memory after another had.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LaterFailure {
    /// Its name.
    pub process: String,
    /// How much later, in seconds.
    pub seconds: f64,
    /// The name of its recording's file.
    pub recording: String,
}

impl GpuDeath {
    /// The settings with which a replay served the request that failed, as PyTorch reads them. `None` where no setting
    /// does, or where it would only put the failure off.
    pub fn helping_settings(&self) -> Option<String> {
        let devices = self.results.iter().filter_map(Explained::device).map(|result| &result.explanation);
        // Where memory grows with every step, a setting only moves the failure.
        let fixes = devices
            .filter(|found| found.cause() == Some(Cause::Fragmentation))
            .flat_map(|found| &found.fixes);
        let helping = fixes.filter(|fix| fix.helps && fix.candidate.completes);
        let mut settings = helping.map(|fix| fix.candidate.options.to_string());
        settings.find(|settings| !settings.is_empty())
    }
}

/// The peak of one process on one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Peak {
    /// The process, where there are several.
    pub process: Option<String>,
    /// The GPU.
    pub device: u32,
    /// The most that was held.
    #[serde(rename = "reserved_bytes")]
    pub held: Bytes,
    /// What could be held.
    #[serde(rename = "allowed_bytes")]
    pub whole: Option<Bytes>,
    /// Whether that is a limit, not the card.
    pub is_limit: bool,
    /// How often the cache was dropped to serve a request.
    pub retries: u64,
}

/// What is known of a death by the host's memory, or by something that looks like it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostDeath {
    /// The signal, where the script itself died of it.
    pub signal: Option<u8>,
    /// Whose figures these are: the process that vanished, or the largest.
    pub process: Option<String>,
    /// Whether that process vanished: it noted no end.
    pub vanished: bool,
    /// Its memory when it last noted it.
    pub rss: Option<Bytes>,
    /// Processes that the kernel killed in this control group during the run.
    pub group_kills: u64,
    /// What the group may use.
    pub group_limit: Option<Bytes>,
    /// What it used when last noted.
    pub group_use: Option<Bytes>,
    /// Processes that the kernel killed on the whole machine during the run.
    pub machine_kills: u64,
    /// What the machine could still give when last noted.
    pub available: Option<Bytes>,
    /// What it has.
    pub total: Option<Bytes>,
    /// /dev/shm, free and in all, where shared memory failed.
    pub shm: Option<(Bytes, Bytes)>,
    /// Whether the words of the failure name a worker of a data loader.
    pub worker: bool,
}

named! {
    /// How sure it is that memory was the reason.
    Sure {
        /// The kernel counted it.
        Certain = "certain",
        /// Memory was short.
        Likely = "likely",
        /// Nothing speaks for it.
        No = "none",
    }
}

impl HostDeath {
    /// How sure it is that memory was the reason.
    pub fn sure(&self) -> Sure {
        let short_of = |used: Option<Bytes>, limit: Option<Bytes>| {
            used.zip(limit).is_some_and(|(used, limit)| used.share_of(limit) >= SHORT)
        };
        let machine_is_short =
            self.available.zip(self.total).is_some_and(|(left, total)| left.share_of(total) < 1.0 - SHORT);
        if self.group_kills > 0 {
            Sure::Certain
        } else if self.machine_kills > 0
            || self.shm.is_some()
            || machine_is_short
            || short_of(self.group_use, self.group_limit)
            || short_of(self.rss, self.group_limit)
        {
            Sure::Likely
        } else {
            Sure::No
        }
    }

    /// What happened, in a line.
    pub fn title(&self) -> String {
        let who = if self.worker {
            "a DataLoader worker was killed".to_owned()
        } else {
            match self.signal {
                Some(9) => "killed by signal 9 (SIGKILL)".to_owned(),
                Some(7) => "killed by signal 7 (SIGBUS)".to_owned(),
                Some(number) => format!("killed by signal {number}"),
                None if self.vanished => {
                    format!("{} vanished without a word", self.process.as_deref().unwrap_or("a process"))
                }
                None => "a process was killed".to_owned(),
            }
        };
        match self.sure() {
            Sure::Certain => format!("{who}: the host's memory ran out"),
            Sure::Likely if self.shm.is_some() => format!("{who}: shared memory ran out"),
            Sure::Likely => format!("{who}: most likely the host's memory ran out"),
            Sure::No => format!("{who}, with no sign that memory ran out"),
        }
    }

    /// What that is known by.
    pub fn known_by(&self) -> String {
        match self.sure() {
            Sure::Certain => format!(
                "the kernel counted {} for want of memory in this control group during the run (oom_kill)",
                kills(self.group_kills)
            ),
            Sure::Likely if self.shm.is_some() => {
                "a write to shared memory failed (bus error), which is what a full /dev/shm does".to_owned()
            }
            Sure::Likely if self.machine_kills > 0 => format!(
                "the kernel counted {} for want of memory on this machine during the run; whose is not told \
                 (dmesg names them)",
                kills(self.machine_kills)
            ),
            Sure::Likely => {
                "memory was short at the last look; the kernel's count of kills is not visible here or \
                             did not rise"
                    .to_owned()
            }
            Sure::No => {
                let look = if self.rss.is_some() {
                    "memory was not short at the last look"
                } else {
                    "no process of it noted how much memory it held"
                };
                format!("no count of out-of-memory kills rose during the run, and {look}")
            }
        }
    }

    /// The memory of the process, its control group and the machine, as last noted; empty where nothing was.
    pub fn figures(&self) -> String {
        let mut parts = Vec::new();
        if let Some(rss) = self.rss {
            let process = self.process.as_deref().unwrap_or("the script");
            parts.push(format!("{process} held {rss} of RAM when it last noted it"));
        }
        if let Some(limit) = self.group_limit {
            let used = self.group_use.map_or_else(String::new, |used| format!(", {used} in use"));
            parts.push(format!("the control group may use {limit}{used}"));
        }
        if let Some((left, total)) = self.available.zip(self.total) {
            parts.push(format!("{left} of the machine's {total} was available"));
        }
        if let Some((free, total)) = self.shm {
            parts.push(format!("/dev/shm had {free} free of {total}"));
        }
        parts.join("; ")
    }

    /// What to do.
    pub fn cure(&self) -> &'static str {
        match self.sure() {
            Sure::No => {
                "find out who sent it: a scheduler's time limit, an operator, `kill -9`; `dmesg | grep -i oom` tells \
                 for sure whether it was memory"
            }
            Sure::Likely if self.shm.is_some() => {
                "give the container more shared memory (docker run --shm-size=8g, or --ipc=host), or use fewer \
                 DataLoader workers or smaller batches"
            }
            Sure::Certain | Sure::Likely if self.worker => {
                "use fewer DataLoader workers, a smaller prefetch_factor, and keep data in arrays instead of lists of \
                 Python objects, which every worker comes to copy; or allow the job more memory"
            }
            Sure::Certain | Sure::Likely => {
                "allow the job more memory (docker --memory, sbatch --mem, resources.limits.memory), or hold less: \
                 fewer DataLoader workers, smaller prefetch_factor, load weights with mmap=True, stream the data set"
            }
        }
    }
}

fn kills(count: u64) -> String {
    if count == 1 { "1 kill".to_owned() } else { format!("{count} kills") }
}

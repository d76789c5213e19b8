//! What `oomph run` says when a script has ended, as text.

use std::fmt::Write as _;

use oomph_trace::Bytes;

use super::style::{Colour, WIDTH, paragraph};
use crate::words::{count, counted};

/// How many GPUs of processes have a line of their own.
const LINES: usize = 8;
/// From this share of a limit on, memory was short.
const SHORT: f64 = 0.9;

/// The peak of one process on one GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Peak {
    /// The process, where there are several.
    pub process: Option<String>,
    /// The GPU.
    pub device: u32,
    /// The most that was held.
    pub held: Bytes,
    /// What could be held.
    pub whole: Option<Bytes>,
    /// Whether that is a limit, not the card.
    pub is_limit: bool,
    /// How often the cache was dropped to serve a request.
    pub retries: u64,
}

/// A line for each peak, then where the recordings are: on the same line, where there is but one and it has room.
pub fn peaks(peaks: &[Peak], folder: &str) -> String {
    let mut out = String::new();
    for peak in peaks.iter().take(LINES) {
        let process = peak.process.as_ref().map_or_else(String::new, |name| format!("{name}, "));
        let of = peak.whole.map_or_else(String::new, |whole| {
            let allowed = if peak.is_limit { " allowed" } else { "" };
            format!(" of {whole}{allowed} ({:.0}%)", 100.0 * peak.held.share_of(whole))
        });
        let retries =
            if peak.retries == 1 { "1 retry".to_owned() } else { format!("{} retries", count(peak.retries)) };
        let _ = writeln!(out, "oomph: {process}GPU {} peak {} held{of}, {retries}", peak.device, peak.held);
    }
    if peaks.len() > LINES {
        let _ = writeln!(out, "oomph: and {} more", counted((peaks.len() - LINES) as u64, "GPU"));
    }
    let together = format!("{}; {folder}", out.trim_end());
    match peaks {
        [] => {}
        [_] if together.chars().count() <= WIDTH => out = format!("{together}\n"),
        [..] => out.push_str(&format!("oomph: recorded in {folder}\n")),
    }
    out
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

/// How sure it is that memory was the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sure {
    Certain,
    Likely,
    No,
}

impl HostDeath {
    fn sure(&self) -> Sure {
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

    fn title(&self) -> String {
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

    fn known_by(&self) -> String {
        match self.sure() {
            Sure::Certain => format!(
                "the kernel counted {} for want of memory in this control group during the run (oom_kill)",
                counted(self.group_kills, "kill")
            ),
            Sure::Likely if self.shm.is_some() => {
                "a write to shared memory failed (bus error), which is what a full /dev/shm does".to_owned()
            }
            Sure::Likely if self.machine_kills > 0 => format!(
                "the kernel counted {} for want of memory on this machine during the run; whose is not told \
                 (dmesg names them)",
                counted(self.machine_kills, "kill")
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

    fn figures(&self) -> String {
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

    fn cure(&self) -> &'static str {
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

/// The report on a death by the host's memory.
pub fn host_death(death: &HostDeath, colour: Colour) -> String {
    let mut out = String::new();
    let title = death.title();
    let title = if death.sure() == Sure::No { title } else { colour.bad(&title) };
    let _ = writeln!(out, "{}", colour.strong(&title));
    paragraph(&mut out, "Known by", &death.known_by());
    let figures = death.figures();
    if !figures.is_empty() {
        paragraph(&mut out, "Memory", &figures);
    }
    paragraph(&mut out, "Do", death.cure());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: &str, expected: &str) {
        assert_eq!(found, expected);
        let widest = found.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{found}");
    }

    fn peak(process: Option<&str>, device: u32, held: u64, retries: u64) -> Peak {
        let process = process.map(str::to_owned);
        Peak {
            process,
            device,
            held: Bytes::mib(held),
            whole: Some(Bytes::gib(16)),
            is_limit: false,
            retries,
        }
    }

    #[test]
    fn a_run_that_went_well_is_one_line_for_each_gpu() {
        check(
            &peaks(&[peak(None, 0, 7711, 0)], ".oomph/last"),
            "oomph: GPU 0 peak 7.53 GiB held of 16.00 GiB (47%), 0 retries; .oomph/last\n",
        );
        let limited = Peak { is_limit: true, ..peak(None, 0, 7711, 1) };
        check(
            &peaks(&[limited], ".oomph/last"),
            "oomph: GPU 0 peak 7.53 GiB held of 16.00 GiB allowed (47%), 1 retry; .oomph/last\n",
        );
        let retried = Peak { is_limit: true, ..peak(None, 0, 7711, 10) };
        check(
            &peaks(&[retried], ".oomph/last"),
            "oomph: GPU 0 peak 7.53 GiB held of 16.00 GiB allowed (47%), 10 retries\n\
             oomph: recorded in .oomph/last\n",
        );
        check(
            &peaks(&[peak(Some("rank0"), 0, 1024, 0), peak(Some("rank1"), 1, 2048, 2)], ".oomph/last"),
            "oomph: rank0, GPU 0 peak 1.00 GiB held of 16.00 GiB (6%), 0 retries\n\
             oomph: rank1, GPU 1 peak 2.00 GiB held of 16.00 GiB (12%), 2 retries\n\
             oomph: recorded in .oomph/last\n",
        );
        check(&peaks(&[], ".oomph/last"), "");
    }

    #[test]
    fn a_kill_that_the_kernel_counted_is_certain() {
        let death = HostDeath {
            signal: Some(9),
            process: Some("main".to_owned()),
            rss: Some(Bytes::gib(31)),
            group_kills: 1,
            group_limit: Some(Bytes::gib(32)),
            group_use: Some(Bytes::mib(32_700)),
            available: Some(Bytes::gib(200)),
            total: Some(Bytes::gib(256)),
            ..HostDeath::default()
        };
        check(
            &host_death(&death, Colour::Off),
            "\
killed by signal 9 (SIGKILL): the host's memory ran out
  Known by the kernel counted 1 kill for want of memory in this control group
           during the run (oom_kill)
  Memory   main held 31.00 GiB of RAM when it last noted it; the control group
           may use 32.00 GiB, 31.93 GiB in use; 200.00 GiB of the machine's
           256.00 GiB was available
  Do       allow the job more memory (docker --memory, sbatch --mem,
           resources.limits.memory), or hold less: fewer DataLoader workers,
           smaller prefetch_factor, load weights with mmap=True, stream the data
           set
",
        );
    }

    #[test]
    fn a_kill_without_pressure_is_not_called_memory() {
        let death = HostDeath { signal: Some(9), ..HostDeath::default() };
        check(
            &host_death(&death, Colour::Off),
            "\
killed by signal 9 (SIGKILL), with no sign that memory ran out
  Known by no count of out-of-memory kills rose during the run, and no process
           of it noted how much memory it held
  Do       find out who sent it: a scheduler's time limit, an operator, `kill
           -9`; `dmesg | grep -i oom` tells for sure whether it was memory
",
        );
    }

    #[test]
    fn a_rank_that_vanished_is_named() {
        let death = HostDeath {
            process: Some("rank1".to_owned()),
            vanished: true,
            rss: Some(Bytes::gib(1)),
            machine_kills: 2,
            ..HostDeath::default()
        };
        check(
            &host_death(&death, Colour::Off),
            "\
rank1 vanished without a word: most likely the host's memory ran out
  Known by the kernel counted 2 kills for want of memory on this machine during
           the run; whose is not told (dmesg names them)
  Memory   rank1 held 1.00 GiB of RAM when it last noted it
  Do       allow the job more memory (docker --memory, sbatch --mem,
           resources.limits.memory), or hold less: fewer DataLoader workers,
           smaller prefetch_factor, load weights with mmap=True, stream the data
           set
",
        );
    }

    #[test]
    fn a_bus_error_of_a_worker_is_shared_memory() {
        let death =
            HostDeath { worker: true, shm: Some((Bytes::mib(1), Bytes::mib(64))), ..HostDeath::default() };
        check(
            &host_death(&death, Colour::Off),
            "\
a DataLoader worker was killed: shared memory ran out
  Known by a write to shared memory failed (bus error), which is what a full
           /dev/shm does
  Memory   /dev/shm had 1.00 MiB free of 64.00 MiB
  Do       give the container more shared memory (docker run --shm-size=8g, or
           --ipc=host), or use fewer DataLoader workers or smaller batches
",
        );
    }
}

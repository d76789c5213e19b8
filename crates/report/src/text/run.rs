//! What `oomph run` says when a script has ended, as text.

use std::fmt::Write as _;

use oomph_diagnose::results::explain::Explained;
use oomph_diagnose::results::run::{HostDeath, LaterFailure, Peak, RunEnd, RunResult, Sure};

use super::report::{Colour, Report, WIDTH};
use crate::numbers::{count, counted};

/// How much is said of a run in which nothing ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talk {
    /// Nothing.
    Quiet,
    /// What concerns the GPUs that were used.
    Normal,
    /// Also that none was.
    Verbose,
}

/// How many GPUs of processes have a line of their own.
const LINES: usize = 8;

/// The words about a run. `last` is the link to its folder, for people who have to type it.
pub fn render(result: &RunResult, last: &str, talk: Talk, colour: Colour) -> String {
    match &result.end {
        RunEnd::GpuDeath(found) => {
            let more = format!("oomph explain {last}");
            let short = |result: &Explained| super::verdict::render(result.device()?, &more, colour);
            let told = |result| short(result).unwrap_or_else(|| super::explained(result, colour));
            let reports: Vec<String> = found.results.iter().map(told).collect();
            let mut out = format!("\n{}", reports.join("\n"));
            if let Some(name) = &found.process {
                let _ = write!(out, "\noomph: this was {name}, the first to fail\n");
            }
            for LaterFailure { process, seconds, recording } in &found.later {
                let _ = writeln!(
                    out,
                    "oomph: {process} ran out {seconds:.1} s later: oomph explain {last}/{recording}"
                );
            }
            out + &peaks(&result.peaks, last)
        }
        RunEnd::HostDeath(death) => format!("\n{}", host_death(death, colour)),
        RunEnd::Other if talk == Talk::Quiet => String::new(),
        RunEnd::Other => {
            let mut out = peaks(&result.peaks, last);
            if result.failures > 0 {
                let once = result.failures == 1;
                let times = if once { "once".to_owned() } else { format!("{} times", result.failures) };
                let _ =
                    writeln!(out, "oomph: ran out of memory {times} and went on; why: oomph explain {last}");
            }
            if out.is_empty() && talk == Talk::Verbose {
                out = format!("oomph: no process used a GPU; {}\n", result.folder.display());
            }
            out
        }
    }
}

/// A line for each peak, then where the recordings are: on the same line, where there is but one and it has room.
fn peaks(peaks: &[Peak], folder: &str) -> String {
    let mut out = String::new();
    for peak in peaks.iter().take(LINES) {
        let process = peak.process.as_ref().map(|name| format!("{name}, ")).unwrap_or_default();
        let allowed = if peak.is_limit { " allowed" } else { "" };
        let share = |whole| format!(" of {whole}{allowed} ({:.0}%)", 100.0 * peak.held.share_of(whole));
        let of = peak.whole.map(share).unwrap_or_default();
        let retries = if peak.retries == 1 { "retry" } else { "retries" };
        let (gpu, held, times) = (peak.device, peak.held, count(peak.retries));
        let _ = writeln!(out, "oomph: {process}GPU {gpu} peak {held} held{of}, {times} {retries}");
    }
    if peaks.len() > LINES {
        let _ = writeln!(out, "oomph: and {} more", counted(peaks.len() - LINES, "GPU"));
    }
    let together = format!("{}; {folder}", out.trim_end());
    match peaks {
        [] => {}
        [_] if together.chars().count() <= WIDTH => out = format!("{together}\n"),
        [..] => out.push_str(&format!("oomph: recorded in {folder}\n")),
    }
    out
}

/// The report on a death by the host's memory.
fn host_death(death: &HostDeath, colour: Colour) -> String {
    let title = death.title();
    let title = if death.sure() == Sure::No { title } else { colour.bad(&title) };
    let mut report = Report::new(&title, colour);
    report.say("Known by", death.known_by());
    report.say_all(Some(death.figures()).filter(|text| !text.is_empty()).map(|text| ("Memory", text)));
    report.say("Do", death.cure());
    report.finish()
}

#[cfg(test)]
mod tests {
    use oomph_trace::Bytes;

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

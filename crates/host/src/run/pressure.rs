//! How much memory the machine, its control group and /dev/shm had before and after a run: who killed a process is known
//! by what changed.

use std::fs;
use std::path::Path;

use oomph_report::status::{Cgroup, Ram};
use oomph_report::text::run::HostDeath;
use oomph_trace::Bytes;
use oomph_trace::sidecar::Host;

use super::child::Ended;
use super::notes::Notes;
use crate::status::{cgroup, meminfo};

/// One look at the machine.
#[derive(Clone, Debug)]
pub struct Pressure {
    group: Option<Cgroup>,
    ram: Option<Ram>,
    /// Processes that the kernel killed for want of memory since it started, on the whole machine.
    kills: Option<u64>,
}

const SIGKILL: u8 = 9;
const SIGBUS: u8 = 7;

impl Pressure {
    /// What it is at this moment.
    pub fn read() -> Pressure {
        let proc = Path::new("/proc");
        let kills = fs::read_to_string(proc.join("vmstat")).ok();
        Pressure {
            group: cgroup::read(proc, Path::new("/sys/fs/cgroup")),
            ram: meminfo::read(proc),
            kills: kills.and_then(|text| {
                text.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse().ok()
            }),
        }
    }

    /// Who died for want of the host's memory, or may have: `self` is from before the run. `None` where nobody was
    /// killed.
    pub fn death(&self, after: &Pressure, ended: Ended, all: &[Notes]) -> Option<HostDeath> {
        let signal = killing_signal(ended);
        let killed = signal.is_some() || told(all, "killed by signal");
        let group_kills = rise(self.group.as_ref(), after.group.as_ref());
        let failed = ended != Ended::Code(0);
        // A launcher ends with a code of its own; that a rank was killed shows in what is missing.
        let lost: Option<&Notes> = all.iter().filter(|notes| notes.vanished()).max_by_key(|notes| rss(notes));
        if !failed || !(killed || group_kills > 0 || lost.is_some()) {
            return None;
        }
        let witness = lost.or_else(|| all.iter().max_by_key(|notes| rss(notes)));
        let host = witness.and_then(|notes| notes.said.host.as_ref());
        let bus = signal == Some(SIGBUS) || told(all, "Bus error");
        Some(HostDeath {
            signal,
            process: witness.map(|notes| notes.name.clone()),
            rss: host.and_then(|host| host.rss),
            group_kills,
            group_limit: after
                .group
                .as_ref()
                .and_then(|group| group.limit)
                .or(host.and_then(|host| host.cgroup_limit)),
            group_use: host.and_then(|host| host.cgroup_current),
            machine_kills: self
                .kills
                .zip(after.kills)
                .map_or(0, |(before, after)| after.saturating_sub(before)),
            available: host.and_then(|host| host.available),
            total: after.ram.as_ref().map(|ram| ram.total).or(host.and_then(|host| host.total)),
            shm: host.filter(|_| bus).and_then(shm),
            worker: told(all, "DataLoader worker"),
        })
    }
}

fn killing_signal(ended: Ended) -> Option<u8> {
    match ended {
        Ended::Signal(number @ (SIGKILL | SIGBUS)) => Some(number),
        Ended::Code(code) if code == 128 + SIGKILL || code == 128 + SIGBUS => Some(code - 128),
        Ended::Signal(_) | Ended::Code(_) => None,
    }
}

fn told(all: &[Notes], words: &str) -> bool {
    all.iter().any(|notes| notes.exception_text().is_some_and(|text| text.contains(words)))
}

fn rise(before: Option<&Cgroup>, after: Option<&Cgroup>) -> u64 {
    let kills = |group: Option<&Cgroup>| group.and_then(|group| group.oom_kills);
    kills(before).zip(kills(after)).map_or(0, |(before, after)| after.saturating_sub(before))
}

fn rss(notes: &Notes) -> Option<Bytes> {
    notes.said.host.as_ref().and_then(|host| host.rss)
}

fn shm(host: &Host) -> Option<(Bytes, Bytes)> {
    host.shm_free.zip(host.shm_total)
}

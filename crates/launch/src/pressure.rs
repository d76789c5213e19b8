//! How much memory the machine, its control group and /dev/shm had before and after a run: who killed a process is known
//! by what changed.

use std::fs;
use std::path::Path;

use oomph_diagnose::results::run::HostDeath;
use oomph_diagnose::results::status::Ram;
use oomph_machine::run_folder::Notes;
use oomph_machine::status::{cgroup, meminfo};
use oomph_trace::Bytes;
use oomph_trace::cgroup::Cgroup;
use oomph_trace::sidecar::Host;

use crate::child::{Ended, Outcome};

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

    /// Who died for want of the host's memory, or may have: `self` is from before the run. `None` where no process was
    /// killed.
    pub fn death(&self, after: &Pressure, outcome: Outcome, all: &[Notes]) -> Option<HostDeath> {
        let ended = outcome.ended;
        let signal = killing_signal(ended);
        let killed = signal.is_some() || says(all, "killed by signal");
        let group_kills = rise(self.group.as_ref(), after.group.as_ref());
        let failed = ended != Ended::Code(0);
        // A launcher ends with a code of its own; that a rank was killed shows in what is missing. How the child
        // itself ended is known: with a code, it was not killed, whatever it noted.
        let is_child = |notes: &&Notes| notes.sidecar.identity.pid == Some(outcome.pid.into());
        let left_by_itself = |notes: &&Notes| is_child(notes) && signal.is_none();
        let gone = all.iter().filter(|notes| notes.vanished()).filter(|notes| !left_by_itself(notes));
        let lost: Option<&Notes> = gone.max_by_key(|notes| rss(notes));
        if !failed || !(killed || group_kills > 0 || lost.is_some()) {
            return None;
        }
        let witness = lost.or_else(|| all.iter().max_by_key(|notes| rss(notes)));
        let host = witness.and_then(|notes| notes.sidecar.host.as_ref());
        let bus = signal == Some(SIGBUS) || says(all, "Bus error");
        Some(HostDeath {
            signal,
            process: witness.map(|notes| notes.name.clone()),
            vanished: lost.is_some(),
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
            worker: says(all, "DataLoader worker"),
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

fn says(all: &[Notes], words: &str) -> bool {
    all.iter().any(|notes| notes.exception_text().is_some_and(|text| text.contains(words)))
}

fn rise(before: Option<&Cgroup>, after: Option<&Cgroup>) -> u64 {
    let kills = |group: Option<&Cgroup>| group.and_then(|group| group.oom_kills);
    kills(before).zip(kills(after)).map_or(0, |(before, after)| after.saturating_sub(before))
}

fn rss(notes: &Notes) -> Option<Bytes> {
    notes.sidecar.host.as_ref().and_then(|host| host.rss)
}

fn shm(host: &Host) -> Option<(Bytes, Bytes)> {
    host.shm_free.zip(host.shm_total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oomph_trace::sidecar::{Exception, Sidecar, Why};

    fn machine(group_kills: u64, kills: u64) -> Pressure {
        let group = Cgroup {
            path: "/job".to_owned(),
            limit: Some(Bytes::gib(32)),
            current: Some(Bytes::gib(1)),
            oom_kills: Some(group_kills),
        };
        Pressure { group: Some(group), ram: None, kills: Some(kills) }
    }

    fn of(ended: Ended) -> Outcome {
        Outcome { ended, pid: 1 }
    }

    /// A process that noted this much and has gone: no process has number 0.
    fn gone(name: &str, rss: Bytes, text: Option<&str>) -> Notes {
        let exception = text.map(|text| Exception { text: Some(text.to_owned()), ..Exception::default() });
        let mut sidecar = Sidecar { why: Some(Why::Beat), exception, ..Sidecar::default() };
        sidecar.identity.pid = Some(0);
        sidecar.host = Some(Host { rss: Some(rss), ..Host::default() });
        Notes { name: name.to_owned(), sidecar, recordings: Vec::new() }
    }

    #[test]
    fn a_kill_in_the_group_is_told_from_one_elsewhere() {
        let death = |after: &Pressure, ended, all: &[Notes]| machine(1, 5).death(after, of(ended), all);
        let killed = death(&machine(2, 6), Ended::Signal(9), &[gone("main", Bytes::gib(31), None)]);
        let killed = killed.expect("somebody was killed");
        assert_eq!((killed.signal, killed.group_kills, killed.machine_kills), (Some(9), 1, 1));
        assert_eq!((killed.process.as_deref(), killed.rss), (Some("main"), Some(Bytes::gib(31))));
        // A launcher reports a code of its own; the rank that vanished with the most memory is named.
        let ranks = [gone("rank0", Bytes::gib(1), None), gone("rank1", Bytes::gib(30), None)];
        let killed = death(&machine(1, 5), Ended::Code(1), &ranks).expect("a rank vanished");
        assert_eq!((killed.signal, killed.group_kills), (None, 0));
        assert_eq!(killed.process.as_deref(), Some("rank1"));
        assert_eq!(death(&machine(1, 5), Ended::Code(137), &[]).and_then(|death| death.signal), Some(9));
    }

    #[test]
    fn an_end_that_has_nothing_to_do_with_memory_is_no_death_by_it() {
        assert_eq!(machine(1, 5).death(&machine(1, 9), of(Ended::Code(1)), &[]), None);
        assert_eq!(machine(1, 5).death(&machine(2, 9), of(Ended::Code(0)), &[]), None);
        assert_eq!(machine(1, 5).death(&machine(1, 5), of(Ended::Signal(15)), &[]), None);
    }

    #[test]
    fn a_child_that_left_with_a_code_was_not_killed() {
        let all = [gone("main", Bytes::gib(1), None)];
        let left = |ended| machine(1, 5).death(&machine(1, 5), Outcome { ended, pid: 0 }, &all);
        assert_eq!(left(Ended::Code(7)), None);
        assert!(left(Ended::Signal(9)).is_some_and(|death| death.vanished));
    }

    #[test]
    fn the_words_of_a_data_loader_are_recognised() {
        let text = "DataLoader worker (pid 7) is killed by signal: Killed.";
        let killed = machine(1, 5).death(
            &machine(1, 5),
            of(Ended::Code(1)),
            &[gone("main", Bytes::gib(1), Some(text))],
        );
        let killed = killed.expect("a worker was killed");
        assert!(killed.worker && killed.shm.is_none());
    }
}

//! What the kernel says of processes, beyond what a status shows: their signals, their state, who started them.

use std::fmt::Display;
use std::fs;
use std::path::Path;

use oomph_machine::status::process;

/// All processes, by number.
pub(crate) fn all() -> impl Iterator<Item = i32> {
    process::all(Path::new("/proc")).into_iter().filter_map(|pid| i32::try_from(pid).ok())
}

/// A set of signals of a process, a bit each: `SigIgn`, `SigCgt`, `SigPnd` or `ShdPnd`; empty where there is no process.
pub(crate) fn signals(pid: impl Display, set: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix(set)?.strip_prefix(':'));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

/// The state of a process, such as `T`, and the number of the one that started it.
pub(crate) fn state_and_parent(pid: i32) -> Option<(String, i32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // They follow the name, which is in parentheses and may hold anything.
    let mut words = stat.rsplit_once(") ")?.1.split_whitespace();
    Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
}

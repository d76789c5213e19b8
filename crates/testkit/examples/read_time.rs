//! How long reading a snapshot takes, and how much memory: `read_time FILE` prints seconds and peak MB.

use std::fs::{self, File};
use std::time::Instant;

use oomph_trace::read_snapshot;

#[expect(clippy::print_stdout, reason = "the result of a measuring program is what it prints")]
fn main() {
    let path = std::env::args().nth(1).expect("usage: read_time FILE");
    let file = File::open(path).expect("the file opens");
    let began = Instant::now();
    let snapshot = read_snapshot(file).expect("the file is a snapshot");
    let seconds = began.elapsed().as_secs_f64();
    assert!(!snapshot.traces.is_empty(), "the snapshot is empty");
    let status = fs::read_to_string("/proc/self/status").expect("Linux tells the memory of a process");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("its peak among it");
    let kilobytes: f64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    println!("{seconds} {}", kilobytes / 1024.0);
    // Freeing the values is not part of reading them, and the other reader does not do it either.
    std::mem::forget(snapshot);
}

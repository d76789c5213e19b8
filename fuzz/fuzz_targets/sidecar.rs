//! Any bytes as the notes of a process, and what they say beside a recording of a job that ran out of memory.
#![no_main]

use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use oomph_fuzz::{all_commands, bounds::bounded};
use oomph_machine::run_folder::sidecar_of;
use oomph_testkit::generate::{Ending, Job, window};
use oomph_trace::Snapshot;

/// Short, so that the sidecar is what takes time.
static RECORDED: LazyLock<Snapshot> = LazyLock::new(|| {
    let job = Job { events: 400, ending: Ending::OutOfMemory, stacks: 8, ..Job::default() };
    window(job.record(), 120)
});

fuzz_target!(|data: &[u8]| {
    let Some(sidecar) = bounded(data.len(), Duration::from_micros(20), || sidecar_of(data)) else { return };
    let snapshot = Snapshot { sidecar: Some(sidecar), ..RECORDED.clone() };
    bounded(data.len(), Duration::from_millis(2), || all_commands(&snapshot));
});

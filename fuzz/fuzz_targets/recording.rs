//! Any bytes as a recording: the pickle's reader, and what every command does with what was read.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use oomph_fuzz::{all_commands, bounds::bounded};
use oomph_trace::read_snapshot;

fuzz_target!(|data: &[u8]| {
    match bounded(data.len(), Duration::from_micros(20), || read_snapshot(data)) {
        Ok(snapshot) => bounded(data.len(), Duration::from_millis(2), || all_commands(&snapshot)),
        Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
    }
});

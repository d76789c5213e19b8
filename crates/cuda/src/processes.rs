//! The processes on a GPU.
//!
//! A record has 16 bytes in version 1 (pid, memory) and 24 since version 2 (and the instance it is on). Drivers of
//! the series 535 wrote 32 bytes under the name of version 3. So the version does not tell the layout. Every buffer
//! has room for the largest record and is filled with a mark; where the mark is gone, the driver has written.

use std::ffi::{c_int, c_uint, c_void};

use oomph_trace::Bytes;

use crate::error::{Code, Error};
use crate::nvml::checked;

/// The largest record, in words of 8 bytes.
const WORDS: usize = 4;
/// What an unwritten byte holds.
const MARK: u8 = 0xa5;
/// NVML's "not available" and "on no instance".
const NOT_AVAILABLE: u64 = u64::MAX;
const NO_INSTANCE: u32 = u32::MAX;
/// The most processes that are read, whatever the driver claims.
const MOST: u32 = 1 << 16;
/// How often the list may grow between two calls.
const TRIES: u32 = 8;

/// A process on a GPU, as the driver sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// As the driver sees it, perhaps in another pid namespace than this process's.
    pub pid: u32,
    /// What it holds; `None` if the driver cannot tell.
    pub used: Option<Bytes>,
    /// The GPU instance it is on, where the GPU is divided.
    pub gpu_instance: Option<u32>,
}

/// Calls until the buffer is large enough. `call` writes at most as many records of at most 32 bytes as the count it
/// is given says, and sets the count to what it wrote, or to what it wants if it fails with "insufficient size".
pub(crate) fn list(
    function: &'static str,
    call: impl Fn(*mut c_uint, *mut c_void) -> c_int,
) -> Result<Vec<Process>, Error> {
    let mut capacity: u32 = 32;
    let mut tries = 0;
    loop {
        let mut buffer = vec![u64::from_ne_bytes([MARK; 8]); capacity as usize * WORDS];
        let mut count: c_uint = capacity;
        match checked(function, call(&mut count, buffer.as_mut_ptr().cast())) {
            Ok(()) => {
                let bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_ne_bytes()).collect();
                return Ok(records(&bytes, count.min(capacity) as usize));
            }
            Err(error) if error.code() == Some(Code::INSUFFICIENT_SIZE) && tries < TRIES => {
                // Some more room, for processes that start before the next call.
                capacity = count.max(capacity).saturating_add(16).min(MOST);
                tries += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Reads `count` records from a buffer of `32 * count` bytes or more.
fn records(bytes: &[u8], count: usize) -> Vec<Process> {
    let size = record_size(bytes, count);
    let u32_at =
        |at: usize| bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map(u32::from_ne_bytes);
    let u64_at =
        |at: usize| bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok()).map(u64::from_ne_bytes);
    let record = |index: usize| {
        let at = index * size;
        let instance = if size > 16 { u32_at(at + 16) } else { None };
        Some(Process {
            pid: u32_at(at)?,
            used: u64_at(at + 8).filter(|used| *used != NOT_AVAILABLE).map(Bytes),
            gpu_instance: instance.filter(|instance| *instance != NO_INSTANCE),
        })
    };
    (0..count).filter_map(record).collect()
}

/// The length of the records that were written. Zeros after 24 bytes per record do not count: a driver may clear the
/// whole buffer first.
fn record_size(bytes: &[u8], count: usize) -> usize {
    let part = |from: usize, to: usize| bytes.get(from * count..to * count).unwrap_or_default();
    if part(24, 32).iter().any(|byte| *byte != MARK && *byte != 0) {
        32
    } else if part(16, 24).iter().any(|byte| *byte != MARK) {
        24
    } else {
        16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A buffer for `capacity` records with these in it, `size` bytes each.
    fn buffer(size: usize, capacity: usize, records: &[(u32, u64, u32)]) -> Vec<u8> {
        let mut bytes = vec![MARK; capacity * 32];
        for (index, (pid, used, instance)) in records.iter().enumerate() {
            let mut record = Vec::new();
            record.extend(pid.to_ne_bytes());
            record.extend([MARK; 4]);
            record.extend(used.to_ne_bytes());
            record.extend(instance.to_ne_bytes());
            record.extend(NO_INSTANCE.to_ne_bytes());
            record.extend(0u64.to_ne_bytes());
            bytes[index * size..][..size].copy_from_slice(&record[..size]);
        }
        bytes
    }

    #[test]
    fn records_of_every_length_are_read() {
        let given = [(7, 4096, NO_INSTANCE), (8, NOT_AVAILABLE, 3), (9, 0, 0), (10, 1 << 40, NO_INSTANCE)];
        for size in [16, 24, 32] {
            for count in 0..=given.len() {
                let expected: Vec<Process> = given[..count]
                    .iter()
                    .map(|(pid, used, instance)| Process {
                        pid: *pid,
                        used: (*used != NOT_AVAILABLE).then_some(Bytes(*used)),
                        gpu_instance: Some(*instance).filter(|n| *n != NO_INSTANCE && size > 16),
                    })
                    .collect();
                let found = records(&buffer(size, 8, &given[..count]), count);
                assert_eq!(found, expected, "{count} records of {size} bytes");
            }
        }
    }

    #[test]
    fn a_driver_that_clears_the_buffer_first_is_not_mistaken() {
        let given = [(7, 4096, NO_INSTANCE), (8, 8192, NO_INSTANCE)];
        let mut bytes = buffer(24, 8, &given);
        bytes[48..].fill(0);
        let pids: Vec<u32> = records(&bytes, 2).iter().map(|process| process.pid).collect();
        assert_eq!(pids, [7, 8]);
    }

    #[test]
    fn a_list_that_never_stops_growing_ends_in_an_error() {
        let endless = |count: *mut c_uint, _: *mut c_void| {
            // SAFETY: `list` gives a pointer to a local of its own.
            unsafe { *count += 1 };
            Code::INSUFFICIENT_SIZE.0
        };
        let error = list("nvmlDeviceGetComputeRunningProcesses_v3", endless).unwrap_err();
        assert_eq!(error.code(), Some(Code::INSUFFICIENT_SIZE));
    }
}

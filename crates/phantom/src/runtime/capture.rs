//! CUDA graphs: which streams are being captured, and graphs that do nothing when they are launched. What matters of a
//! capture is that PyTorch then allocates from a pool of its own, and keeps it.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::answer::{answer, offer, put};
use crate::code::{Code, SUCCESS, fail};
use crate::store::{Handle, handle};

/// A capture by the number that the runtime gives it.
type Capture = c_ulonglong;

/// `cudaErrorIllegalState`: a capture is begun twice, or ended where none was begun.
const ILLEGAL_STATE: Code = 401;

/// The captures under way. A stream that waits for an event of a captured one belongs to the capture too.
#[derive(Debug)]
struct Captures {
    next: Capture,
    streams: BTreeMap<usize, Capture>,
    events: BTreeMap<usize, Capture>,
}

impl Captures {
    const fn new() -> Self {
        Self { next: 1, streams: BTreeMap::new(), events: BTreeMap::new() }
    }

    fn begin(&mut self, stream: usize) -> bool {
        let is_new = !self.streams.contains_key(&stream);
        if is_new {
            self.streams.insert(stream, self.next);
            self.next += 1;
        }
        is_new
    }

    fn end(&mut self, stream: usize) -> bool {
        let Some(capture) = self.streams.remove(&stream) else { return false };
        self.streams.retain(|_, one| *one != capture);
        self.events.retain(|_, one| *one != capture);
        true
    }

    fn record(&mut self, event: usize, stream: usize) {
        match self.streams.get(&stream) {
            Some(capture) => self.events.insert(event, *capture),
            None => self.events.remove(&event),
        };
    }

    fn wait(&mut self, stream: usize, event: usize) {
        if let Some(capture) = self.events.get(&event) {
            self.streams.entry(stream).or_insert(*capture);
        }
    }
}

fn captures() -> MutexGuard<'static, Captures> {
    static CAPTURES: Mutex<Captures> = Mutex::new(Captures::new());
    // Each change leaves the maps whole, even if a thread died while it held the lock.
    CAPTURES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The capture that a stream belongs to.
fn capture_of(stream: Handle) -> Option<Capture> {
    captures().streams.get(&(stream as usize)).copied()
}

fn allowed(is_allowed: bool) -> Code {
    if is_allowed { SUCCESS } else { fail(ILLEGAL_STATE) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaStreamBeginCapture(stream: Handle, _: c_int) -> Code {
    allowed(captures().begin(stream as usize))
}

/// The graph of what was captured.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamEndCapture(stream: Handle, graph: *mut Handle) -> Code {
    if !captures().end(stream as usize) {
        return fail(ILLEGAL_STATE);
    }
    // SAFETY: the caller's pointer.
    unsafe { put(graph, handle()) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaEventRecord(event: Handle, stream: Handle) -> Code {
    captures().record(event as usize, stream as usize);
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaEventRecordWithFlags(event: Handle, stream: Handle, _: c_uint) -> Code {
    cudaEventRecord(event, stream)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaStreamWaitEvent(stream: Handle, event: Handle, _: c_uint) -> Code {
    captures().wait(stream as usize, event as usize);
    SUCCESS
}

answer! {
    fn cudaStreamIsCapturing(stream: Handle, at: *mut c_int) { *at = c_int::from(capture_of(stream).is_some()); }

    fn cudaGraphInstantiate(at: *mut Handle, _: Handle, _: c_ulonglong) { *at = handle(); }

    fn cudaGraphInstantiateWithFlags(at: *mut Handle, _: Handle, _: c_ulonglong) { *at = handle(); }

    fn cudaUserObjectCreate(at: *mut Handle) { *at = handle(); }

    /// PyTorch asks how many there are, to warn of a graph that is empty.
    fn cudaGraphGetNodes(_: Handle, _: *mut Handle, count: *mut usize) { *count = 1; }
}

/// Whether a stream is captured, and by which capture. What a graph consists of, which callers may ask for behind these
/// arguments, is left alone.
unsafe fn info(stream: Handle, status: *mut c_int, id: *mut Capture) -> Code {
    let capture = capture_of(stream);
    // SAFETY: the caller's pointers; the number may be unwanted.
    unsafe {
        offer(id, capture.unwrap_or(0));
        put(status, c_int::from(capture.is_some()))
    }
}

/// As CUDA 13 has it; up to 11 without the last arguments.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamGetCaptureInfo(
    stream: Handle,
    status: *mut c_int,
    id: *mut Capture,
    _: *mut c_void,
) -> Code {
    // SAFETY: passed on as it came.
    unsafe { info(stream, status, id) }
}

/// The same under the name that CUDA 12 gave it.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamGetCaptureInfo_v2(
    stream: Handle,
    status: *mut c_int,
    id: *mut Capture,
) -> Code {
    // SAFETY: passed on as it came.
    unsafe { info(stream, status, id) }
}

/// The same under the name that CUDA 12.3 gave it.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamGetCaptureInfo_v3(
    stream: Handle,
    status: *mut c_int,
    id: *mut Capture,
) -> Code {
    // SAFETY: passed on as it came.
    unsafe { info(stream, status, id) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_takes_in_streams_that_wait_for_it_and_ends_with_the_first() {
        let mut captures = Captures::new();
        assert!(captures.begin(7));
        assert!(!captures.begin(7));
        captures.record(100, 7);
        captures.record(101, 9);
        captures.wait(8, 100);
        captures.wait(10, 101);
        assert_eq!(captures.streams, BTreeMap::from([(7, 1), (8, 1)]));
        assert!(captures.end(7));
        assert!(!captures.end(7));
        assert!(captures.streams.is_empty() && captures.events.is_empty());
    }
}

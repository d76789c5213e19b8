//! A device that records its calls.

use oomph_engine::device::Device;
use oomph_trace::{Action, Addr, Bytes};

/// A call of the driver that succeeded. As in a snapshot, reservations of address space are not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// One of the four segment actions.
    pub action: Action,
    /// Where.
    pub addr: Addr,
    /// How much.
    pub size: Bytes,
}

/// Passes every call on and records those that succeed, in order.
#[derive(Clone, Debug)]
pub struct Recorder<D> {
    inner: D,
    calls: Vec<Call>,
}

impl<D> Recorder<D> {
    /// Records the calls of `inner`.
    pub fn new(inner: D) -> Recorder<D> {
        Recorder { inner, calls: Vec::new() }
    }

    /// The calls since the last time this was called.
    pub fn take_calls(&mut self) -> Vec<Call> {
        std::mem::take(&mut self.calls)
    }

    fn note(&mut self, action: Action, addr: Addr, size: Bytes) {
        self.calls.push(Call { action, addr, size });
    }
}

impl<D: Device> Device for Recorder<D> {
    fn malloc(&mut self, size: Bytes) -> Option<Addr> {
        let addr = self.inner.malloc(size)?;
        self.note(Action::SegmentAlloc, addr, size);
        Some(addr)
    }

    fn free(&mut self, addr: Addr, size: Bytes) {
        self.note(Action::SegmentFree, addr, size);
        self.inner.free(addr, size);
    }

    fn reserve(&mut self, size: Bytes) -> Option<Addr> {
        self.inner.reserve(size)
    }

    fn unreserve(&mut self, addr: Addr, size: Bytes) {
        self.inner.unreserve(addr, size);
    }

    fn map(&mut self, addr: Addr, size: Bytes) -> bool {
        let granted = self.inner.map(addr, size);
        if granted {
            self.note(Action::SegmentMap, addr, size);
        }
        granted
    }

    fn unmap(&mut self, addr: Addr, size: Bytes) {
        self.note(Action::SegmentUnmap, addr, size);
        self.inner.unmap(addr, size);
    }

    fn total(&self) -> Bytes {
        self.inner.total()
    }
}

//! A device that notes what it hands out and takes back.

use oomph_engine::device::Device;
use oomph_engine::simulated::SimulatedDevice;
use oomph_trace::{Addr, Bytes};

/// One call of the driver that succeeded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// Whether memory is handed out; else it is taken back.
    pub(crate) gives: bool,
    /// Whether pages are mapped or unmapped.
    pub(crate) pages: bool,
    pub(crate) addr: Addr,
    pub(crate) size: Bytes,
}

/// The simulated device and its calls since they were last looked at.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    inner: SimulatedDevice,
    pub(crate) calls: Vec<Call>,
}

impl Watched {
    pub(crate) fn new(inner: SimulatedDevice) -> Watched {
        Watched { inner, calls: Vec::new() }
    }
}

impl Device for Watched {
    fn malloc(&mut self, size: Bytes) -> Option<Addr> {
        let addr = self.inner.malloc(size)?;
        self.calls.push(Call { gives: true, pages: false, addr, size });
        Some(addr)
    }

    fn free(&mut self, addr: Addr, size: Bytes) {
        self.calls.push(Call { gives: false, pages: false, addr, size });
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
            self.calls.push(Call { gives: true, pages: true, addr, size });
        }
        granted
    }

    fn unmap(&mut self, addr: Addr, size: Bytes) {
        self.calls.push(Call { gives: false, pages: true, addr, size });
        self.inner.unmap(addr, size);
    }

    fn total(&self) -> Bytes {
        self.inner.total()
    }
}

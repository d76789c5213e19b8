//! A device that notes what it hands out and takes back.
//!
//! Address space for expandable segments is reserved above all that a driver gives, so that it never lies over what was held
//! before the start. Where the recorded calls are known, what is mapped there is shown at its recorded address.

use std::collections::{BTreeMap, VecDeque};

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

/// What is added to addresses of reservations.
const ABOVE: u64 = 1 << 47;

/// The simulated device and its calls since they were last looked at.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    inner: SimulatedDevice,
    /// Their addresses are as shown.
    pub(crate) calls: Vec<Call>,
    /// The recorded addresses of mapped pages that are still to come.
    recorded: VecDeque<Addr>,
    /// Reservations: where each is shown.
    shown: BTreeMap<Addr, Option<Addr>>,
}

impl Watched {
    /// `recorded`: where pages were mapped, in order; empty where the replay need not do the same.
    pub(crate) fn new(inner: SimulatedDevice, recorded: impl IntoIterator<Item = Addr>) -> Watched {
        Watched { inner, calls: Vec::new(), recorded: recorded.into_iter().collect(), shown: BTreeMap::new() }
    }

    /// Where an address of the replay is shown.
    pub(crate) fn shown(&self, addr: Addr) -> Addr {
        let reservation = self.shown.range(..=addr).next_back().filter(|_| addr.0 >= ABOVE);
        let moved =
            reservation.and_then(|(base, shown)| Some(shown.as_ref()?.offset(addr.distance_from(*base)?)));
        moved.unwrap_or(addr)
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
        let addr = self.inner.reserve(size)?.offset(Bytes(ABOVE));
        self.shown.insert(addr, None);
        Some(addr)
    }

    fn unreserve(&mut self, addr: Addr, size: Bytes) {
        self.shown.remove(&addr);
        self.inner.unreserve(Addr(addr.0.saturating_sub(ABOVE)), size);
    }

    fn map(&mut self, addr: Addr, size: Bytes) -> bool {
        let granted = self.inner.map(addr, size);
        if granted {
            let recorded = self.recorded.pop_front();
            if let Some((base, shown)) = self.shown.range_mut(..=addr).next_back().filter(|_| addr.0 >= ABOVE)
                && shown.is_none()
            {
                let inside = addr.distance_from(*base).unwrap_or_default();
                *shown = recorded.and_then(|recorded| recorded.0.checked_sub(inside.0)).map(Addr);
            }
            let addr = self.shown(addr);
            self.calls.push(Call { gives: true, pages: true, addr, size });
        }
        granted
    }

    fn unmap(&mut self, addr: Addr, size: Bytes) {
        self.calls.push(Call { gives: false, pages: true, addr: self.shown(addr), size });
        self.inner.unmap(addr, size);
    }

    fn total(&self) -> Bytes {
        self.inner.total()
    }
}

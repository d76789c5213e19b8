//! A device that exists in memory only.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use oomph_trace::{Addr, Bytes};
use rustc_hash::FxHashMap;

use crate::device::Device;
use crate::space::{AddressSpace, Fit, Reservations};

/// The driver hands out memory in pages of this size.
const PAGE: Bytes = Bytes::mib(2);
/// Addresses without a recorded one lie below this, and real drivers give none that is lower.
const TOP: Addr = Addr(0x6000_0000_0000);
/// Where address space is reserved.
const RESERVED: Range<Addr> = Addr(0x3_0000_0000)..TOP;
/// The memory of a device of which nothing is known: more than any has, so that only known limits bind.
const UNKNOWN_TOTAL: Bytes = Bytes::gib(256);
/// What a device of unknown capacity gives at most.
const MOST: Bytes = Bytes(1 << 46);

/// A simulated device with a capacity.
///
/// Up to PyTorch 2.11 addresses decide between blocks of equal size. So the addresses of a recording are given again,
/// to segments of the same size in the same order, as long as they are free. Other segments get an address in the
/// pattern of the driver: see [`AddressSpace`].
#[derive(Clone, Debug)]
pub struct SimulatedDevice {
    capacity: Option<Bytes>,
    total: Bytes,
    used: Bytes,
    /// Ranges lent out: size by address.
    lent: BTreeMap<Addr, Bytes>,
    /// Recorded addresses not given yet, by size.
    recorded: FxHashMap<Bytes, VecDeque<Addr>>,
    space: AddressSpace,
    reserved: Reservations,
}

impl SimulatedDevice {
    /// A device on which `capacity` can be held (`None`: any amount).
    pub fn new(capacity: Option<Bytes>) -> SimulatedDevice {
        SimulatedDevice {
            capacity,
            total: capacity.unwrap_or(UNKNOWN_TOTAL),
            used: Bytes::ZERO,
            lent: BTreeMap::new(),
            recorded: FxHashMap::default(),
            space: AddressSpace::new(Addr(0)..TOP, Fit::Smallest),
            reserved: Reservations::new(RESERVED),
        }
    }

    /// The same device with `total` bytes of memory in all.
    #[must_use]
    pub fn with_total(self, total: Bytes) -> SimulatedDevice {
        SimulatedDevice { total, ..self }
    }

    /// The same device with what it lends in one address space, and what is reserved in another.
    #[must_use]
    pub fn with_space(self, space: AddressSpace, reserved: Reservations) -> SimulatedDevice {
        SimulatedDevice { space, reserved, ..self }
    }

    /// Prefers these addresses, each for a range of its size, in this order.
    #[must_use]
    pub fn with_addresses(mut self, recorded: impl IntoIterator<Item = (Addr, Bytes)>) -> SimulatedDevice {
        for (addr, size) in recorded {
            self.recorded.entry(size).or_default().push_back(addr);
        }
        self
    }

    /// Counts memory that was lent before the simulation began.
    pub fn adopt(&mut self, addr: Addr, size: Bytes) {
        self.used += size.round_up(PAGE);
        self.lent.insert(addr, size);
    }

    /// What is held, by `malloc` and by mapped pages.
    pub fn used(&self) -> Bytes {
        self.used
    }

    /// The length of the range that [`Device::malloc`] gave at this address, if it is still held.
    pub fn length_at(&self, addr: Addr) -> Option<Bytes> {
        self.lent.get(&addr).copied()
    }

    /// The reservation that this address lies in: where it begins, and its length.
    pub fn reserved_around(&self, addr: Addr) -> Option<(Addr, Bytes)> {
        self.reserved.around(addr)
    }

    /// The next recorded address for this size, if nothing is lent there.
    fn recorded_address(&mut self, size: Bytes) -> Option<Addr> {
        let addr = self.recorded.get_mut(&size)?.pop_front()?;
        let end = addr.offset(size);
        let below = self.lent.range(..end).next_back();
        below.is_none_or(|(start, length)| start.offset(*length) <= addr).then_some(addr)
    }

    fn has_room(&self, size: Bytes) -> bool {
        self.used + size <= self.capacity.unwrap_or(MOST)
    }
}

impl Device for SimulatedDevice {
    fn malloc(&mut self, size: Bytes) -> Option<Addr> {
        let size = size.round_up(PAGE);
        if !self.has_room(size) {
            return None;
        }
        let addr = self.recorded_address(size).or_else(|| self.space.take(size))?;
        self.used += size;
        self.lent.insert(addr, size);
        Some(addr)
    }

    fn free(&mut self, addr: Addr, size: Bytes) {
        let size = size.round_up(PAGE);
        self.used = self.used.saturating_sub(size);
        self.lent.remove(&addr);
        if self.space.contains(addr) {
            self.space.give(addr, size);
        }
    }

    fn reserve(&mut self, size: Bytes) -> Option<Addr> {
        self.reserved.take(size)
    }

    fn unreserve(&mut self, addr: Addr, _size: Bytes) {
        self.reserved.give(addr);
    }

    fn map(&mut self, _addr: Addr, size: Bytes) -> bool {
        let granted = self.has_room(size);
        if granted {
            self.used += size;
        }
        granted
    }

    fn unmap(&mut self, _addr: Addr, size: Bytes) {
        self.used = self.used.saturating_sub(size);
    }

    fn total(&self) -> Bytes {
        self.total
    }
}

//! A device that exists in memory only.

use std::collections::{BTreeMap, VecDeque};

use oomph_trace::{Addr, Bytes};
use rustc_hash::FxHashMap;

use crate::device::Device;

/// The driver hands out memory in pages of this size.
const PAGE: Bytes = Bytes::mib(2);
/// The driver takes address space from the system in multiples of this.
const CHUNK: Bytes = Bytes::mib(32);
/// Where `cudaMalloc`'s addresses start; they grow downwards from here, below all that real drivers give.
const TOP: u64 = 0x6000_0000_0000;
/// Where reserved address space starts; it grows upwards from here.
const RESERVED: u64 = 0x3_0000_0000;
/// The memory of a device of which nothing is known: more than any has, so that only limits that are known bind.
const UNKNOWN_TOTAL: Bytes = Bytes::gib(256);

/// A simulated device with a capacity.
///
/// Which addresses `cudaMalloc` gives is not documented, and up to PyTorch 2.11 they decide between blocks of equal
/// size. So the addresses of a recording are given again, to segments of the same size in the same order, as long as
/// they are free. Where the recording has none, its pattern is followed: chunks of 32 MiB from high to low, the rest
/// of a chunk serving later requests, freed ranges reused first.
#[derive(Clone, Debug)]
pub struct SimulatedDevice {
    capacity: Option<Bytes>,
    total: Bytes,
    used: Bytes,
    /// Ranges lent out: size by address.
    lent: BTreeMap<Addr, Bytes>,
    /// Recorded addresses not given yet, by size.
    recorded: FxHashMap<Bytes, VecDeque<Addr>>,
    /// Unused ranges of chunks taken already: size by address.
    holes: BTreeMap<Addr, Bytes>,
    bottom: Addr,
    reserved_top: Addr,
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
            holes: BTreeMap::new(),
            bottom: Addr(TOP),
            reserved_top: Addr(RESERVED),
        }
    }

    /// The same, of a device whose memory is `total` in all.
    #[must_use]
    pub fn with_total(mut self, total: Bytes) -> SimulatedDevice {
        self.total = total;
        self
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

    /// The next recorded address for this size, if nothing is lent there.
    fn recorded_address(&mut self, size: Bytes) -> Option<Addr> {
        let addr = self.recorded.get_mut(&size)?.pop_front()?;
        let end = addr.offset(size);
        let below = self.lent.range(..end).next_back();
        below.is_none_or(|(start, length)| start.offset(*length) <= addr).then_some(addr)
    }

    /// An address by the pattern of `cudaMalloc`.
    fn pattern_address(&mut self, size: Bytes) -> Addr {
        let fitting = self.holes.iter().filter(|(_, length)| **length >= size);
        let best =
            fitting.min_by_key(|(addr, length)| (**length, **addr)).map(|(addr, length)| (*addr, *length));
        let (addr, length) = best.unwrap_or_else(|| {
            let length = size.round_up(CHUNK);
            self.bottom = Addr(self.bottom.0.wrapping_sub(length.0));
            (self.bottom, length)
        });
        self.holes.remove(&addr);
        if length > size {
            self.holes.insert(addr.offset(size), length - size);
        }
        addr
    }

    fn take(&mut self, size: Bytes) -> bool {
        let wanted = Bytes(self.used.0.saturating_add(size.0));
        let fits = self.capacity.is_none_or(|capacity| wanted <= capacity);
        if fits {
            self.used = wanted;
        }
        fits
    }

    fn give_hole(&mut self, addr: Addr, size: Bytes) {
        let (mut addr, mut size) = (addr, size);
        if let Some((below, length)) = self.holes.range(..addr).next_back().map(|(a, s)| (*a, *s))
            && below.offset(length) == addr
        {
            self.holes.remove(&below);
            (addr, size) = (below, size + length);
        }
        if let Some(length) = self.holes.remove(&addr.offset(size)) {
            size += length;
        }
        self.holes.insert(addr, size);
    }
}

impl Device for SimulatedDevice {
    fn malloc(&mut self, size: Bytes) -> Option<Addr> {
        let size = size.round_up(PAGE);
        if !self.take(size) {
            return None;
        }
        let addr = self.recorded_address(size).unwrap_or_else(|| self.pattern_address(size));
        self.lent.insert(addr, size);
        Some(addr)
    }

    fn free(&mut self, addr: Addr, size: Bytes) {
        let size = size.round_up(PAGE);
        self.used = self.used.saturating_sub(size);
        self.lent.remove(&addr);
        if addr < Addr(TOP) {
            self.give_hole(addr, size);
        }
    }

    fn reserve(&mut self, size: Bytes) -> Option<Addr> {
        let addr = self.reserved_top;
        self.reserved_top = addr.offset(size);
        Some(addr)
    }

    fn unreserve(&mut self, _addr: Addr, _size: Bytes) {}

    fn map(&mut self, _addr: Addr, size: Bytes) -> bool {
        self.take(size)
    }

    fn unmap(&mut self, _addr: Addr, size: Bytes) {
        self.used = self.used.saturating_sub(size);
    }

    fn total(&self) -> Bytes {
        self.total
    }
}

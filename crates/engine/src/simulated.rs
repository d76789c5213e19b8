//! A device that exists in memory only.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

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

/// What a device of unknown capacity gives: its addresses end there.
const MOST: Bytes = Bytes(1 << 46);

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
    /// Unused ranges of chunks taken already.
    holes: Holes,
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
            holes: Holes::default(),
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
        let (addr, length) = self.holes.best_fit(size).unwrap_or_else(|| {
            let length = size.round_up(CHUNK);
            self.bottom = Addr(self.bottom.0.wrapping_sub(length.0));
            (self.bottom, length)
        });
        self.holes.remove(addr);
        if length > size {
            self.holes.insert(addr.offset(size), length - size);
        }
        addr
    }

    fn take(&mut self, size: Bytes) -> bool {
        let wanted = Bytes(self.used.0.saturating_add(size.0));
        let fits = wanted <= self.capacity.unwrap_or(MOST);
        if fits {
            self.used = wanted;
        }
        fits
    }
}

/// Unused ranges, no two of which touch.
#[derive(Clone, Debug, Default)]
struct Holes {
    by_addr: BTreeMap<Addr, Bytes>,
    by_size: BTreeSet<(Bytes, Addr)>,
}

impl Holes {
    /// The smallest that holds `size`, the lowest of those.
    fn best_fit(&self, size: Bytes) -> Option<(Addr, Bytes)> {
        self.by_size.range((size, Addr(0))..).next().map(|(length, addr)| (*addr, *length))
    }

    fn insert(&mut self, addr: Addr, size: Bytes) {
        self.remove(addr);
        self.by_addr.insert(addr, size);
        self.by_size.insert((size, addr));
    }

    fn remove(&mut self, addr: Addr) -> Option<Bytes> {
        let size = self.by_addr.remove(&addr)?;
        self.by_size.remove(&(size, addr));
        Some(size)
    }

    /// Adds a range, joined with those it touches.
    fn give(&mut self, addr: Addr, size: Bytes) {
        let (mut addr, mut size) = (addr, size);
        if let Some((below, length)) = self.by_addr.range(..addr).next_back().map(|(a, s)| (*a, *s))
            && below.offset(length) == addr
        {
            self.remove(below);
            (addr, size) = (below, size + length);
        }
        if let Some(length) = self.remove(addr.offset(size)) {
            size += length;
        }
        self.insert(addr, size);
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
            self.holes.give(addr, size);
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

//! The addresses that a driver gives: which part of the address space `cudaMalloc` answers with, and which is reserved.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use oomph_trace::{Addr, Bytes};

/// The driver takes address space from the system in multiples of this.
const CHUNK: Bytes = Bytes::mib(32);

/// Which unused range serves a request, of those that are long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The lowest; unused ranges of two chunks stay apart. Recordings of an H200 agree with this one more often.
    Lowest,
    /// The smallest, and the lowest of several; unused ranges join wherever they touch. The figures of all replays
    /// were made with it.
    Smallest,
}

/// A range of addresses, handed out in the pattern of NVIDIA's driver.
///
/// The pattern is not documented. In recordings of an H200 the driver takes chunks of 32 MiB, each below the one
/// before, and fills them from their beginning. Ranges that were given back are used again before another chunk is, and
/// before that what the context has left ([`AddressSpace::behind_a_context`]).
#[derive(Clone, Debug)]
pub struct AddressSpace {
    fit: Fit,
    range: Range<Addr>,
    /// Where each chunk begins.
    chunks: BTreeSet<Addr>,
    /// The unused ranges of all chunks, by address.
    holes: BTreeMap<Addr, Bytes>,
    /// The same ranges, by length.
    by_size: BTreeSet<(Bytes, Addr)>,
    /// What the first request of the smallest size gets.
    first: Option<Addr>,
}

/// The smallest segment that PyTorch asks for.
const SMALL: Bytes = Bytes::mib(2);

impl AddressSpace {
    /// All of `range` is unused; chunks are taken from its end downwards.
    pub const fn new(range: Range<Addr>, fit: Fit) -> AddressSpace {
        AddressSpace {
            fit,
            range,
            chunks: BTreeSet::new(),
            holes: BTreeMap::new(),
            by_size: BTreeSet::new(),
            first: None,
        }
    }

    /// With what a context leaves of the address space that it has taken: in 16 of 17 recordings of an H200 whose segments
    /// do not expand, 416 MiB, 6 MiB below them and 22 MiB above, 74 MiB apart. They are filled from their beginnings, but for
    /// the first segment of 2 MiB, which lies at the end of the 416.
    pub fn behind_a_context(mut self) -> AddressSpace {
        let Some(base) = self.range.end.0.checked_sub(Bytes::mib(512).0).map(Addr) else { return self };
        let below = |size: Bytes| Addr(base.0.saturating_sub(size.0));
        self.chunks.extend([base, below(CHUNK)]);
        self.insert(below(Bytes::mib(6)), Bytes::mib(6));
        self.insert(base, Bytes::mib(414));
        self.insert(base.offset(Bytes::mib(490)), Bytes::mib(22));
        self.first = Some(base.offset(Bytes::mib(414)));
        self
    }

    /// Whether an address is one of those that may be given.
    pub fn contains(&self, addr: Addr) -> bool {
        self.range.contains(&addr)
    }

    /// A range of `size` bytes; `None` when the address space is used up.
    pub fn take(&mut self, size: Bytes) -> Option<Addr> {
        if size == SMALL
            && let Some(first) = self.first.take()
        {
            return Some(first);
        }
        let mut fitting = self.by_size.range((size, Addr(0))..).copied();
        let hole = match self.fit {
            Fit::Lowest => fitting.min_by_key(|(_, addr)| *addr),
            Fit::Smallest => fitting.next(),
        };
        let (length, addr) = match hole {
            Some(hole) => hole,
            None => {
                let length = size.round_up(CHUNK);
                let bottom = self.chunks.first().unwrap_or(&self.range.end);
                let addr = bottom.0.checked_sub(length.0).map(Addr).filter(|addr| self.contains(*addr))?;
                self.chunks.insert(addr);
                (length, addr)
            }
        };
        self.remove(addr);
        self.insert(addr.offset(size), length - size);
        Some(addr)
    }

    /// Gives a range back.
    pub fn give(&mut self, addr: Addr, size: Bytes) {
        let (mut start, mut length) = (addr, size);
        if let Some((&below, &before)) = self.holes.range(..addr).next_back()
            && below.offset(before) == addr
            && self.joins_at(addr)
        {
            self.remove(below);
            (start, length) = (below, before + size);
        }
        let end = addr.offset(size);
        if self.joins_at(end) {
            length += self.remove(end);
        }
        self.insert(start, length);
    }

    /// Whether unused ranges on both sides of this address become one.
    fn joins_at(&self, addr: Addr) -> bool {
        self.fit == Fit::Smallest || !self.chunks.contains(&addr)
    }

    fn insert(&mut self, addr: Addr, size: Bytes) {
        if size > Bytes::ZERO {
            self.remove(addr);
            self.holes.insert(addr, size);
            self.by_size.insert((size, addr));
        }
    }

    /// Takes out the unused range at this address; its length is 0 if there is none.
    fn remove(&mut self, addr: Addr) -> Bytes {
        let Some(size) = self.holes.remove(&addr) else { return Bytes::ZERO };
        self.by_size.remove(&(size, addr));
        size
    }
}

/// Reserved address space, as `cuMemAddressReserve` gives it: it holds nothing until pages are mapped into it.
///
/// In recordings of an H200 each reservation begins with the chunk behind the one before. That what was given back is
/// reserved again, the lowest first, is assumed.
#[derive(Clone, Debug)]
pub struct Reservations {
    range: Range<Addr>,
    /// The length of each, by where it begins.
    lent: BTreeMap<Addr, Bytes>,
}

impl Reservations {
    /// None yet; they are made from the beginning of `range` upwards.
    pub const fn new(range: Range<Addr>) -> Reservations {
        Reservations { range, lent: BTreeMap::new() }
    }

    /// Reserves `size` bytes; `None` when the address space is used up.
    pub fn take(&mut self, size: Bytes) -> Option<Addr> {
        let mut at = self.range.start;
        for (start, length) in &self.lent {
            if at.0.checked_add(size.0)? <= start.0 {
                break;
            }
            at = start.offset(length.round_up(CHUNK));
        }
        let fits = at.0.checked_add(size.0)? <= self.range.end.0;
        fits.then(|| {
            self.lent.insert(at, size);
            at
        })
    }

    /// Gives back the reservation that begins here, if there is one.
    pub fn give(&mut self, addr: Addr) {
        self.lent.remove(&addr);
    }

    /// The reservation that this address lies in: where it begins, and its length.
    pub fn around(&self, addr: Addr) -> Option<(Addr, Bytes)> {
        let (start, length) = self.lent.range(..=addr).next_back()?;
        (addr < start.offset(*length)).then_some((*start, *length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_go_up_by_chunks_and_fill_what_was_given_back() {
        let mib = |mib: u64| Addr(mib << 20);
        let mut reserved = Reservations::new(mib(2)..mib(200));
        let taken = [20, 34, 2].map(|size| reserved.take(Bytes::mib(size)));
        assert_eq!(taken, [2, 34, 98].map(|at| Some(mib(at))));
        assert_eq!(reserved.around(mib(67)), Some((mib(34), Bytes::mib(34))));
        assert_eq!(reserved.around(mib(68)), None);
        reserved.give(mib(34));
        assert_eq!(reserved.take(Bytes::mib(65)), Some(mib(130)));
        assert_eq!(reserved.take(Bytes::mib(64)), Some(mib(34)));
        assert_eq!(reserved.take(Bytes::mib(32)), None);
        assert_eq!(reserved.take(Bytes(u64::MAX)), None);
    }

    /// Takes 20, 40, 12 and 26 MiB, gives all but the first back, and takes `wanted` MiB. Gives each request's distance
    /// from the end of the address space, in MiB.
    fn distances(fit: Fit, wanted: &[u64]) -> Vec<u64> {
        let end = Addr(1 << 40);
        let mut space = AddressSpace::new(Addr(0)..end, fit);
        let take = |space: &mut AddressSpace, mib: u64| space.take(Bytes::mib(mib)).expect("there is room");
        let held = [20, 40, 12, 26].map(|mib| (take(&mut space, mib), Bytes::mib(mib)));
        for (addr, size) in &held[1..] {
            space.give(*addr, *size);
        }
        let again = wanted.iter().map(|mib| take(&mut space, *mib));
        held.iter().map(|(addr, _)| *addr).chain(again).map(|addr| (end.0 - addr.0) >> 20).collect()
    }

    #[test]
    fn chunks_go_down_and_what_was_given_back_is_used_first() {
        // The chunks begin at 32, 96 and 128; 12 MiB lie behind the 20, and 26 take the chunk at 128.
        assert_eq!(distances(Fit::Smallest, &[]), [32, 96, 12, 128]);
        assert_eq!(distances(Fit::Lowest, &[]), [32, 96, 56, 128]);
        // The joined range from 128 to 32 is the only one with room for 70; apart, the two parts have none.
        assert_eq!(distances(Fit::Smallest, &[12, 70])[4..], [12, 128]);
        assert_eq!(distances(Fit::Lowest, &[12, 70])[4..], [128, 224]);
    }

    #[test]
    fn what_a_context_left_is_used_before_chunks_are_taken() {
        let base: u64 = 1 << 40;
        let mut space =
            AddressSpace::new(Addr(0)..Addr(base).offset(Bytes::mib(512)), Fit::Lowest).behind_a_context();
        let mut take =
            |mib| space.take(Bytes::mib(mib)).map(|addr| (addr.0.cast_signed() - base.cast_signed()) >> 20);
        // As GPT-2 was seen to ask, in part: from the beginning of the 416 MiB up, and then below.
        let taken = [2, 2, 148, 20, 200, 20, 20, 30, 32, 20].map(|mib| take(mib).unwrap_or(0));
        assert_eq!(taken, [414, -6, 0, 148, 168, 368, 388, -64, -96, 490]);
        assert_eq!(AddressSpace::new(Addr(0)..Addr(5), Fit::Lowest).behind_a_context().take(Bytes(6)), None);
    }

    #[test]
    fn an_address_space_runs_out() {
        let mut space = AddressSpace::new(Addr(1 << 20)..Addr(65 << 20), Fit::Lowest);
        assert_eq!(space.take(Bytes::mib(33)), Some(Addr(1 << 20)));
        assert_eq!(space.take(Bytes::mib(32)), None);
        assert_eq!(space.take(Bytes::mib(31)), Some(Addr(34 << 20)));
    }
}

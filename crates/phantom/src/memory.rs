//! The card's memory: addresses that nothing lies behind, counted to the byte.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::card::card;

/// Where the card's addresses begin and end: no process has anything mapped there, and none is given to it.
const BASE: u64 = 0x3000_0000_0000;
const END: u64 = 0x3f00_0000_0000;
/// What the driver hands memory out in.
const GRANULE: u64 = 2 << 20;
/// What the driver takes address space in. Of the first such chunk its context holds a quarter.
const CHUNK: u64 = 32 << 20;

/// What is handed out: length by address.
///
/// PyTorch decides between cached blocks of equal size by their address, so addresses follow the driver's pattern:
/// chunks from high to low, the rest of a chunk serving later requests, what was given back reused first.
struct Space {
    held: BTreeMap<u64, u64>,
    holes: BTreeMap<u64, u64>,
    by_length: BTreeSet<(u64, u64)>,
    bottom: u64,
    used: u64,
}

static SPACE: Mutex<Space> = Mutex::new(Space {
    held: BTreeMap::new(),
    holes: BTreeMap::new(),
    by_length: BTreeSet::new(),
    bottom: END,
    used: 0,
});

impl Space {
    /// An address for `length` bytes: in the smallest hole that holds them, else at the bottom.
    fn place(&mut self, length: u64) -> Option<u64> {
        if self.bottom == END {
            self.bottom -= CHUNK;
            self.dig(self.bottom + CHUNK / 4, CHUNK - CHUNK / 4);
        }
        let hole = self.by_length.range((length, 0)..).next().copied();
        let (whole, address) = match hole {
            Some((whole, address)) => {
                self.fill(address);
                (whole, address)
            }
            None => {
                let whole = length.checked_next_multiple_of(CHUNK)?;
                self.bottom = self.bottom.checked_sub(whole).filter(|bottom| *bottom >= BASE)?;
                (whole, self.bottom)
            }
        };
        if whole > length {
            self.dig(address + length, whole - length);
        }
        Some(address)
    }

    /// A range that is not lent from here on, joined with those it touches.
    fn dig(&mut self, mut address: u64, mut length: u64) {
        if let Some((below, size)) = self.holes.range(..address).next_back().map(|(at, size)| (*at, *size))
            && below + size == address
        {
            self.fill(below);
            (address, length) = (below, size + length);
        }
        if let Some(size) = self.fill(address + length) {
            length += size;
        }
        self.holes.insert(address, length);
        self.by_length.insert((length, address));
    }

    /// The hole at an address is one no more.
    fn fill(&mut self, address: u64) -> Option<u64> {
        let length = self.holes.remove(&address)?;
        self.by_length.remove(&(length, address));
        Some(length)
    }
}

fn space() -> MutexGuard<'static, Space> {
    // A thread that died while it held the lock left whole numbers behind: each change is one assignment.
    SPACE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes memory; `None` where the card has no more.
pub(crate) fn take(size: u64) -> Option<u64> {
    let length = size.max(1).checked_next_multiple_of(GRANULE)?;
    let mut space = space();
    let most = card().capacity.unwrap_or_else(|| card().total.saturating_sub(card().context));
    if length > most.saturating_sub(space.used) {
        return None;
    }
    let address = space.place(length)?;
    space.used += length;
    space.held.insert(address, length);
    Some(address)
}

/// Gives memory back; false where it is none of the card's.
pub(crate) fn give(address: u64) -> bool {
    let mut space = space();
    let Some(length) = space.held.remove(&address) else { return false };
    space.used -= length;
    space.dig(address, length);
    true
}

/// Free and total, as `cudaMemGetInfo` answers.
pub(crate) fn info() -> (usize, usize) {
    let total = card().total;
    let free = total.saturating_sub(card().context).saturating_sub(space().used);
    (free as usize, total as usize)
}

/// Whether an address is the card's.
pub(crate) fn is_of_the_card(address: u64) -> bool {
    (BASE..END).contains(&address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_counted_and_runs_out() {
        let (free, total) = info();
        assert_eq!(free, total);
        let first = take(1).expect("there is room");
        assert!(is_of_the_card(first));
        assert_eq!(info().0, total - (2 << 20));
        assert!(take(card().total).is_none());
        assert!(give(first));
        assert!(!give(first));
        assert_eq!(info().0, total);
    }

    #[test]
    fn addresses_go_down_by_chunks_and_gaps_are_used_first() {
        let mut space = Space {
            held: BTreeMap::new(),
            holes: BTreeMap::new(),
            by_length: BTreeSet::new(),
            bottom: END,
            used: 0,
        };
        let mut mib = |length: u64| (END - space.place(length << 20).expect("there is room")) >> 20;
        // The context's chunk has 24 MiB left, then chunks follow downwards.
        assert_eq!([mib(20), mib(20), mib(40), mib(12), mib(4), mib(2)], [24, 64, 128, 44, 4, 88]);
        space.dig(END - (128 << 20), 40 << 20);
        assert_eq!(space.holes.get(&(END - (128 << 20))), Some(&(40 << 20)), "{:?}", space.holes);
    }
}

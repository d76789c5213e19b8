//! The card's memory: addresses that nothing lies behind, counted to the byte.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::card::card;

/// Where the card's addresses begin and end: no process has anything mapped there, and none is given to it.
const BASE: u64 = 0x3000_0000_0000;
const END: u64 = 0x3f00_0000_0000;
/// What the driver hands memory out in.
const GRANULE: u64 = 2 << 20;

/// What addresses are reserved in. On a real card each reservation lies below the one before, and what is handed out
/// fills it from its beginning; PyTorch prefers the lower of two blocks of one size, so that is kept here.
const RESERVATION: u64 = 32 << 20;

/// What is handed out: length by address, and the reservations it lies in, newest last.
struct Space {
    held: BTreeMap<u64, u64>,
    reserved: Vec<Range<u64>>,
    used: u64,
}

static SPACE: Mutex<Space> = Mutex::new(Space { held: BTreeMap::new(), reserved: Vec::new(), used: 0 });

fn space() -> MutexGuard<'static, Space> {
    // A thread that died while it held the lock left whole numbers behind: each change is one assignment.
    SPACE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Space {
    /// The first gap of this length in a reservation.
    fn gap(&self, within: &Range<u64>, length: u64) -> Option<u64> {
        let mut from = within.start;
        for (address, held) in self.held.range(within.clone()) {
            if address - from >= length {
                break;
            }
            from = address + held;
        }
        (within.end.saturating_sub(from) >= length).then_some(from)
    }

    /// An address for this length: in the newest reservation with room, or in one below all others.
    fn address(&mut self, length: u64) -> Option<u64> {
        if let Some(address) = self.reserved.iter().rev().find_map(|within| self.gap(within, length)) {
            return Some(address);
        }
        let end = self.reserved.last().map_or(END, |last| last.start);
        let start =
            end.checked_sub(length.checked_next_multiple_of(RESERVATION)?).filter(|start| *start >= BASE)?;
        self.reserved.push(start..end);
        Some(start)
    }
}

/// Takes memory; `None` where the card has no more.
pub(crate) fn take(size: u64) -> Option<u64> {
    let length = size.max(1).checked_next_multiple_of(GRANULE)?;
    let mut space = space();
    let free = card().total.saturating_sub(card().context).saturating_sub(space.used);
    if length > free {
        return None;
    }
    let address = space.address(length)?;
    space.used += length;
    space.held.insert(address, length);
    Some(address)
}

/// Gives memory back; false where it is none of the card's.
pub(crate) fn give(address: u64) -> bool {
    let mut space = space();
    let Some(length) = space.held.remove(&address) else { return false };
    space.used -= length;
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
        let (beside, below) =
            (take(20 << 20).expect("there is room"), take(12 << 20).expect("there is room"));
        assert_eq!((beside - first, first - below), (2 << 20, 32 << 20));
        assert!(give(beside) && give(below));
        assert!(give(first));
        assert!(!give(first));
        assert_eq!(info().0, total);
    }
}

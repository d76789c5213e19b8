//! The card's memory: addresses with nothing behind them, counted to the byte.

use std::ops::Range;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use oomph_engine::device::Device;
use oomph_engine::simulated::SimulatedDevice;
use oomph_engine::space::{AddressSpace, Fit, Reservations};
use oomph_trace::{Addr, Bytes};

use crate::card::card;

/// The card's addresses: below the middle those that are reserved, above it those of memory that was taken. No process
/// has anything mapped there.
const ADDRESSES: Range<u64> = 0x2000_0000_0000..0x3f00_0000_0000;
const MIDDLE: u64 = 0x3000_0000_0000;

/// The card's memory, for one thread at a time.
pub(crate) fn memory() -> MutexGuard<'static, SimulatedDevice> {
    static MEMORY: LazyLock<Mutex<SimulatedDevice>> = LazyLock::new(|| {
        let capacity = card().capacity.unwrap_or_else(|| card().total.saturating_sub(card().context));
        let space = AddressSpace::new(Addr(MIDDLE)..Addr(ADDRESSES.end), Fit::Lowest).behind_a_context();
        let reserved = Reservations::new(Addr(ADDRESSES.start)..Addr(MIDDLE));
        Mutex::new(SimulatedDevice::new(Some(capacity)).with_total(card().total).with_space(space, reserved))
    });
    // Memory is only counted here, so it can still be used after a thread died while it held the lock.
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes memory; `None` where the card has no more.
pub(crate) fn take(size: u64) -> Option<u64> {
    memory().malloc(Bytes(size.max(1))).map(|addr| addr.0)
}

/// Gives memory back; false where nothing was taken at this address.
pub(crate) fn give(address: u64) -> bool {
    let mut memory = memory();
    let Some(length) = memory.length_at(Addr(address)) else { return false };
    memory.free(Addr(address), length);
    true
}

/// Free and total, as `cudaMemGetInfo` answers.
pub(crate) fn info() -> (usize, usize) {
    let card = card();
    let free = card.total.saturating_sub(card.context).saturating_sub(memory().used());
    (free.0 as usize, card.total.0 as usize)
}

/// Whether an address is the card's.
pub(crate) fn is_of_the_card(address: u64) -> bool {
    ADDRESSES.contains(&address)
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
        assert!(take(card().total.0).is_none());
        let (second, third) =
            (take(20 << 20).expect("there is room"), take(12 << 20).expect("there is room"));
        // As an H200's driver was seen to do it: the first 2 MiB at the end of what the context left.
        assert_eq!((first - second, third - second), (414 << 20, 20 << 20));
        assert!(give(second) && give(third));
        assert!(give(first));
        assert!(!give(first));
        assert_eq!(info().0, total);
    }
}

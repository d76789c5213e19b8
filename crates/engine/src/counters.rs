//! The four counters of an allocator and their peaks.

use oomph_trace::{Bytes, EventIdx};

/// What an allocator holds at one moment. Always: requested ≤ active, allocated ≤ active ≤ reserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes the program asked for, over all active blocks.
    pub requested: Bytes,
    /// Bytes of blocks that serve an allocation.
    pub allocated: Bytes,
    /// The same and those whose free waits for another stream.
    pub active: Bytes,
    /// Bytes held from the driver.
    pub reserved: Bytes,
}

impl Counters {
    /// Held from the driver and not in use.
    pub fn cached(&self) -> Bytes {
        self.reserved - self.active
    }

    /// Bytes lost to rounding and to not splitting.
    pub fn slack(&self) -> Bytes {
        self.active - self.requested
    }
}

/// The greatest value of one counter, at the first event that reached it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// The value.
    pub bytes: Bytes,
    /// Where it was first reached.
    pub at: EventIdx,
}

impl Peak {
    fn raise(&mut self, bytes: Bytes, at: EventIdx) {
        if bytes > self.bytes {
            *self = Peak { bytes, at };
        }
    }
}

/// The peaks of the four counters; each may be reached at another event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peaks {
    /// Of [`Counters::requested`].
    pub requested: Peak,
    /// Of [`Counters::allocated`].
    pub allocated: Peak,
    /// Of [`Counters::active`].
    pub active: Peak,
    /// Of [`Counters::reserved`].
    pub reserved: Peak,
}

impl Peaks {
    /// Takes over what is greater in `counters`.
    pub(crate) fn raise(&mut self, counters: &Counters, at: EventIdx) {
        self.requested.raise(counters.requested, at);
        self.allocated.raise(counters.allocated, at);
        self.active.raise(counters.active, at);
        self.reserved.raise(counters.reserved, at);
    }
}

/// Things that happen to an allocator under pressure, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests for which the whole cache was dropped before the driver was asked again.
    pub retries: u64,
    /// Requests that failed.
    pub ooms: u64,
    /// Calls of the driver that hand memory out: `cudaMalloc`, or a mapping of pages.
    pub driver_grows: u64,
    /// Calls of the driver that take memory back.
    pub driver_shrinks: u64,
}

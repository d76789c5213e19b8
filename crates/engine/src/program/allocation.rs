//! An allocation: one granted request, from then until its memory may serve others.

use oomph_trace::{Addr, Bytes, EventIdx};

use crate::torch::Request;
use crate::torch::block::{OwnerIdx, StreamIdx};

/// Which allocation of a program; addresses are reused, this is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AllocId(pub u32);

impl AllocId {
    /// Its place in [`Program::allocations`](super::Program::allocations).
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One granted request. It lives `[born, died)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// What was asked for.
    pub size: Bytes,
    /// Where the recording placed it.
    pub addr: Addr,
    /// The stream it was asked for.
    pub stream: StreamIdx,
    /// Whose pool it came from.
    pub owner: OwnerIdx,
    born: u32,
    freed: u32,
    died: u32,
}

/// Stands for an event that is not in the recording. There are as many allocations as requests, so they are small.
const NEVER: u32 = u32::MAX;

impl Allocation {
    /// An allocation that is never freed; `born` is `None` where it was there before the first event.
    pub(super) fn new(request: Request, addr: Addr, born: Option<EventIdx>) -> Allocation {
        let Request { size, stream, owner } = request;
        Allocation {
            size,
            addr,
            stream,
            owner,
            born: born.map_or(NEVER, |event| event.0),
            freed: NEVER,
            died: NEVER,
        }
    }

    /// The event that granted it; `None`: it was there before the first.
    pub fn born(&self) -> Option<EventIdx> {
        known(self.born)
    }

    /// The event by which the program gave it back; `None`: it did not. A free that waits for no other stream counts
    /// when it is complete.
    pub fn freed(&self) -> Option<EventIdx> {
        known(self.freed)
    }

    /// The event from which on its memory may serve others; `None`: none. It is later than [`Allocation::freed`] where
    /// another stream still used it.
    pub fn died(&self) -> Option<EventIdx> {
        known(self.died)
    }

    /// What the program asked for, to ask for it again.
    pub fn request(&self) -> Request {
        Request { size: self.size, stream: self.stream, owner: self.owner }
    }

    /// The program gives it back.
    pub(super) fn free(&mut self, event: EventIdx) {
        self.freed = self.freed.min(event.0);
    }

    /// Its memory may serve others.
    pub(super) fn end(&mut self, event: EventIdx) {
        self.free(event);
        self.died = event.0;
    }
}

fn known(event: u32) -> Option<EventIdx> {
    (event != NEVER).then_some(EventIdx(event))
}

//! How far what a job holds depends on where the driver puts its segments.
//!
//! Up to PyTorch 2.11 the address decides which of two free blocks of the same size is taken, and so which segment gets a
//! hole that a later request fits into or not. No document says where a driver puts memory, and cards and versions differ.
//! A replay with memory put elsewhere shows what hangs on it.
//!
//! The same for workspaces whose size is known only nearly: one that is a little larger may not fit into a hole that the
//! other fits into, so what is held may differ by far more than the workspaces do. A replay with other sizes shows that.

use std::collections::BTreeMap;

use oomph_engine::device::Device;
use oomph_engine::program::Program;
use oomph_engine::recording::Recording;
use oomph_engine::replay::{OnFailure, Run, Start};
use oomph_engine::simulated::SimulatedDevice;
use oomph_trace::sidecar::Doubt;
use oomph_trace::{Addr, Bytes};

/// Operations that are replayed in all; the fewer a recording has, the more ways are tried.
const OPERATIONS: usize = 4_000_000;
/// The fewest and the most ways in which segments are scattered.
const FEWEST: usize = 8;
const MOST: usize = 200;

/// A workspace is given back at once: so many events after it was asked for, at most.
const BRIEF: u32 = 16;
/// Into how many steps the range of a size is divided.
const SHARES: u64 = 16;

/// A way to put segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Each above the one before.
    Up,
    /// Each below the one before.
    Down,
    /// Each anywhere: the number tells one such order from another.
    Scattered(u32),
}

/// The ways that are tried for a recording.
pub fn ways(recording: &Recording) -> Vec<Way> {
    let count = (OPERATIONS / recording.program.ops.len().max(1)).clamp(FEWEST, MOST);
    [Way::Up, Way::Down].into_iter().chain((0..count as u32).map(Way::Scattered)).collect()
}

/// What is held at the peak with segments put this way.
pub fn held(recording: &Recording, way: Way) -> Bytes {
    held_by(&recording.program, recording, way)
}

/// The same with workspaces of other sizes: of the `turn`s 0 and 1 the least and the greatest that each may have, of the
/// others any between.
pub fn held_nearly(recording: &Recording, doubts: &[Doubt], way: Way, turn: u32) -> Bytes {
    let mut program = Program::clone(&recording.program);
    for allocation in &mut program.allocations {
        let lives = allocation.born().zip(allocation.died()).map(|(born, died)| died.0 - born.0);
        if lives.is_none_or(|events| events > BRIEF) {
            continue;
        }
        if let Ok(place) = doubts.binary_search_by_key(&allocation.size.0, |doubt| doubt.bytes) {
            let Doubt { bytes, by } = doubts[place];
            let share = match turn {
                0 => 0,
                1 => SHARES,
                turn => mixed(u64::from(turn) << 32 ^ bytes) % (SHARES + 1),
            };
            let least = bytes.saturating_sub(by);
            let range = u128::from(bytes.saturating_add(by) - least);
            let more = range * u128::from(share) / u128::from(SHARES);
            allocation.size = Bytes((least + u64::try_from(more).unwrap_or(0)).max(1));
        }
    }
    held_by(&program, recording, way)
}

fn held_by(program: &Program, recording: &Recording, way: Way) -> Bytes {
    let device =
        Placed { inner: SimulatedDevice::new(None), way, next: MIDDLE, given: 0, lent: BTreeMap::new() };
    let mut run = Run::new(program, &recording.setup, device, Start::MadeAgain);
    run.run_to_end(OnFailure::FollowRecording);
    run.outcome().peaks.reserved.bytes
}

/// Far from what is reserved, and from both ends.
const MIDDLE: Addr = Addr(1 << 60);

/// Room for one segment in a scattered order, and how many such rooms there are.
const ROOM: u64 = 1 << 43;
const ROOMS: u64 = 1 << 16;

/// A device that never gives an address again, but for the rare case that two scattered segments get one room.
#[derive(Clone, Debug)]
struct Placed {
    /// Counts what is held, and does all that has to do with reserved address space.
    inner: SimulatedDevice,
    way: Way,
    next: Addr,
    /// How many segments were given.
    given: u64,
    /// By the address that was given, the one that the inner device knows.
    lent: BTreeMap<Addr, Addr>,
}

impl Placed {
    /// The next of the rooms in this order that is free.
    fn free_room(&mut self, order: u64) -> Option<Addr> {
        (0..ROOMS).find_map(|_| {
            self.given += 1;
            let room = Addr(mixed(order << 32 | self.given) % ROOMS * ROOM + ROOM);
            (!self.lent.contains_key(&room)).then_some(room)
        })
    }
}

/// A number that looks like chance, and is always the same (the finisher of SplitMix64).
fn mixed(number: u64) -> u64 {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Device for Placed {
    fn malloc(&mut self, size: Bytes) -> Option<Addr> {
        let inner = self.inner.malloc(size)?;
        let given = match self.way {
            Way::Up => self.next,
            Way::Down => Addr(self.next.0.checked_sub(size.0)?),
            Way::Scattered(number) => self.free_room(u64::from(number))?,
        };
        self.next = if self.way == Way::Up { given.offset(size) } else { given };
        self.lent.insert(given, inner);
        Some(given)
    }

    fn free(&mut self, addr: Addr, size: Bytes) {
        if let Some(inner) = self.lent.remove(&addr) {
            self.inner.free(inner, size);
        }
    }

    fn reserve(&mut self, size: Bytes) -> Option<Addr> {
        self.inner.reserve(size)
    }

    fn unreserve(&mut self, addr: Addr, size: Bytes) {
        self.inner.unreserve(addr, size);
    }

    fn map(&mut self, addr: Addr, size: Bytes) -> bool {
        self.inner.map(addr, size)
    }

    fn unmap(&mut self, addr: Addr, size: Bytes) {
        self.inner.unmap(addr, size);
    }

    fn total(&self) -> Bytes {
        self.inner.total()
    }
}

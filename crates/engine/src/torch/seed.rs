//! Starting from a state other than the empty one: what a recording found when it began.

use oomph_trace::{Addr, Bytes};

use super::Torch;
use super::block::{Backing, Block, BlockId, OwnerIdx, Segment, State, StreamIdx};
use crate::device::Device;

/// A segment that exists before the first event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedSegment {
    /// Where it begins.
    pub addr: Addr,
    /// The stream it serves.
    pub stream: StreamIdx,
    /// Its owner.
    pub owner: OwnerIdx,
    /// Whether it serves requests of up to 1 MiB.
    pub small: bool,
    /// Whether it is a mapped run of an expandable segment.
    pub expandable: bool,
    /// Where the address space of that segment begins, as far as it is known; else where the run does.
    pub space: Addr,
    /// Its blocks, by address; they tile it.
    pub blocks: Vec<SeedBlock>,
}

impl SeedSegment {
    /// How long it is.
    pub fn size(&self) -> Bytes {
        self.blocks.iter().map(|block| block.size).sum()
    }
}

/// A block that exists before the first event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeedBlock {
    /// How long it is.
    pub size: Bytes,
    /// What was asked for; nothing for a free block.
    pub requested: Bytes,
    /// What it is; never [`State::Unmapped`].
    pub state: State,
}

impl<D: Device> Torch<D> {
    /// Takes over segments that the driver has lent already, sorted by address. Gives the id of every block that is
    /// not free, in the order of `seeds`.
    ///
    /// The runs of one owner, class and stream belong to one expandable segment.
    pub fn seed(&mut self, seeds: &[SeedSegment]) -> Vec<BlockId> {
        let mut ids = vec![Vec::new(); seeds.len()];
        let mut done = vec![false; seeds.len()];
        for first in 0..seeds.len() {
            if done[first] {
                continue;
            }
            let seed = &seeds[first];
            let runs: Vec<usize> = if seed.expandable {
                let of = |seed: &SeedSegment| (seed.expandable, seed.owner, seed.small, seed.stream);
                (first..seeds.len()).filter(|other| of(&seeds[*other]) == of(seed)).collect()
            } else {
                vec![first]
            };
            let page = self.page(seed.small);
            let last = &seeds[*runs.last().unwrap_or(&first)];
            let base = if seed.expandable { seed.space.min(seed.addr) } else { seed.addr };
            let reach = last.addr.offset(last.size()).distance_from(base).unwrap_or_default();
            let (size, backing) = if seed.expandable {
                (self.address_space(page).max(reach.round_up(page)), Backing::Expandable { page })
            } else {
                (seed.size(), Backing::Fixed)
            };
            let segment = self.segments.add(Segment {
                addr: base,
                size,
                stream: seed.stream,
                owner: seed.owner,
                small: seed.small,
                backing,
                made_after: Bytes::ZERO,
            });
            let mut at = Bytes::ZERO;
            let mut prev = None;
            for run in runs {
                done[run] = true;
                let begins = seeds[run].addr.distance_from(base).unwrap_or_default();
                if begins > at {
                    prev =
                        Some(self.seed_block(prev, Block::unmapped(base.offset(at), begins - at, segment)));
                    at = begins;
                }
                for block in &seeds[run].blocks {
                    let entry = Block {
                        requested: block.requested,
                        state: block.state,
                        ..Block::free(base.offset(at), block.size, segment)
                    };
                    let id = self.seed_block(prev, entry);
                    if block.state != State::Free {
                        ids[run].push(id);
                    }
                    prev = Some(id);
                    at += block.size;
                }
            }
            if at < size {
                self.seed_block(prev, Block::unmapped(base.offset(at), size - at, segment));
            }
        }
        self.peaks.raise(&self.counters, self.now);
        ids.into_iter().flatten().collect()
    }

    fn seed_block(&mut self, prev: Option<BlockId>, block: Block) -> BlockId {
        let id = self.insert_between(prev, None, block);
        let Block { size, requested, state, .. } = block;
        match state {
            State::Unmapped => {
                self.insert_unmapped(id);
                return id;
            }
            State::Free => self.insert_free(id),
            State::Allocated => self.counters.allocated += size,
            State::PendingFree => self.pending.push(id),
        }
        self.counters.reserved += size;
        if state != State::Free {
            self.counters.active += size;
            self.counters.requested += requested;
        }
        id
    }
}

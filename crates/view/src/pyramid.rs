//! Memory in use and memory held, per power of two of time.
//!
//! A bucket of level `l` stands for `2^l` slots. It keeps the least and the greatest of what was in use and of what was
//! held, and the groups at the slot with the most in use: a picture made of buckets shows moments that were, never sums of
//! different ones. Levels below [`Pyramid::base`] are made when they are asked for.

use std::ops::Range;

use oomph_trace::Bytes;

use crate::groups::{GROUPS, Groups, Part, Ranks};
use crate::lives::{Lives, Turn};

/// Buckets in one tile.
pub const TILE: u32 = 512;
/// Buckets that are kept at the lowest level, at most.
const KEPT: u32 = 1 << 16;
const SUMS: usize = GROUPS * Part::ALL.len();

/// One bucket.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    /// The first slot with the most in use.
    pub at: u32,
    /// The least and the greatest in use.
    pub active: (Bytes, Bytes),
    /// The least and the greatest held.
    pub reserved: (Bytes, Bytes),
    /// By part and group, at that slot.
    sums: [Bytes; SUMS],
}

impl Bucket {
    /// What the groups of a part had in use at [`Bucket::at`].
    pub fn groups(&self, part: Part) -> &[Bytes] {
        &self.sums[part as usize * GROUPS..][..GROUPS]
    }

    fn join(self, later: &Bucket) -> Bucket {
        let most = if later.active.1 > self.active.1 { later } else { &self };
        Bucket {
            at: most.at,
            sums: most.sums,
            active: (self.active.0.min(later.active.0), self.active.1.max(later.active.1)),
            reserved: (self.reserved.0.min(later.reserved.0), self.reserved.1.max(later.reserved.1)),
        }
    }
}

/// What a pyramid is made of, beside the lives.
#[derive(Clone, Copy, Debug)]
pub struct Counted<'a> {
    /// The names of every allocation.
    pub groups: &'a Groups,
    /// The groups of the names.
    pub ranks: &'a Ranks,
    /// The lives.
    pub lives: &'a Lives,
    /// Which allocations count, by id; `None`: all.
    pub only: Option<&'a [bool]>,
}

/// All levels.
#[derive(Clone, Debug)]
pub struct Pyramid {
    slots: u32,
    base: u32,
    /// From the base level up; the last has one bucket.
    levels: Vec<Vec<Bucket>>,
    /// The state before each bucket of the base level, and the places of the next turns.
    checkpoints: Vec<State>,
    /// Changes of what is held, in order: the slot and the bytes from then on.
    held: Vec<(u32, Bytes)>,
}

/// The sums at a moment, and how many turns and changes of what is held lie before it.
#[derive(Clone, Copy, Debug)]
struct State {
    active: Bytes,
    sums: [Bytes; SUMS],
    turns: usize,
    held: usize,
}

impl Pyramid {
    /// The level whose buckets are kept; below it they are made on demand.
    pub fn base(&self) -> u32 {
        self.base
    }

    /// The highest level that has more than one tile's share of buckets, or 0.
    pub fn top(&self) -> u32 {
        (0..32).find(|level| buckets_of(self.slots, *level) <= TILE).unwrap_or(31)
    }

    /// Goes over all turns once.
    pub fn of(counted: &Counted<'_>) -> Pyramid {
        let slots = counted.lives.slots;
        let base = (0..32).find(|level| buckets_of(slots, *level) <= KEPT).unwrap_or(31);
        let held = held(counted.lives);
        let mut state = State { active: Bytes::ZERO, sums: [Bytes::ZERO; SUMS], turns: 0, held: 0 };
        let count = buckets_of(slots, base);
        let (mut buckets, mut checkpoints) = (Vec::with_capacity(count as usize), Vec::new());
        for number in 0..count {
            checkpoints.push(state);
            let from = number << base;
            buckets.push(state.bucket(counted, &held, from..(from + (1 << base)).min(slots)));
        }
        let mut levels = vec![buckets];
        while let Some(last) = levels.last().filter(|last| last.len() > 1) {
            let above = last.chunks(2).map(|pair| pair[1..].iter().fold(pair[0], Bucket::join));
            levels.push(above.collect());
        }
        Pyramid { slots, base, levels, checkpoints, held }
    }

    /// The buckets of one tile; empty outside of the recording.
    pub fn tile(&self, counted: &Counted<'_>, level: u32, tile: u32) -> Vec<Bucket> {
        let count = buckets_of(self.slots, level.min(31));
        let from = tile.saturating_mul(TILE).min(count);
        let to = from.saturating_add(TILE).min(count);
        if level >= self.base {
            let level = self.levels.get((level - self.base) as usize);
            return level.map_or_else(Vec::new, |level| level[from as usize..to as usize].to_vec());
        }
        if from == to {
            return Vec::new();
        }
        let first = from << level;
        let checkpoint = (first >> self.base) as usize;
        let mut state = self.checkpoints[checkpoint];
        let begin = (checkpoint as u32) << self.base;
        if begin < first {
            state.bucket(counted, &self.held, begin..first);
        }
        (from..to)
            .map(|number| {
                let from = number << level;
                state.bucket(counted, &self.held, from..(from + (1 << level)).min(self.slots))
            })
            .collect()
    }

    /// What is in use and held right after an event: of its slot.
    pub fn at(&self, counted: &Counted<'_>, slot: u32) -> Option<Bucket> {
        let tile = self.tile(counted, 0, slot / TILE);
        tile.get((slot % TILE) as usize).copied()
    }
}

/// How many buckets a level has.
fn buckets_of(slots: u32, level: u32) -> u32 {
    slots.div_ceil(1 << level)
}

/// What is held, wherever it changes.
fn held(lives: &Lives) -> Vec<(u32, Bytes)> {
    let mut changes: Vec<(u32, bool, Bytes)> = Vec::with_capacity(lives.extents.len() * 2);
    for extent in &lives.extents {
        changes.push((extent.from, true, extent.size));
        changes.push((extent.to, false, extent.size));
    }
    // In one slot what is added comes first, so that no sum falls below nothing.
    changes.sort_by_key(|(slot, grows, _)| (*slot, !grows));
    let mut now = Bytes::ZERO;
    let mut held: Vec<(u32, Bytes)> = Vec::new();
    for (slot, grows, size) in changes {
        now = if grows { now + size } else { now.saturating_sub(size) };
        match held.last_mut().filter(|last| last.0 == slot) {
            Some(last) => last.1 = now,
            None => held.push((slot, now)),
        }
    }
    held
}

impl State {
    fn take(&mut self, counted: &Counted<'_>, turn: &Turn) {
        let id = turn.id.index();
        if counted.only.is_some_and(|only| !only[id]) {
            return;
        }
        let life = &counted.lives.of[id];
        let rounding = life.size.saturating_sub(life.requested);
        let change = |sum: &mut Bytes, size: Bytes| {
            *sum = if turn.born { *sum + size } else { sum.saturating_sub(size) };
        };
        change(&mut self.active, life.size);
        for part in Part::ALL.iter().copied() {
            let number = counted.groups.parts[part as usize].of[id] as usize;
            let group = counted.ranks.group[part as usize][number] as usize;
            let sums = &mut self.sums[part as usize * GROUPS..][..GROUPS];
            if part == Part::Class {
                change(&mut sums[group], life.size - rounding);
                change(&mut sums[counted.ranks.rounding as usize], rounding);
            } else {
                change(&mut sums[group], life.size);
            }
        }
    }

    /// Goes through these slots, one after another.
    fn bucket(&mut self, counted: &Counted<'_>, held: &[(u32, Bytes)], slots: Range<u32>) -> Bucket {
        let turns = &counted.lives.turns;
        let mut bucket: Option<Bucket> = None;
        let mut slot = slots.start;
        while slot < slots.end {
            while let Some(turn) = turns.get(self.turns).filter(|turn| turn.slot <= slot) {
                self.take(counted, turn);
                self.turns += 1;
            }
            while held.get(self.held).is_some_and(|change| change.0 <= slot) {
                self.held += 1;
            }
            let reserved = self.held.checked_sub(1).map_or(Bytes::ZERO, |last| held[last].1);
            let one = |at, state: &State| Bucket {
                at,
                active: (state.active, state.active),
                reserved: (reserved, reserved),
                sums: state.sums,
            };
            match &mut bucket {
                None => bucket = Some(one(slot, self)),
                Some(found) => {
                    if self.active > found.active.1 {
                        (found.at, found.active.1, found.sums) = (slot, self.active, self.sums);
                    }
                    found.active.0 = found.active.0.min(self.active);
                    found.reserved.0 = found.reserved.0.min(reserved);
                    found.reserved.1 = found.reserved.1.max(reserved);
                }
            }
            // Nothing changes before the next turn.
            let next = turns.get(self.turns).map_or(u32::MAX, |turn| turn.slot);
            let next = next.min(held.get(self.held).map_or(u32::MAX, |change| change.0));
            slot = next.max(slot + 1);
        }
        let none = Bucket {
            at: slots.start,
            active: Default::default(),
            reserved: Default::default(),
            sums: [Bytes::ZERO; SUMS],
        };
        bucket.unwrap_or(none)
    }
}

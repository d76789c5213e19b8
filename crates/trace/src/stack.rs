//! Interned call stacks. A million events share a few thousand of them.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::slots::{Seed, Slots};
use crate::text::TextId;

/// One line of a call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The source file.
    pub file: TextId,
    /// The function.
    pub function: TextId,
    /// The line, counted from 1; 0 where there is none (C++ frames).
    pub line: u32,
}

/// A frame of a [`Stacks`] table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(pub u32);

/// A call stack of a [`Stacks`] table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(pub u32);

/// Frames and the stacks made of them, each stack kept once, innermost frame first.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    frames: Vec<Frame>,
    /// All stacks' frames, one after another.
    members: Vec<FrameId>,
    /// Where each stack's frames end in `members`.
    ends: Vec<u32>,
    slots: Slots,
}

impl Stacks {
    /// Adds a frame. Frames are not deduplicated here: the writer of a snapshot has done that.
    pub fn add_frame(&mut self, frame: Frame) -> FrameId {
        let id = FrameId(u32::try_from(self.frames.len()).expect("fewer than 2^32 frames fit in memory"));
        self.frames.push(frame);
        id
    }

    /// The frame behind `id`.
    pub fn frame(&self, id: FrameId) -> &Frame {
        &self.frames[id.0 as usize]
    }

    /// How many frames there are.
    pub fn frame_count(&self) -> usize {
        self.frames.len()
    }

    /// The id of this stack. It is added if it is not there.
    pub fn intern(&mut self, frames: &[FrameId]) -> StackId {
        self.try_intern(frames).expect("stacks hold fewer than 2^32 frames in all")
    }

    /// Like [`Stacks::intern`], but `None` if the table is full. Only foreign bytes can fill it.
    pub(crate) fn try_intern(&mut self, frames: &[FrameId]) -> Option<StackId> {
        let count = self.ends.len();
        let (members, ends) = (&self.members, &self.ends);
        let get = |index: u32| get(members, ends, index as usize);
        let hash_of = |index: Option<u32>, seed| hash(index.map_or(frames, get), seed);
        match self.slots.find(count, hash_of, |index| get(index) == frames) {
            Ok(index) => Some(StackId(index)),
            Err(slot) => {
                let index = u32::try_from(count).ok().filter(|&index| index < u32::MAX)?;
                let end = u32::try_from(self.members.len() + frames.len()).ok()?;
                self.members.extend_from_slice(frames);
                self.ends.push(end);
                self.slots.fill(slot, index);
                Some(StackId(index))
            }
        }
    }

    /// The frames of a stack, innermost first.
    pub fn frames_of(&self, id: StackId) -> &[FrameId] {
        get(&self.members, &self.ends, id.0 as usize)
    }

    /// How many stacks there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no stacks.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How many frames all stacks have together.
    pub(crate) fn member_count(&self) -> usize {
        self.members.len()
    }
}

fn get<'a>(members: &'a [FrameId], ends: &[u32], index: usize) -> &'a [FrameId] {
    let start = if index == 0 { 0 } else { ends[index - 1] as usize };
    &members[start..ends[index] as usize]
}

#[inline]
fn hash(frames: &[FrameId], seed: Seed) -> u64 {
    let quick = || {
        let mut hasher = FxHasher::default();
        frames.iter().for_each(|frame| frame.0.hash(&mut hasher));
        hasher.finish()
    };
    seed.hash(quick, |hasher| frames.iter().for_each(|frame| hasher.write_u32(frame.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_get_one_id_however_many_there_are() {
        let mut stacks = Stacks::default();
        let ids: Vec<StackId> =
            (0..5000u32).map(|n| stacks.intern(&[FrameId(n), FrameId(n / 7), FrameId(3)])).collect();
        assert_eq!(stacks.len(), 5000);
        for (n, id) in (0..5000u32).zip(ids) {
            assert_eq!(stacks.intern(&[FrameId(n), FrameId(n / 7), FrameId(3)]), id);
            assert_eq!(stacks.frames_of(id), [FrameId(n), FrameId(n / 7), FrameId(3)]);
        }
    }

    #[test]
    fn the_empty_stack_is_a_stack() {
        let mut stacks = Stacks::default();
        let empty = stacks.intern(&[]);
        assert_eq!(stacks.intern(&[]), empty);
        assert!(stacks.frames_of(empty).is_empty());
    }
}

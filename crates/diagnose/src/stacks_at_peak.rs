//! What was in use at the peak, by the whole stack that asked for it: what a flame graph shows.

use std::collections::BTreeMap;

use oomph_engine::recording::Recording;
use oomph_trace::{Bytes, Snapshot, StackId};

use crate::place::{Places, shown};

/// A stack and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldStack {
    /// Its frames as people name them, `forward (model.py:31)`, outermost first; one that says so where none was recorded.
    pub frames: Vec<String>,
    /// What it holds, in blocks.
    pub bytes: Bytes,
    /// In how many allocations.
    pub count: usize,
}

/// What stands for memory whose stack was not recorded.
pub const NO_STACK: &str = "[no stack recorded]";

/// The stacks that hold memory at the peak of what was in use, most first. They add up to that peak.
pub fn of(recording: &Recording) -> Vec<HeldStack> {
    let places = Places::new(recording);
    let mut run = recording.run();
    run.advance_to(recording.peaks.active.at);
    let mut sums: BTreeMap<Vec<String>, (Bytes, usize)> = BTreeMap::new();
    let mut names: BTreeMap<Option<StackId>, Vec<String>> = BTreeMap::new();
    for (_, allocation, block) in run.live() {
        let stack = places.stack_of(allocation);
        let frames = names.entry(stack).or_insert_with(|| frames(&recording.snapshot, stack));
        let (bytes, count) = sums.entry(frames.clone()).or_default();
        (*bytes, *count) = (*bytes + block.size, *count + 1);
    }
    let held = sums.into_iter().map(|(frames, (bytes, count))| HeldStack { frames, bytes, count });
    let mut held: Vec<HeldStack> = held.collect();
    held.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.frames.cmp(&b.frames)));
    held
}

/// The frames of a stack, outermost first.
pub fn frames(snapshot: &Snapshot, stack: Option<StackId>) -> Vec<String> {
    let members = stack.map_or(&[][..], |stack| snapshot.stacks.frames_of(stack));
    let mut frames: Vec<String> = shown(snapshot, members)
        .map(|(file, line, function)| {
            let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
            format!("{function} ({name}:{line})")
        })
        .collect();
    frames.reverse();
    if frames.is_empty() {
        frames.push(NO_STACK.to_owned());
    }
    frames
}

//! Memory in use at one moment by the calls that led to it, and by module.

use std::collections::BTreeMap;

use oomph_diagnose::classes::Class;
use oomph_engine::program::AllocId;
use oomph_engine::recording::Recording;
use oomph_trace::{Bytes, FrameId};

use crate::groups::{Groups, Part};
use crate::lives::Lives;

/// Calls that hold less than one part in so many of all are joined.
const FINEST: u64 = 4000;

/// A call and what was asked for below it, in the order of a walk from the outermost on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// How many calls are around it.
    pub depth: u32,
    /// The frame; `None`: what is too little to be shown, or has no stack.
    pub frame: Option<FrameId>,
    /// What was asked for in it and below.
    pub bytes: Bytes,
    /// In how many blocks.
    pub blocks: u64,
}

#[derive(Default)]
struct Node {
    bytes: Bytes,
    blocks: u64,
    below: BTreeMap<FrameKey, Node>,
}

/// Frames are equal if they show the same.
type FrameKey = (String, u32, String);

/// The calls behind what is in use in a slot, largest first.
pub fn at(recording: &Recording, groups: &Groups, lives: &Lives, slot: u32) -> Vec<Call> {
    let snapshot = &recording.snapshot;
    let mut by_stack: BTreeMap<Option<oomph_trace::StackId>, (Bytes, u64)> = BTreeMap::new();
    for (life, stack) in lives.of.iter().zip(&groups.stacks).filter(|(life, _)| life.holds(slot)) {
        let sum = by_stack.entry(*stack).or_default();
        *sum = (sum.0 + life.size, sum.1 + 1);
    }
    let mut root = Node::default();
    let mut frames: BTreeMap<FrameKey, FrameId> = BTreeMap::new();
    for (stack, (bytes, blocks)) in by_stack {
        let mut node = &mut root;
        let add = |node: &mut Node| (node.bytes, node.blocks) = (node.bytes + bytes, node.blocks + blocks);
        add(node);
        for id in stack.map_or(&[][..], |stack| snapshot.stacks.frames_of(stack)).iter().rev() {
            let frame = snapshot.stacks.frame(*id);
            let text = |id| snapshot.texts.get(id).to_owned();
            let key = (text(frame.file), frame.line, text(frame.function));
            frames.entry(key.clone()).or_insert(*id);
            node = node.below.entry(key).or_default();
            add(node);
        }
    }
    let least = Bytes(root.bytes.0 / FINEST);
    let mut calls = vec![Call { depth: 0, frame: None, bytes: root.bytes, blocks: root.blocks }];
    walk(&root, 1, least, &frames, &mut calls);
    calls
}

fn walk(node: &Node, depth: u32, least: Bytes, frames: &BTreeMap<FrameKey, FrameId>, calls: &mut Vec<Call>) {
    let mut below: Vec<(&FrameKey, &Node)> = node.below.iter().collect();
    below.sort_by(|a, b| b.1.bytes.cmp(&a.1.bytes).then_with(|| a.0.cmp(b.0)));
    let (mut bytes, mut blocks) = (Bytes::ZERO, 0);
    for (key, child) in below {
        if child.bytes < least {
            (bytes, blocks) = (bytes + child.bytes, blocks + child.blocks);
            continue;
        }
        let frame = frames.get(key).copied();
        calls.push(Call { depth, frame, bytes: child.bytes, blocks: child.blocks });
        walk(child, depth + 1, least, frames, calls);
    }
    if blocks > 0 {
        calls.push(Call { depth, frame: None, bytes, blocks });
    }
}

/// A module, a line in it, or a class on that line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// 0: a module; 1: a line; 2: a class.
    pub depth: u32,
    /// Its name.
    pub name: String,
    /// What it has in use.
    pub bytes: Bytes,
    /// In how many blocks.
    pub blocks: u64,
}

/// What is in use in a slot by module, line and class, largest first.
pub fn modules(groups: &Groups, lives: &Lives, slot: u32) -> Vec<Branch> {
    type Sum = (Bytes, u64);
    let mut sums: BTreeMap<(u32, u32, u32), Sum> = BTreeMap::new();
    let number = |part: Part, id: AllocId| groups.parts[part as usize].of[id.index()];
    for (id, life) in (0..).map(AllocId).zip(&lives.of).filter(|(_, life)| life.holds(slot)) {
        let mut add = |class: u32, bytes: Bytes, blocks: u64| {
            let key = (number(Part::Module, id), number(Part::Line, id), class);
            let sum = sums.entry(key).or_default();
            *sum = (sum.0 + bytes, sum.1 + blocks);
        };
        let rounding = life.size.saturating_sub(life.requested);
        add(number(Part::Class, id), life.size - rounding, 1);
        if rounding > Bytes::ZERO {
            add(Class::Rounding as u32, rounding, 0);
        }
    }
    let total = |of: &dyn Fn(&(u32, u32, u32)) -> bool| {
        let chosen = sums.iter().filter(|(key, _)| of(key));
        chosen.fold(Sum::default(), |sum, (_, (bytes, blocks))| (sum.0 + *bytes, sum.1 + blocks))
    };
    let name = |part: Part, number: u32| groups.parts[part as usize].names[number as usize].clone();
    let sorted = |mut found: Vec<(u32, Sum)>| {
        found.sort_by(|a, b| b.1.0.cmp(&a.1.0).then_with(|| a.0.cmp(&b.0)));
        found
    };
    let distinct = |keys: &mut dyn Iterator<Item = u32>| {
        let mut found: Vec<u32> = keys.collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    let mut branches = Vec::new();
    let modules = distinct(&mut sums.keys().map(|key| key.0));
    for (module, sum) in sorted(modules.into_iter().map(|m| (m, total(&|key| key.0 == m))).collect()) {
        branches.push(Branch { depth: 0, name: name(Part::Module, module), bytes: sum.0, blocks: sum.1 });
        let lines = distinct(&mut sums.keys().filter(|key| key.0 == module).map(|key| key.1));
        let of_line = |line| total(&|key| (key.0, key.1) == (module, line));
        for (line, sum) in sorted(lines.into_iter().map(|line| (line, of_line(line))).collect()) {
            branches.push(Branch { depth: 1, name: name(Part::Line, line), bytes: sum.0, blocks: sum.1 });
            let classes = sums.iter().filter(|(key, _)| (key.0, key.1) == (module, line));
            for (class, sum) in sorted(classes.map(|(key, sum)| (key.2, *sum)).collect()) {
                branches.push(Branch {
                    depth: 2,
                    name: name(Part::Class, class),
                    bytes: sum.0,
                    blocks: sum.1,
                });
            }
        }
    }
    branches
}

//! Memory in use by the modules of a model.
//!
//! A plan's recorder notes when each module is at work and which storages are a module's own. What a forward pass asks for
//! belongs to the innermost module at work; weights, gradients and an optimizer's state to the module that has the
//! parameter. A backward pass runs outside of modules, but for blocks that are computed again in it.

use std::collections::BTreeMap;

use oomph_engine::program::AllocId;
use oomph_engine::recording::Recording;
use oomph_engine::replay::Run;
use oomph_engine::simulated::SimulatedDevice;
use oomph_trace::Bytes;
use oomph_trace::sidecar::{ModuleNotes, ModuleTurn};

use crate::classes::{self, ByClass, Class, Classes};
use crate::phase::Phase;
use crate::phases::Phases;

/// What has less than one part in so many of all has no row of its own in the module around it.
const FINEST: u64 = 1000;

/// Whose an allocation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// The module of this number.
    Module(usize),
    /// No module's; in which phase it was made.
    Outside(Option<Phase>),
}

/// The modules of a recording, and whose each allocation is.
#[derive(Debug)]
pub struct Modules<'a> {
    notes: &'a ModuleNotes,
    of: Vec<Owner>,
}

/// A module, or several that are alike, and what is in use for it and all that is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleNode {
    /// How many rows of the tree are around it.
    pub depth: u32,
    /// Its name in the one around it, such as `transformer.h.0-11`: the numbers of modules that are alike are joined.
    pub name: String,
    /// Its class; `None`: what no module asked for.
    pub kind: Option<String>,
    /// How many modules it stands for.
    pub count: u32,
    /// What is in use for it, by class; never nothing.
    pub by_class: ByClass,
}

impl ModuleNode {
    /// What is in use for it.
    pub fn bytes(&self) -> Bytes {
        self.by_class.iter().map(|(_, bytes)| *bytes).sum()
    }
}

impl Modules<'_> {
    /// `None` where the recording does not tell modules.
    pub fn find<'a>(recording: &'a Recording, phases: &Phases) -> Option<Modules<'a>> {
        let notes = recording.snapshot.sidecar.as_ref()?.modules.as_ref()?;
        let known = |module: u32| notes.names.get(module as usize).map(|_| Owner::Module(module as usize));
        let mut of: Vec<Owner> = classes::sampled(recording)
            .into_iter()
            .map(|sample| sample.and_then(|sample| known(sample.module?)).unwrap_or(Owner::Outside(None)))
            .collect();
        let events = &recording.trace().events;
        let mut working = Working { turns: &notes.turns, now: None };
        let mut time = 0;
        for (born, id, _) in recording.program.births() {
            // Threads may record times out of order; what has begun stays begun.
            time = time.max(events[born.index()].time_us);
            let at_work = working.at(time);
            if of[id.index()] == Owner::Outside(None) {
                let outside = || Owner::Outside(phases.phase_at(born));
                of[id.index()] = at_work.and_then(known).unwrap_or_else(outside);
            }
        }
        Some(Modules { notes, of })
    }

    /// The name of the module that an allocation belongs to, with `*` for the numbers in it; `None`: no module's.
    pub fn path(&self, id: AllocId) -> Option<String> {
        let Owner::Module(number) = self.of[id.index()] else { return None };
        let parts = self.notes.names[number].split('.');
        let parts = parts.map(|part| if is_number(part) { "*" } else { part });
        Some(parts.collect::<Vec<_>>().join("."))
    }

    /// What is in use at a moment of a replay: a tree, as a walk over it, the largest first; it adds up to what is active.
    pub fn at(&self, run: &Run<'_, SimulatedDevice>, classes: &Classes) -> Vec<ModuleNode> {
        let mut root = Node::default();
        let mut left = run.torch().counters().active;
        for (id, _, block) in run.live() {
            let bytes = block.requested.min(left);
            left -= bytes;
            let class = classes.of(id);
            let sum = match self.of[id.index()] {
                Owner::Module(number) if class != Class::Workspaces => {
                    root.inside(&self.notes.names[number], |path| self.kind(path))
                }
                Owner::Module(_) => root.outside(OUTSIDE),
                Owner::Outside(phase) => root.outside(outside(phase)),
            };
            sum[class as usize] += bytes;
        }
        root.outside("rounding")[Class::Rounding as usize] += left;
        let least = Bytes(root.total().0 / FINEST);
        let mut nodes = Vec::new();
        root.join_alike();
        root.walk(0, least, &mut nodes);
        nodes
    }

    fn kind(&self, path: &str) -> Option<String> {
        let number = self.notes.names.iter().position(|name| name == path)?;
        self.notes.kinds.get(number).cloned()
    }
}

/// What the rows are called that are no module's.
const OUTSIDE: &str = "outside of modules";

fn outside(phase: Option<Phase>) -> &'static str {
    match phase {
        Some(Phase::Backward) => "backward pass",
        Some(Phase::Optimizer) => "optimizer",
        _ => OUTSIDE,
    }
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

/// Which module is at work, asked in the order of time.
struct Working<'a> {
    turns: &'a [ModuleTurn],
    now: Option<u32>,
}

impl Working<'_> {
    fn at(&mut self, time: u64) -> Option<u32> {
        while let Some((turn, later)) = self.turns.split_first().filter(|(turn, _)| turn.time_us <= time) {
            (self.now, self.turns) = (turn.module, later);
        }
        self.now
    }
}

type Sums = [Bytes; Class::ALL.len()];

#[derive(Clone, Default)]
struct Node {
    kind: Option<String>,
    count: u32,
    own: Sums,
    below: BTreeMap<String, Node>,
}

impl Node {
    /// What the module of this name has of its own.
    fn inside(&mut self, name: &str, kind: impl Fn(&str) -> Option<String>) -> &mut Sums {
        let mut node = self;
        let mut end = 0;
        for part in name.split('.') {
            end += part.len();
            node = node.below.entry(part.to_owned()).or_insert_with(|| Node {
                kind: kind(&name[..end]),
                count: 1,
                ..Node::default()
            });
            end += 1;
        }
        &mut node.own
    }

    fn outside(&mut self, name: &str) -> &mut Sums {
        let fresh = || Node { count: 1, ..Node::default() };
        &mut self.below.entry(name.to_owned()).or_insert_with(fresh).own
    }

    fn sums(&self) -> Sums {
        let mut sums = self.own;
        for node in self.below.values() {
            add(&mut sums, &node.sums());
        }
        sums
    }

    fn total(&self) -> Bytes {
        self.sums().into_iter().sum()
    }

    /// Siblings of one class that have numbers for names become one, and what is in them alike, all the way down.
    fn join_alike(&mut self) {
        let mut alike: BTreeMap<Option<String>, Vec<(u64, Node)>> = BTreeMap::new();
        for (name, node) in std::mem::take(&mut self.below) {
            match name.parse().ok().filter(|_| is_number(&name) && node.kind.is_some()) {
                Some(number) => alike.entry(node.kind.clone()).or_default().push((number, node)),
                None => drop(self.below.insert(name, node)),
            }
        }
        for (_, mut nodes) in alike {
            nodes.sort_by_key(|(number, _)| *number);
            let numbers: Vec<u64> = nodes.iter().map(|(number, _)| *number).collect();
            let joined = nodes.into_iter().map(|(_, node)| node).reduce(Node::joined);
            joined.map(|joined| self.below.insert(ranges(&numbers), joined));
        }
        self.below.values_mut().for_each(Node::join_alike);
    }

    fn joined(mut self, other: Node) -> Node {
        self.count += other.count;
        add(&mut self.own, &other.own);
        for (name, node) in other.below {
            match self.below.remove(&name) {
                Some(own) => self.below.insert(name, own.joined(node)),
                None => self.below.insert(name, node),
            };
        }
        self
    }

    fn walk(&self, depth: u32, least: Bytes, nodes: &mut Vec<ModuleNode>) {
        let sums = self.below.iter().map(|(name, node)| (name, node, node.sums()));
        let mut below: Vec<_> =
            sums.map(|(name, node, sums)| (sums.iter().copied().sum::<Bytes>(), name, node, sums)).collect();
        below.retain(|(bytes, ..)| *bytes > Bytes::ZERO && (depth == 0 || *bytes >= least));
        below.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        for (_, name, node, sums) in below {
            let (mut name, mut node) = (name.clone(), node);
            // A module that only holds another is not worth a row.
            while let Some((inner, only)) = node.only_child() {
                name = format!("{name}.{inner}");
                node = only;
            }
            let by_class = Class::ALL.iter().copied().zip(sums).filter(|(_, bytes)| *bytes > Bytes::ZERO);
            nodes.push(ModuleNode {
                depth,
                name,
                kind: node.kind.clone(),
                count: node.count.max(1),
                by_class: by_class.collect(),
            });
            node.walk(depth + 1, least, nodes);
        }
    }

    fn only_child(&self) -> Option<(&String, &Node)> {
        let is_empty = self.own.iter().all(|bytes| *bytes == Bytes::ZERO);
        self.below.first_key_value().filter(|_| is_empty && self.below.len() == 1)
    }
}

fn add(sums: &mut Sums, more: &Sums) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += *more);
}

/// `0-11`, or `0-3,8`. The numbers are in order.
fn ranges(numbers: &[u64]) -> String {
    let runs = numbers.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let named = runs.map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    named.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of modules with these names and bytes of weights, as text.
    fn drawn(modules: &[(&str, u64)], least: u64) -> String {
        let kind = |path: &str| {
            let last = path.rsplit('.').next().unwrap_or_default();
            Some(if is_number(last) { "Block".to_owned() } else { last.to_uppercase() })
        };
        let mut root = Node::default();
        for (name, bytes) in modules {
            root.inside(name, kind)[0] += Bytes(*bytes);
        }
        root.outside("backward pass")[1] += Bytes(7);
        root.join_alike();
        let mut nodes = Vec::new();
        root.walk(0, Bytes(least), &mut nodes);
        let row = |node: &ModuleNode| {
            let kind = node.kind.as_deref().unwrap_or("-");
            format!(
                "{}{} {kind}×{} {}",
                "  ".repeat(node.depth as usize),
                node.name,
                node.count,
                node.bytes().0
            )
        };
        nodes.iter().map(row).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn modules_that_are_alike_are_joined_and_lone_ones_are_not_worth_a_row() {
        let modules = [
            ("gpt.tokens", 10),
            ("gpt.body.h.0.up", 3),
            ("gpt.body.h.0.down", 4),
            ("gpt.body.h.1.up", 3),
            ("gpt.body.h.1.down", 4),
            ("gpt.body.h.3.down", 4),
            ("gpt.body.h.3", 1),
        ];
        let expected = "\
gpt GPT×1 29
  body.h.0-1,3 Block×3 19
    down DOWN×3 12
    up UP×2 6
  tokens TOKENS×1 10
backward pass -×1 7";
        assert_eq!(drawn(&modules, 1), expected);
        let coarse = "\
gpt GPT×1 29
  body.h.0-1,3 Block×3 19
    down DOWN×3 12
  tokens TOKENS×1 10
backward pass -×1 7";
        assert_eq!(drawn(&modules, 8), coarse);
    }

    #[test]
    fn numbers_are_named_in_ranges() {
        assert_eq!(ranges(&[0]), "0");
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(ranges(&[u64::MAX]), u64::MAX.to_string());
    }

    #[test]
    fn the_innermost_module_at_work_is_the_last_that_began_or_goes_on() {
        let turn = |time_us, module| ModuleTurn { time_us, module };
        let turns = [turn(10, Some(0)), turn(12, Some(1)), turn(15, Some(0)), turn(18, None)];
        let mut working = Working { turns: &turns, now: None };
        let found = [9, 10, 12, 14, 15, 17, 18, 99].map(|time| working.at(time));
        assert_eq!(found, [None, Some(0), Some(1), Some(1), Some(0), Some(0), None, None]);
    }
}

//! A point in the space of measures: how much of each is taken.

use std::ffi::OsString;

use oomph_trace::sidecar::MeasureNotes;
use serde::{Deserialize, Serialize};

use super::cut::Cut;
use crate::measures::{Form, Loss, Measures};

/// The least state of optimizers that is worth moving.
const LEAST_STATE: u64 = 16 << 20;

/// How much of each measure is taken. The setting of the allocator is found by replay, and is not part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct Point {
    /// Whether the optimizers take another form.
    pub(super) form: bool,
    /// Whether the loss is computed in chunks.
    pub(super) chunks: bool,
    /// How many blocks are checkpointed.
    pub(super) blocks: u32,
    /// In how many parts a batch is computed; 0 and 1 are one.
    pub(super) parts: u32,
    /// How much is on the host: that many of the space's rungs.
    pub(super) host: u32,
}

/// What is on the host. Rungs are ordered: each has all that those below it have. So the search has one question more
/// to ask, and not two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rung {
    /// The optimizers' state.
    pub(super) state: bool,
    /// So many eighths of the saved activations.
    pub(super) eighths: u32,
}

impl Point {
    /// Whether this takes at least as much of every measure.
    pub(super) fn covers(self, other: Point) -> bool {
        self.form >= other.form
            && self.chunks >= other.chunks
            && self.blocks >= other.blocks
            && self.parts.max(1) >= other.parts.max(1)
            && self.host >= other.host
    }
}

/// What a program leaves open.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Space {
    /// The form that its optimizers can take.
    pub(super) form: Option<Form>,
    /// Whether there is a loss that can be computed in chunks.
    pub(super) chunks: bool,
    /// Blocks that can be checkpointed.
    pub(super) blocks: u32,
    /// How a batch is cut.
    pub(super) cut: Option<Cut>,
    /// What can be on the host, one rung above the other.
    pub(super) rungs: Vec<Rung>,
    /// The bytes of the optimizers' state: what the rung with it saves.
    pub(super) state: u64,
}

impl Space {
    /// What the script leaves open, by what it told when it ran as it is, and by the flags that the user named.
    pub(super) fn of(notes: &MeasureNotes, args: &[OsString], flags: Option<(&str, &str)>) -> Space {
        let is_open = |form: &Form| notes.forms.iter().any(|open| open == form.name());
        Space {
            form: [Form::Fused, Form::Single].into_iter().find(is_open),
            chunks: notes.logits > 0,
            blocks: notes.blocks,
            cut: Cut::of(notes, args, flags),
            rungs: rungs(notes.state >= LEAST_STATE, notes.trains),
            state: notes.state,
        }
    }

    /// Every point that is considered, the cheapest first. What is on the host costs so much that less of it is always
    /// worth another form, and a finer step in blocks is not worth a trial.
    pub(super) fn points(&self) -> Vec<Point> {
        let whether = |is_open: bool| if is_open { [false, true].as_slice() } else { &[false] };
        let mut points = Vec::new();
        for parts in self.cut.as_ref().map_or_else(|| vec![1], Cut::parts) {
            for &form in whether(self.form.is_some()) {
                for &chunks in whether(self.chunks) {
                    let blocks = 0..=self.blocks;
                    points.extend(blocks.map(|blocks| Point { form, chunks, blocks, parts, host: 0 }));
                }
            }
            for host in 1..=self.rungs.len() as u32 {
                let quarters = (0..=4).map(|quarter| (self.blocks * quarter).div_ceil(4));
                points.extend(quarters.map(|blocks| Point { blocks, parts, host, ..self.strongest() }));
            }
        }
        points.sort_by_cached_key(|point| (self.costs(*point), point.host, point.blocks, point.parts));
        points.dedup();
        points
    }

    /// All of each measure, by itself: what is tried first. With what is on the host come the other forms, as always.
    pub(super) fn alone(&self) -> Vec<Point> {
        let base = Point { parts: 1, ..Point::default() };
        let parts = self.cut.as_ref().map_or(1, Cut::most);
        let all = [
            Point { form: self.form.is_some(), ..base },
            Point { chunks: self.chunks, ..base },
            Point { blocks: self.blocks, ..base },
            Point { parts, ..base },
            if self.rungs.is_empty() { base } else { self.on_host() },
        ];
        all.into_iter().filter(|point| *point != base).collect()
    }

    /// All that can be on the host.
    pub(super) fn on_host(&self) -> Point {
        Point { blocks: 0, parts: 1, ..self.strongest() }
    }

    /// All of every measure.
    pub(super) fn strongest(&self) -> Point {
        let parts = self.cut.as_ref().map_or(1, Cut::most);
        let host = self.rungs.len() as u32;
        Point { form: self.form.is_some(), chunks: self.chunks, blocks: self.blocks, parts, host }
    }

    /// Without the measures of a point that the program cannot take.
    pub(super) fn without(self, point: Point) -> Space {
        Space {
            form: self.form.filter(|_| !point.form),
            chunks: self.chunks && !point.chunks,
            blocks: if point.blocks > 0 { 0 } else { self.blocks },
            cut: self.cut.filter(|_| point.parts <= 1),
            rungs: if point.host > 0 { Vec::new() } else { self.rungs },
            state: self.state,
        }
    }

    /// Without one of the two things that can be on the host.
    pub(super) fn without_on_host(mut self, taken: fn(&mut Rung)) -> Space {
        self.rungs.iter_mut().for_each(taken);
        self.rungs.dedup();
        self.rungs.retain(|rung| *rung != Rung::default());
        self
    }

    /// What is on the host at a point.
    pub(super) fn rung(&self, point: Point) -> Rung {
        point.host.checked_sub(1).and_then(|at| self.rungs.get(at as usize)).copied().unwrap_or_default()
    }

    /// What the process is asked to do for it.
    pub(super) fn asked(&self, point: Point) -> Measures {
        Measures {
            optimizer: self.form.filter(|_| point.form),
            loss: point.chunks.then_some(Loss::Chunks),
            checkpointing: (point.blocks > 0).then_some((point.blocks, self.blocks)),
            host_state: self.rung(point).state,
            host_activations: Some((self.rung(point).eighths, 8)).filter(|(eighths, _)| *eighths > 0),
            ..self.cut.as_ref().map_or_else(Measures::default, |cut| cut.asked(point.parts))
        }
    }

    /// The script's arguments for it.
    pub(super) fn args(&self, point: Point, args: &[OsString]) -> Vec<OsString> {
        self.cut.as_ref().map_or_else(|| args.to_vec(), |cut| cut.args(point.parts, args))
    }
}

/// What can be on the host: first the state, which is moved once a step; then, on top of it, more and more of the
/// activations.
fn rungs(has_state: bool, trains: bool) -> Vec<Rung> {
    let state = has_state.then_some(Rung { state: true, eighths: 0 });
    let eighths: &[u32] = if trains { &[2, 4, 6, 8] } else { &[] };
    state.into_iter().chain(eighths.iter().map(|&eighths| Rung { state: has_state, eighths })).collect()
}

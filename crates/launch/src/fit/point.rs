//! A point in the space of measures: how much of each is taken, and what that costs.

use std::ffi::OsString;

use oomph_diagnose::results::fit::{Exactness, Measure};
use oomph_trace::sidecar::MeasureNotes;
use serde::{Deserialize, Serialize};

use super::cut::Cut;
use crate::measures::{Form, Measures};

/// Costs, in thousandths of a step's time: estimates, from jobs that keep a GPU busy.
mod cost {
    /// A setting of the allocator.
    pub(super) const SETTING: u32 = 2;
    /// The fused optimizer is quicker, if anything; other roundings are the reason to do without.
    pub(super) const FUSED: u32 = 3;
    /// More launches in the optimizer's step.
    pub(super) const SINGLE: u32 = 20;
    /// A forward pass is a third of a step: all blocks computed again cost that.
    pub(super) const CHECKPOINTING: u32 = 330;
    /// Any checkpointing.
    pub(super) const CHECKPOINTING_AT_ALL: u32 = 5;
    /// One more part of a batch: more launches, and smaller kernels. Four jobs on an H200 lost 5% to 42% by the second.
    pub(super) const PART: u32 = 200;
}

/// How much of each measure is taken. The setting of the allocator is found by replay, and is not part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Point {
    /// Whether the optimizers take another form.
    pub(super) form: bool,
    /// How many blocks are checkpointed.
    pub(super) blocks: u32,
    /// In how many parts a batch is computed; 0 and 1 are one.
    pub(super) parts: u32,
}

impl Point {
    /// Whether this takes at least as much of every measure.
    pub(super) fn covers(self, other: Point) -> bool {
        self.form >= other.form && self.blocks >= other.blocks && self.parts.max(1) >= other.parts.max(1)
    }
}

/// What a program leaves open.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Space {
    /// The form that its optimizers can take.
    pub(super) form: Option<Form>,
    /// Blocks that can be checkpointed.
    pub(super) blocks: u32,
    /// How a batch is cut.
    pub(super) cut: Option<Cut>,
}

impl Space {
    /// What the script leaves open, by what it told when it ran as it is, and by the flags that the user named.
    pub(super) fn of(notes: &MeasureNotes, args: &[OsString], flags: Option<(&str, &str)>) -> Space {
        let is_open = |form: &Form| notes.forms.iter().any(|open| open == form.name());
        Space {
            form: [Form::Fused, Form::Single].into_iter().find(is_open),
            blocks: notes.blocks,
            cut: Cut::of(notes, args, flags),
        }
    }

    /// Every point, the cheapest first.
    pub(super) fn points(&self) -> Vec<Point> {
        let forms = if self.form.is_some() { [false, true].as_slice() } else { &[false] };
        let parts = self.cut.as_ref().map_or_else(|| vec![1], Cut::parts);
        let mut points = Vec::new();
        for &form in forms {
            for blocks in 0..=self.blocks {
                points.extend(parts.iter().map(|&parts| Point { form, blocks, parts }));
            }
        }
        points.sort_by_cached_key(|point| self.costs(*point));
        points
    }

    /// All of each measure, by itself: what is tried first.
    pub(super) fn alone(&self) -> Vec<Point> {
        let base = Point { parts: 1, ..Point::default() };
        let parts = self.cut.as_ref().map_or(1, Cut::most);
        let all = [
            Point { form: self.form.is_some(), ..base },
            Point { blocks: self.blocks, ..base },
            Point { parts, ..base },
        ];
        all.into_iter().filter(|point| *point != base).collect()
    }

    /// All of every measure.
    pub(super) fn strongest(&self) -> Point {
        let parts = self.cut.as_ref().map_or(1, Cut::most);
        Point { form: self.form.is_some(), blocks: self.blocks, parts }
    }

    /// Without the measures of a point that the program cannot take.
    pub(super) fn without(self, point: Point) -> Space {
        Space {
            form: self.form.filter(|_| !point.form),
            blocks: if point.blocks > 0 { 0 } else { self.blocks },
            cut: self.cut.filter(|_| point.parts <= 1),
        }
    }

    /// What a point costs.
    pub(super) fn costs(&self, point: Point) -> u32 {
        self.measures(point).iter().map(|measure| measure.costs).sum()
    }

    /// What the process is asked to do for it.
    pub(super) fn asked(&self, point: Point) -> Measures {
        Measures {
            optimizer: self.form.filter(|_| point.form),
            checkpointing: (point.blocks > 0).then_some((point.blocks, self.blocks)),
            ..self.cut.as_ref().map_or_else(Measures::default, |cut| cut.asked(point.parts))
        }
    }

    /// The script's arguments for it.
    pub(super) fn args(&self, point: Point, args: &[OsString]) -> Vec<OsString> {
        self.cut.as_ref().map_or_else(|| args.to_vec(), |cut| cut.args(point.parts, args))
    }

    /// The measures of a point, in words.
    pub(super) fn measures(&self, point: Point) -> Vec<Measure> {
        let mut found = Vec::new();
        if let Some(form) = self.form.filter(|_| point.form) {
            let (what, instruction, costs) = match form {
                Form::Fused => ("fused optimizer", "fused=True in the optimizer", cost::FUSED),
                Form::Single => ("optimizer without foreach", "foreach=False in the optimizer", cost::SINGLE),
            };
            found.push(measure(what, instruction, Exactness::Rounding, costs));
        }
        if point.parts > 1
            && let Some(cut) = &self.cut
        {
            let micro = cut.batch / point.parts;
            let what = format!("micro-batches of {micro}, {} for each batch", point.parts);
            let costs = cost::PART * (point.parts - 1);
            found.push(measure(&what, &cut.instruction(point.parts), Exactness::Dropout, costs));
        }
        if point.blocks > 0 {
            let share = cost::CHECKPOINTING * point.blocks / self.blocks.max(1);
            let what = format!("checkpointing of {} of {} blocks", point.blocks, self.blocks);
            let instruction = format!("torch.utils.checkpoint around the first {} blocks", point.blocks);
            found.push(measure(&what, &instruction, Exactness::Bits, share + cost::CHECKPOINTING_AT_ALL));
        }
        found
    }
}

/// A setting of the allocator.
pub(super) fn setting(options: &str) -> Measure {
    measure(options, &format!("PYTORCH_CUDA_ALLOC_CONF={options}"), Exactness::Bits, cost::SETTING)
}

fn measure(what: &str, instruction: &str, exact: Exactness, costs: u32) -> Measure {
    Measure { what: what.to_owned(), instruction: instruction.to_owned(), exact, costs }
}

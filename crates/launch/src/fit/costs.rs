//! The measures of a point, in words, and what each costs.

use oomph_diagnose::results::fit::{Exactness, Measure};

use super::point::{Point, Rung, Space};
use crate::measures::Form;

/// Costs, in thousandths of a step's time: estimates, from jobs that keep a GPU busy.
mod cost {
    /// A setting of the allocator.
    pub(super) const SETTING: u32 = 2;
    /// The fused optimizer is quicker, if anything; other roundings are the reason to do without.
    pub(super) const FUSED: u32 = 3;
    /// The loss in chunks: its logits are read once more.
    pub(super) const CHUNKS: u32 = 10;
    /// More launches in the optimizer's step.
    pub(super) const SINGLE: u32 = 20;
    /// A forward pass is a third of a step: all blocks computed again cost that.
    pub(super) const CHECKPOINTING: u32 = 330;
    /// Any checkpointing.
    pub(super) const CHECKPOINTING_AT_ALL: u32 = 5;
    /// The optimizers' state to the host and back, once a step: for Adam four times the weights over PCIe, at about 20 GB/s,
    /// where a step of a large batch reads them a thousand times over.
    pub(super) const HOST_STATE: u32 = 400;
    /// Any saved activations on the host.
    pub(super) const HOST_AT_ALL: u32 = 50;
    /// An eighth of the saved activations to the host and back. The card makes them quicker than PCIe takes them: an H200
    /// that only copies them would need about as long again as its step.
    pub(super) const HOST_EIGHTH: u32 = 120;
    /// One more part of a batch: more launches, and smaller kernels. Four jobs on an H200 lost 5% to 42% by the second.
    pub(super) const PART: u32 = 200;
}

impl Space {
    /// What a point costs.
    pub(super) fn costs(&self, point: Point) -> u32 {
        self.measures(point).iter().map(|measure| measure.costs).sum()
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
        if point.chunks {
            let instruction =
                "torch.nn.functional.cross_entropy on some rows at a time, each with its backward pass";
            found.push(measure("loss in chunks", instruction, Exactness::Rounding, cost::CHUNKS));
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
        let Rung { state, eighths } = self.rung(point);
        if state {
            let instruction =
                "the optimizer's step for some parameters at a time, their state copied in and out";
            found.push(measure(
                "optimizer state on the host",
                instruction,
                Exactness::Bits,
                cost::HOST_STATE,
            ));
        }
        if eighths > 0 {
            let what = if eighths == 8 {
                "saved activations on the host".to_owned()
            } else {
                format!("{eighths} eighths of the saved activations on the host")
            };
            let instruction =
                "torch.autograd.graph.save_on_cpu(pin_memory=True) around the model's forward pass";
            let costs = cost::HOST_EIGHTH * eighths + cost::HOST_AT_ALL;
            found.push(measure(&what, instruction, Exactness::Bits, costs));
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

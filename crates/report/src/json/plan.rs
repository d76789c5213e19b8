//! `oomph plan --json`.

use oomph_diagnose::classes::ByClass;
use oomph_diagnose::modules::ModuleNode;
use oomph_diagnose::results::plan::{
    PlanResult, PlannedAt, PlannedLeast, PlannedOption, PlannedVary, PlannedWorld,
};
use oomph_trace::Bytes;
use serde::Serializer;

use super::SCHEMA;
use crate::headline::headline;

document! {
    /// The answer for one card. A list for several, in the order they were named, and for the table by their memory.
    pub fn plan(result: &PlanResult) -> Plan with (card = &result.card, peaks = result.peaks) {
        /// The schema's number: 1.
        schema: u32 = SCHEMA,
        /// The script's name without its suffix.
        script: String = result.script.clone(),
        /// The card's name on the command line.
        gpu: String = card.short.to_string(),
        /// The answer in a line, as the command prints it first.
        headline: String = headline(result),
        /// CUDA's name for it.
        gpu_name: String = card.name.to_string(),
        /// Its compute capability, such as `"9.0"`.
        capability: String = format!("{}.{}", card.capability.0, card.capability.1),
        /// The card that was simulated when the script ran, where that is another.
        seen_on: Option<String> = result.seen_on.clone(),
        /// The card's memory.
        total_bytes: Bytes = card.total,
        /// What a CUDA context with its libraries takes of it at most.
        context_bytes: Bytes = card.context.most,
        /// What it takes at least.
        context_least: Bytes = card.context.least,
        /// What NCCL takes of it, by an estimate; 0 where the job is not distributed.
        nccl_bytes: Bytes = result.nccl,
        /// What DDP's first buckets, or the gathered parameters of two of FSDP1's units, may hold for longer: the peaks are without it.
        late_bytes: Bytes = result.late,
        /// The ranks of a distributed job.
        world: Option<PlannedWorld> = result.world.clone(),
        /// `--limit`.
        limit: Option<Bytes> = result.limit,
        /// The peak of what was asked for, as PyTorch counts; null, like the next two, where there is no answer.
        peak_requested: Option<Bytes> = peaks.map(|peaks| peaks.requested),
        /// The peak after rounding.
        peak_allocated: Option<Bytes> = peaks.map(|peaks| peaks.allocated),
        /// The peak of what was held from the driver.
        peak_reserved: Option<Bytes> = peaks.map(|peaks| peaks.reserved),
        /// The least that it may be: in replays with segments put elsewhere by the driver, less what workspaces of convolutions that
        /// were not measured may be off by.
        peak_reserved_least: Option<Bytes> = result.held_between.map(|(least, _)| least),
        /// The most that it may be.
        peak_reserved_most: Option<Bytes> = result.held_between.map(|(_, most)| most),
        /// `peak_reserved` + `context_bytes` + `nccl_bytes` + `late_bytes`.
        process_bytes: Option<Bytes> = result.process(),
        /// The least that the process may hold: with `peak_reserved_least`, `context_least`, and nothing of `late_bytes`.
        process_least: Option<Bytes> = result.process_between().map(|(least, _)| least),
        /// The most: with `peak_reserved_most` and all that lies beside it.
        process_most: Option<Bytes> = result.process_between().map(|(_, most)| most),
        /// Whether it completes with the card's memory; null: cannot tell, or too close to call.
        fits: Option<bool> = result.fits,
        /// How often the cache is given back for that.
        retries: u64 = result.retries,
        /// The peak of what is in use.
        at: PlannedAt = result.at.clone(),
        /// Bytes in use then, by class: `weights`, `gradients`, `optimizer_state`, `buffers`, `workspaces`,
        /// `activations`, `optimizer_temporaries`, `other`, `rounding`.
        #[serde(serialize_with = "by_class")]
        #[schemars(with = "std::collections::BTreeMap<String, u64>")]
        by_class: ByClass = result.by_class.clone(),
        /// The same by module: a tree, as a walk over it, the largest first. The rows of depth 0 add up to what is in use;
        /// below them, what has less than a thousandth of that has no row. Empty where no module was seen.
        by_module: Vec<Module> = result.by_module.iter().map(module).collect(),
        /// The most of the host's memory that PyTorch pins, each request rounded up to a power of two; null where
        /// this version of PyTorch does not tell.
        pinned_bytes: Option<Bytes> = result.pinned,
        /// Optimizer steps that were seen.
        steps: u64 = result.steps,
        /// Changes, those that fit first.
        options: Vec<PlannedOption> = result.options.clone(),
        /// The least it needs with what was tried; null where something makes it fit, or nothing was tried.
        least: Option<PlannedLeast> = result.least.clone(),
        /// The search over a flag.
        vary: Option<Vary> = result.vary.as_ref().map(vary),
        /// What the answer does not know, in words.
        caveats: Vec<String> = result.caveats.clone(),
        /// Why there is no answer.
        why_not: Option<String> = result.why_not.clone(),
    }

    /// A module of the model, or several that are alike.
    fn module(node: &ModuleNode) -> Module {
        /// How many rows are around it.
        depth: u32 = node.depth,
        /// Its name in the one around it; the numbers of modules that are alike are joined: `transformer.h.0-11`.
        name: String = node.name.clone(),
        /// Its class; null: what no module asked for.
        class: Option<String> = node.kind.clone(),
        /// How many modules it stands for.
        count: u32 = node.count,
        /// What is in use for it and all that is in it.
        bytes: Bytes = node.bytes(),
        /// The same by class.
        #[serde(serialize_with = "by_class")]
        #[schemars(with = "std::collections::BTreeMap<String, u64>")]
        by_class: ByClass = node.by_class.clone(),
    }

    /// The largest value of a flag that fits.
    fn vary(vary: &PlannedVary) -> Vary with (kept = vary.accumulation()) {
        #[serde(flatten)]
        found: PlannedVary = vary.clone(),
        /// The largest divisor of `asked` that fits.
        micro: Option<u64> = kept.map(|(micro, _)| micro),
        /// How many steps of accumulation make it `asked` again.
        accumulate: Option<u64> = kept.map(|(_, times)| times),
    }
}

/// An object with the classes in their order.
fn by_class<S: Serializer>(classes: &ByClass, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(classes.iter().map(|(class, bytes)| (class.name(), bytes)))
}

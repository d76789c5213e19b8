//! Changes that are tried: settings by replay, the program's own ways by running it again.

use oomph_diagnose::results::plan::{How, PlannedOption};
use oomph_diagnose::tune::{Candidate, Search};
use oomph_machine::cores;
use oomph_trace::Bytes;

use super::answer::completes;
use super::cards::CONTEXT;
use super::trial::Trial;
use crate::measures::{Form, Measures};

/// Less of a difference than this is none: 1%.
const WORTH: u64 = 100;

/// A change of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The name of the folder of its run.
    pub key: &'static str,
    /// What the process is asked to do.
    pub measures: Measures,
    /// What it is.
    pub name: &'static str,
    /// How a user makes it.
    pub instruction: &'static str,
}

const NOTHING: Measures = Measures {
    autocast: false,
    optimizer: None,
    loss: None,
    checkpointing: None,
    micro_batches: None,
    host_state: false,
    host_activations: None,
    loader: None,
    equal_labels: false,
    proof: None,
    timed: None,
};

/// The changes that can be tried on any script.
pub const CHANGES: [Change; 4] = [
    Change {
        key: "autocast",
        measures: Measures { autocast: true, ..NOTHING },
        name: "bf16 autocast",
        instruction: "with torch.autocast(\"cuda\", torch.bfloat16): around the model's forward pass",
    },
    Change {
        key: "checkpointing",
        measures: Measures { checkpointing: Some((1, 1)), ..NOTHING },
        name: "gradient checkpointing",
        instruction: "model.gradient_checkpointing_enable(), or torch.utils.checkpoint around each block",
    },
    Change {
        key: "fused",
        measures: Measures { optimizer: Some(Form::Fused), ..NOTHING },
        name: "fused optimizer",
        instruction: "fused=True in the optimizer",
    },
    Change {
        key: "foreach",
        measures: Measures { optimizer: Some(Form::Single), ..NOTHING },
        name: "optimizer without foreach",
        instruction: "foreach=False in the optimizer",
    },
];

impl Change {
    /// What it leads to. `None` where the program has nothing to change.
    pub fn outcome(&self, trial: &Trial, base: &Trial, allowed: Bytes) -> Option<PlannedOption> {
        if !trial.is_changed() {
            return None;
        }
        let failed = trial.failure.is_some();
        let peaks = trial.peaks.filter(|_| !failed);
        let had = base.peaks?;
        if peaks.is_some_and(|peaks| peaks.reserved + Bytes(had.reserved.0 / WORTH) > had.reserved) {
            return None;
        }
        let fits = if failed { None } else { completes(trial, allowed).map(|(fits, _)| fits) };
        // Where it fits because PyTorch gives its cache back, it holds no more than there is.
        let most = if fits == Some(true) { allowed } else { Bytes(u64::MAX) };
        let reserved = peaks.map(|peaks| peaks.reserved.min(most));
        Some(PlannedOption {
            change: self.name.to_owned(),
            instruction: self.instruction.to_owned(),
            how: How::Planned,
            peak_reserved: reserved,
            process: reserved.map(|reserved| reserved + CONTEXT),
            fits,
        })
    }
}

/// The setting that needs the least memory of those that most often help, if it lowers the peak or makes it fit.
pub fn setting(trial: &Trial, allowed: Bytes) -> Option<PlannedOption> {
    let recording = trial.recording.as_ref()?;
    let search = Search::new(recording, Some(allowed));
    let candidates = cores::evaluate_shortlist(&search);
    let (recorded, others) = candidates.split_first()?;
    // Collecting garbage needs a limit: one that is too small for it says nothing of the peak.
    let sound =
        |candidate: &&Candidate| candidate.completes || candidate.options.garbage_collection_threshold == 0.0;
    let best = others
        .iter()
        .filter(sound)
        .min_by_key(|candidate| (!candidate.completes, candidate.peak_reserved))?;
    let gain = recorded.peak_reserved.saturating_sub(best.peak_reserved);
    let helps = (best.completes && !recorded.completes) || gain.0 > recorded.peak_reserved.0 / WORTH;
    helps.then(|| PlannedOption {
        change: best.options.to_string(),
        instruction: format!("PYTORCH_CUDA_ALLOC_CONF={}", best.options),
        how: How::Replayed,
        peak_reserved: Some(best.peak_reserved),
        process: Some(best.peak_reserved + CONTEXT),
        fits: Some(best.completes),
    })
}

/// Those that fit first, then by what they need.
pub fn sort(options: &mut [PlannedOption]) {
    options
        .sort_by_key(|option| (option.fits != Some(true), option.peak_reserved.unwrap_or(Bytes(u64::MAX))));
}

//! Changes that are tried: settings by replay, the program's own ways by running it again.

use oomph_diagnose::results::plan::{How, PlannedLeast, PlannedOption};
use oomph_diagnose::tune::{Candidate, Search};
use oomph_engine::torch::options::Options;
use oomph_machine::cores;
use oomph_trace::Bytes;

use super::answer::within;
use super::trial::Trial;
use super::vary::Need;
use crate::measures::{Form, Measures, Precision};

/// Less of a difference than this is none: 1%.
const WORTH: u64 = 100;
/// The first cards that compute in bf16.
const HAS_BF16: (u8, u8) = (8, 0);

/// A change of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The name of the folder of its run.
    pub key: &'static str,
    /// What it is a way of: of two with the same, one can be made.
    pub family: Family,
    /// What the process is asked to do.
    pub measures: Measures,
    /// What it is.
    pub name: &'static str,
    /// How a user makes it.
    pub instruction: &'static str,
    /// Whether what is trained is something else then. The others train the same, up to rounding.
    pub is_another_training: bool,
}

/// What a change is a way of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Smaller numbers.
    Precision,
    /// Computing again instead of keeping.
    Recomputing,
    /// Another form of the optimizer.
    Optimizer,
    /// Parts on every rank instead of copies.
    Parallelism,
    /// Few weights beside those that are there.
    Adapters,
}

const NOTHING: Measures = Measures {
    autocast: None,
    sharded: false,
    eight_bit: false,
    adapters: None,
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

/// A change that keeps the training.
const fn change(
    key: &'static str,
    family: Family,
    measures: Measures,
    name: &'static str,
    instruction: &'static str,
) -> Change {
    Change { key, family, measures, name, instruction, is_another_training: false }
}

const BF16: Change = change(
    "autocast",
    Family::Precision,
    Measures { autocast: Some(Precision::Bf16), ..NOTHING },
    "bf16 autocast",
    "with torch.autocast(\"cuda\", torch.bfloat16): around the model's forward pass",
);

const FP16: Change = change(
    "autocast",
    Family::Precision,
    Measures { autocast: Some(Precision::Fp16), ..NOTHING },
    "fp16 autocast",
    "with torch.autocast(\"cuda\", torch.float16): around the model's forward pass, and torch.amp.GradScaler (this \
     card does not compute in bf16)",
);

const CHECKPOINTING: Change = change(
    "checkpointing",
    Family::Recomputing,
    Measures { checkpointing: Some((1, 1)), ..NOTHING },
    "gradient checkpointing",
    "model.gradient_checkpointing_enable(), or torch.utils.checkpoint around each block",
);

const FUSED: Change = change(
    "fused",
    Family::Optimizer,
    Measures { optimizer: Some(Form::Fused), ..NOTHING },
    "fused optimizer",
    "fused=True in the optimizer",
);

const SINGLE: Change = change(
    "foreach",
    Family::Optimizer,
    Measures { optimizer: Some(Form::Single), ..NOTHING },
    "optimizer without foreach",
    "foreach=False in the optimizer",
);

const EIGHT_BIT: Change = change(
    "eight-bit",
    Family::Optimizer,
    Measures { eight_bit: true, ..NOTHING },
    "8-bit optimizer",
    "the optimizer of the same name with 8bit behind it from bitsandbytes.optim, such as AdamW8bit; with Trainer \
     optim=\"adamw_bnb_8bit\"",
);

const FSDP: Change = change(
    "fsdp",
    Family::Parallelism,
    Measures { sharded: true, ..NOTHING },
    "FSDP instead of DDP",
    "fully_shard(block) of torch.distributed.fsdp for each block, then fully_shard(model), instead of \
     DistributedDataParallel(model); the optimizer after that",
);

/// The rank that most people take.
const RANK: u32 = 16;

/// What is tried where nothing that keeps the training is enough.
pub const LORA: Change = Change {
    is_another_training: true,
    ..change(
        "lora",
        Family::Adapters,
        Measures { adapters: Some(RANK), ..NOTHING },
        "LoRA (another training)",
        "get_peft_model(model, LoraConfig(r=16, target_modules=\"all-linear\")) of peft: the model stays as it is, and \
         two thin matrices beside each of its linear layers are trained",
    )
};

/// The changes that keep the training and can be tried on any script, on a card of this capability, by so many ranks.
pub fn changes(capability: (u8, u8), ranks: u32) -> Vec<Change> {
    let mut changes =
        vec![if capability < HAS_BF16 { FP16 } else { BF16 }, CHECKPOINTING, FUSED, SINGLE, EIGHT_BIT];
    if ranks > 1 {
        changes.push(FSDP);
    }
    changes
}

/// Changes that are made together; none: the program as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Together {
    /// Those of the program, in the order of `changes`.
    pub changes: Vec<Change>,
    /// The allocator's settings, where others than the program's.
    pub setting: Option<Options>,
}

impl Together {
    /// These changes of the program.
    pub fn of(changes: &[Change]) -> Together {
        Together { changes: changes.to_vec(), setting: None }
    }

    /// With these settings too.
    pub fn with(&self, setting: Options) -> Together {
        Together { setting: Some(setting), ..self.clone() }
    }

    /// What the process is asked to do.
    pub fn measures(&self) -> Option<Measures> {
        let merged = |so_far: Measures, change: &Change| Measures {
            autocast: so_far.autocast.or(change.measures.autocast),
            sharded: so_far.sharded || change.measures.sharded,
            eight_bit: so_far.eight_bit || change.measures.eight_bit,
            adapters: so_far.adapters.or(change.measures.adapters),
            optimizer: so_far.optimizer.or(change.measures.optimizer),
            checkpointing: so_far.checkpointing.or(change.measures.checkpointing),
            ..so_far
        };
        (!self.changes.is_empty()).then(|| self.changes.iter().fold(NOTHING, merged))
    }

    /// The name of the folder of its run.
    pub fn key(&self) -> String {
        self.changes.iter().map(|change| change.key).collect::<Vec<&str>>().join("-")
    }

    /// What they are.
    pub fn name(&self) -> String {
        let setting = self.setting.as_ref().map(ToString::to_string);
        let names = self.changes.iter().map(|change| change.name.to_owned());
        names.chain(setting).collect::<Vec<String>>().join(" + ")
    }

    /// How a user makes them, one after another.
    pub fn instructions(&self) -> Vec<String> {
        let setting = self.setting.as_ref().map(|options| format!("PYTORCH_CUDA_ALLOC_CONF={options}"));
        self.changes.iter().map(|change| change.instruction.to_owned()).chain(setting).collect()
    }

    /// Whether one of them makes it another training.
    pub fn is_another_training(&self) -> bool {
        self.changes.iter().any(|change| change.is_another_training)
    }

    /// How many they are.
    pub fn count(&self) -> usize {
        self.changes.len() + usize::from(self.setting.is_some())
    }

    /// Whether the other has all of these.
    pub fn is_part_of(&self, other: &Together) -> bool {
        let has_changes = self.changes.iter().all(|change| other.changes.contains(change));
        has_changes && (self.setting.is_none() || self.setting == other.setting)
    }
}

/// What a card has for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// What PyTorch may hold.
    pub allowed: Bytes,
    /// What the context holds.
    pub context: Bytes,
}

/// What changes lead to on a card.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The changes.
    pub together: Together,
    /// What is needed with them; `None` where the program failed.
    pub need: Option<Need>,
    /// What the process holds beside PyTorch's memory.
    pub beside: Bytes,
}

impl Outcome {
    /// That of a run. `None` where the program has nothing to change.
    pub fn of(together: &Together, trial: &Trial, room: Room) -> Option<Outcome> {
        let setting = together.setting.as_ref();
        let need = if trial.failure.is_some() { None } else { need(trial, setting, room.allowed) };
        let beside = trial.beside(room.context);
        trial.is_changed().then(|| Outcome { together: together.clone(), need, beside })
    }

    /// Whether it fits.
    pub fn fits(&self) -> bool {
        self.need.is_some_and(|need| need.fits)
    }

    /// Whether it needs less than so much by more than next to nothing.
    pub fn wins_over(&self, needs: Bytes) -> bool {
        self.need.is_some_and(|need| need.needs + Bytes(needs.0 / WORTH) <= needs)
    }

    /// As the plan says it.
    pub fn option(&self, allowed: Bytes) -> PlannedOption {
        // Where it fits because PyTorch gives its cache back, it holds no more than there is.
        let most = if self.fits() { allowed } else { Bytes(u64::MAX) };
        let reserved = self.need.map(|need| need.needs.min(most));
        PlannedOption {
            change: self.together.name(),
            instructions: self.together.instructions(),
            how: if self.together.setting.is_some() { How::Replayed } else { How::Planned },
            peak_reserved: reserved,
            process: reserved.map(|reserved| reserved + self.beside),
            fits: self.need.map(|need| need.fits),
            largest: None,
        }
    }

    /// As the least that the program needs, at a value of the flag that is varied.
    pub fn least(&self, value: Option<u64>) -> Option<PlannedLeast> {
        self.need.map(|need| PlannedLeast {
            change: self.together.name(),
            instructions: self.together.instructions(),
            value,
            peak_reserved: need.needs,
            process: need.needs + self.beside,
        })
    }
}

/// What a run needs, as it is or replayed with other settings; `None` where it left nothing that could tell.
pub fn need(trial: &Trial, setting: Option<&Options>, allowed: Bytes) -> Option<Need> {
    let Some(setting) = setting else {
        let needs = trial.peaks?.reserved;
        return within(trial, allowed).map(|within| Need { fits: within.completes, needs });
    };
    let search = Search::new(trial.recording.as_ref()?, Some(allowed));
    let found = search.evaluate_at_limit(setting);
    Some(Need { fits: found.completes, needs: found.peak_reserved })
}

/// The setting that needs the least memory of those that most often help, if it lowers the peak or makes it fit.
pub fn setting(trial: &Trial, allowed: Bytes) -> Option<(Options, Need)> {
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
    helps.then(|| (best.options.clone(), Need { fits: best.completes, needs: best.peak_reserved }))
}

/// Those that fit first, of them those that keep the training, and of these those of the fewest changes; then by what the
/// process needs.
pub fn sort(outcomes: &mut [Outcome]) {
    let needs = |outcome: &Outcome| outcome.need.map_or(Bytes(u64::MAX), |need| need.needs + outcome.beside);
    outcomes.sort_by_key(|outcome| {
        let fits = outcome.fits();
        let count = if fits { outcome.together.count() } else { 0 };
        (!fits, fits && outcome.together.is_another_training(), count, needs(outcome))
    });
}

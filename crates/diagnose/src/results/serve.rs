//! What `oomph plan --serve` finds: how many sequences of a model a card has room for, and what would change that.

use oomph_trace::Bytes;
use oomph_trace::cards::Card;
use schemars::JsonSchema;
use serde::Serialize;

use crate::serve::model::{Precision, ServedModel};
use crate::serve::room::{Room, Setup};

/// The answer for one card.
#[derive(Clone, Debug)]
pub struct ServeResult {
    /// The card.
    pub card: Card,
    /// The model.
    pub model: ServedModel,
    /// How it is served.
    pub setup: Setup,
    /// What it leaves of the card; `None` where that cannot be told.
    pub room: Option<Room>,
    /// Why it cannot be told.
    pub why_not: Option<String>,
    /// The same for other lengths.
    pub contexts: Vec<ServedContext>,
    /// What would change it.
    pub changes: Vec<ServedChange>,
    /// What is not known, in words.
    pub remarks: Vec<String>,
}

/// Sequences of one length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServedContext {
    /// Tokens of a sequence.
    pub context: u64,
    /// What one takes of the cache.
    pub sequence_bytes: Bytes,
    /// How many fit.
    pub sequences: u64,
}

/// A change and what it leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServedChange {
    /// What to change.
    pub change: String,
    /// What to write, in vLLM's words.
    #[serde(rename = "do")]
    pub instruction: String,
    /// How many sequences fit then.
    pub sequences: u64,
}

impl ServeResult {
    /// The answer for this card.
    pub fn of(model: &ServedModel, setup: &Setup, card: &Card) -> ServeResult {
        let why_not = (model.layers.is_empty() || model.parameters == 0).then(|| model.remarks.join("; "));
        let room = why_not.is_none().then(|| Room::of(model, setup, card));
        let mut remarks = if why_not.is_some() { Vec::new() } else { model.remarks.clone() };
        if room.is_some() {
            remarks.extend(remarks_on(model, setup, card));
        }
        let (contexts, changes) = match room {
            Some(_) => (contexts(model, setup, card), changes(model, setup, card)),
            None => (Vec::new(), Vec::new()),
        };
        ServeResult {
            card: card.clone(),
            model: model.clone(),
            setup: *setup,
            room,
            why_not,
            contexts,
            changes,
            remarks,
        }
    }

    /// Whether what was asked for fits: so many sequences, or at least one.
    pub fn fits(&self) -> Option<bool> {
        Some(self.room?.sequences() >= self.wanted())
    }

    /// How many sequences are asked for at least.
    pub fn wanted(&self) -> u64 {
        self.setup.sequences.unwrap_or(1)
    }

    /// How many sequences the answer is of: those asked for; or those that fit, at least one.
    pub fn shown(&self) -> u64 {
        self.setup.sequences.unwrap_or_else(|| self.room.map_or(1, |room| room.sequences().max(1)))
    }
}

/// Lengths around the one asked for, as far as the model was made for them.
fn contexts(model: &ServedModel, setup: &Setup, card: &Card) -> Vec<ServedContext> {
    let lengths = [setup.context / 4, setup.context / 2, setup.context, setup.context * 2, setup.context * 4];
    let longest = model.longest.unwrap_or(u64::MAX).max(setup.context);
    let of = |context: u64| {
        let room = Room::of(model, &Setup { context, ..*setup }, card);
        ServedContext { context, sequence_bytes: room.sequence, sequences: room.sequences() }
    };
    lengths.into_iter().filter(|length| (1..=longest).contains(length)).map(of).collect()
}

/// Single changes, those with most sequences first. What changes nothing is left out.
fn changes(model: &ServedModel, setup: &Setup, card: &Card) -> Vec<ServedChange> {
    let now = Room::of(model, setup, card).sequences();
    let mut found = Vec::new();
    let mut add = |change: &str, instruction: String, to: Setup| {
        let sequences = Room::of(model, &to, card).sequences();
        if sequences > now {
            found.push(ServedChange { change: change.to_owned(), instruction, sequences });
        }
    };
    for (to, name) in [(Precision::Int8, "int8 weights"), (Precision::Int4, "int4 weights")] {
        if model.weights(to, 1) < model.weights(setup.weights, 1) {
            let instruction = format!(
                "a checkpoint that is quantised to {} bits",
                if to == Precision::Int8 { 8 } else { 4 }
            );
            add(name, instruction, Setup { weights: to, ..*setup });
        }
    }
    if setup.cache.cached() > 1 {
        add("fp8 KV cache", "--kv-cache-dtype fp8".to_owned(), Setup { cache: Precision::Fp8, ..*setup });
    }
    let half = setup.context / 2;
    if half >= 1 {
        add("half the context", format!("--max-model-len {half}"), Setup { context: half, ..*setup });
    }
    let cards = setup.cards * 2;
    let instruction = format!("--tensor-parallel-size {cards}");
    add(&format!("tensor parallel over {cards}"), instruction, Setup { cards, ..*setup });
    found.sort_by_key(|change| std::cmp::Reverse(change.sequences));
    found
}

/// What the answer for this card does not know.
fn remarks_on(model: &ServedModel, setup: &Setup, card: &Card) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(longest) = model.longest.filter(|longest| setup.context > *longest) {
        remarks.push(format!("the model was made for at most {longest} tokens"));
    }
    if setup.weights == Precision::Bf16 && card.capability.0 < 8 {
        remarks.push(
            "cards before the A100 have no bf16: serve it in fp16 there, which takes the same".to_owned(),
        );
    }
    if setup.cards > 1 {
        remarks.push("what NCCL holds is an estimate of an H200's; it differs with the links".to_owned());
    }
    if !model.is_even() {
        remarks.push(
            "layers of this model keep different amounts: vLLM makes groups of them and may waste some percent of the \
             cache; versions before 0.21 may count every layer in full"
                .to_owned(),
        );
    }
    remarks
}

//! The room that a card leaves for a model's cache, by vLLM's arithmetic.

use oomph_trace::Bytes;
use oomph_trace::cards::Card;

use super::model::{BLOCK, Precision, ServedModel};

/// What captured CUDA graphs hold: vLLM's logs of models of 4 to 30 billion parameters say 0.1 to 0.4 GiB.
const GRAPHS: Bytes = Bytes::mib(512);
/// From this memory on vLLM computes more at a time.
const LARGE: Bytes = Bytes::gib(70);

/// More than there is anywhere: sums stay numbers.
const MOST: u64 = 1 << 60;

/// How a model is served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// What its weights are in.
    pub weights: Precision,
    /// What its cache is in.
    pub cache: Precision,
    /// Tokens of a sequence, prompt and answer.
    pub context: u64,
    /// Sequences at a time; `None`: as many as fit.
    pub sequences: Option<u64>,
    /// Cards that each layer is divided among.
    pub cards: u64,
    /// The share of a card that may be used.
    pub utilization: f64,
    /// What a CUDA context with its libraries holds.
    pub context_bytes: Bytes,
    /// What NCCL holds, where there are several cards.
    pub nccl_bytes: Bytes,
}

impl Setup {
    /// Tokens that are computed at once, and sequences whose next token is chosen at once: vLLM's defaults for a server.
    pub fn at_once(card: &Card) -> (u64, u64) {
        if card.total >= LARGE { (8192, 1024) } else { (2048, 256) }
    }
}

/// A card with a model on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// The weights.
    pub weights: Bytes,
    /// What a prefill takes at its peak.
    pub activations: Bytes,
    /// CUDA graphs, as an allowance.
    pub graphs: Bytes,
    /// The CUDA context, libraries and NCCL.
    pub beside: Bytes,
    /// What may not be used.
    pub kept_free: Bytes,
    /// What is left for the cache.
    pub cache: Bytes,
    /// How much is missing for all but the cache.
    pub missing: Bytes,
    /// What one sequence takes of the cache.
    pub sequence: Bytes,
    /// Tokens that the cache holds: vLLM's "GPU KV cache size".
    pub tokens: u64,
    /// Sequences that it holds: vLLM's "Maximum concurrency".
    pub concurrency: f64,
}

impl Room {
    /// The room on this card.
    pub fn of(model: &ServedModel, setup: &Setup, card: &Card) -> Room {
        let (chunk, choices) = Setup::at_once(card);
        let weights = model.weights(setup.weights, setup.cards);
        let activations = model.activations(setup.weights, setup.cards, chunk, choices);
        let nccl = if setup.cards > 1 { setup.nccl_bytes } else { Bytes::ZERO };
        let beside = setup.context_bytes + nccl;
        let usable = Bytes((card.total.0 as f64 * setup.utilization) as u64);
        let taken = weights + activations + GRAPHS + beside;
        let cache = usable.saturating_sub(taken);
        let sequence = model.sequence(setup.cache, setup.cards, setup.context, chunk);
        let (tokens, concurrency) = capacity(model, setup, chunk, cache);
        Room {
            weights,
            activations,
            graphs: GRAPHS,
            beside,
            kept_free: card.total.saturating_sub(usable),
            cache,
            missing: taken.saturating_sub(usable),
            sequence,
            tokens,
            concurrency,
        }
    }

    /// How many whole sequences fit.
    pub fn sequences(&self) -> u64 {
        self.concurrency as u64
    }

    /// What so many sequences take of the cache.
    pub fn cache_of(&self, sequences: u64) -> Bytes {
        Bytes(self.sequence.0.saturating_mul(sequences).min(MOST))
    }

    /// What so many sequences need of the card, with all else.
    pub fn needed(&self, sequences: u64) -> Bytes {
        self.weights + self.activations + self.graphs + self.beside + self.cache_of(sequences)
    }
}

/// Tokens and sequences that a cache of this size holds, as vLLM counts them: by blocks where every token takes the same,
/// else by what a whole sequence takes.
pub fn capacity(model: &ServedModel, setup: &Setup, chunk: u64, cache: Bytes) -> (u64, f64) {
    let context = setup.context.max(1);
    if model.is_even() {
        let block = model.token(setup.cache, setup.cards).0 * BLOCK;
        let blocks = cache.0.checked_div(block).unwrap_or(0);
        return (blocks * BLOCK, blocks as f64 / context.div_ceil(BLOCK) as f64);
    }
    let sequence = model.sequence(setup.cache, setup.cards, context, chunk);
    let concurrency = if sequence == Bytes::ZERO { 0.0 } else { cache.0 as f64 / sequence.0 as f64 };
    ((concurrency * context as f64) as u64, concurrency)
}

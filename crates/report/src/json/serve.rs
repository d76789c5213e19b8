//! `oomph plan --serve --json`.

use oomph_diagnose::results::serve::{ServeResult, ServedChange, ServedContext};
use oomph_diagnose::serve::model::{CacheLayers, KnownBy, Precision};
use oomph_diagnose::serve::room::Room;
use oomph_trace::Bytes;

use super::SCHEMA;

document! {
    /// `oomph plan --serve`: the answer for one card. A list for several, in the order they were named, and for the table by
    /// their memory.
    pub fn serve(result: &ServeResult) -> Serve with (
        card = &result.card, model = &result.model, setup = &result.setup, room = result.room.as_ref()
    ) {
        /// The schema's number: 1.
        schema: u32 = SCHEMA,
        /// The model's name: that of its folder or file.
        model: String = model.name.clone(),
        /// How its weights are known: built by transformers, or by the configuration's fields.
        known_by: KnownBy = model.known_by,
        /// Its parameters, tied ones once.
        parameters: u64 = model.parameters,
        /// What its layers keep.
        layers: Vec<CacheLayers> = model.layers.clone(),
        /// The longest sequence that it was made for.
        longest: Option<u64> = model.longest,
        /// What its weights are in.
        dtype: Precision = setup.weights,
        /// What its cache is in.
        kv_dtype: Precision = setup.cache,
        /// Tokens of a sequence.
        context: u64 = setup.context,
        /// Sequences that were asked for; null: as many as fit.
        sequences_asked: Option<u64> = setup.sequences,
        /// Cards that each layer is divided among; bytes are those of one.
        tensor_parallel: u64 = setup.cards,
        /// The share of a card that may be used.
        utilization: f64 = setup.utilization,
        /// The card's name on the command line.
        gpu: String = card.short.to_string(),
        /// CUDA's name for it.
        gpu_name: String = card.name.to_string(),
        /// The card's memory.
        total_bytes: Bytes = card.total,
        /// Whether what was asked for fits, or one sequence; null: cannot tell.
        fits: Option<bool> = result.fits(),
        /// How many sequences fit; null, like what follows, where that cannot be told.
        sequences: Option<u64> = room.map(Room::sequences),
        /// The weights.
        weights_bytes: Option<Bytes> = room.map(|room| room.weights),
        /// What a prefill takes beside, by an estimate.
        activations_bytes: Option<Bytes> = room.map(|room| room.activations),
        /// What CUDA graphs hold, as an allowance.
        graphs_bytes: Option<Bytes> = room.map(|room| room.graphs),
        /// What a CUDA context with its libraries holds, and NCCL.
        context_bytes: Option<Bytes> = room.map(|room| room.beside),
        /// What is left for the cache.
        cache_bytes: Option<Bytes> = room.map(|room| room.cache),
        /// What is missing for all but the cache.
        missing_bytes: Option<Bytes> = room.map(|room| room.missing),
        /// What a token takes of the cache in layers that keep every token, and in windows.
        token_bytes: Option<Bytes> = room.map(|_| model.token(setup.cache, setup.cards)),
        /// What a sequence takes of the cache.
        sequence_bytes: Option<Bytes> = room.map(|room| room.sequence),
        /// vLLM's "GPU KV cache size".
        kv_cache_tokens: Option<u64> = room.map(|room| room.tokens),
        /// vLLM's "Maximum concurrency".
        max_concurrency: Option<f64> = room.map(|room| room.concurrency),
        /// The same for other lengths.
        contexts: Vec<ServedContext> = result.contexts.clone(),
        /// Single changes that make room for more sequences, the best first.
        changes: Vec<ServedChange> = result.changes.clone(),
        /// What the answer does not know, in words.
        caveats: Vec<String> = result.remarks.clone(),
        /// Why there is no answer.
        why_not: Option<String> = result.why_not.clone(),
    }
}

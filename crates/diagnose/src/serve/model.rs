//! A model that is served: its weights, and what it keeps for each token and each sequence.

use oomph_trace::{Bytes, named};
use schemars::JsonSchema;
use serde::Serialize;

/// Tokens of a block of the cache: memory for sequences is handed out in these. vLLM's default.
pub const BLOCK: u64 = 16;

named! {
    /// What numbers are kept in.
    Precision {
        /// 4 bytes.
        Fp32 = "fp32" | "float32" | "float",
        /// 2 bytes.
        Bf16 = "bf16" | "bfloat16",
        /// 2 bytes.
        Fp16 = "fp16" | "float16" | "half",
        /// 1 byte.
        Fp8 = "fp8",
        /// 1 byte, and a scale a row of a matrix.
        Int8 = "int8",
        /// Half a byte, and for each group of 128 a scale and a zero point, as GPTQ and AWQ have them.
        Int4 = "int4",
    }
}

impl Precision {
    /// What computing takes for a number, and what is not in matrices: quantised models do both in 2 bytes.
    pub const fn computed(self) -> u64 {
        match self {
            Precision::Fp32 => 4,
            _ => 2,
        }
    }

    /// What a cache takes for a number.
    pub const fn cached(self) -> u64 {
        match self {
            Precision::Fp32 => 4,
            Precision::Bf16 | Precision::Fp16 => 2,
            Precision::Fp8 | Precision::Int8 | Precision::Int4 => 1,
        }
    }
}

named! {
    /// What a layer keeps of a sequence.
    CacheKind {
        /// Keys and values of every token.
        Full = "full",
        /// Those of the last tokens.
        Sliding = "sliding",
        /// What keys and values of a token are computed from (DeepSeek's MLA). It is not divided among cards.
        Latent = "latent",
        /// A state whose size does not depend on the length (Mamba, linear attention).
        State = "state",
    }
}

/// Layers that keep the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CacheLayers {
    /// How many there are.
    pub count: u64,
    /// What they keep.
    pub kind: CacheKind,
    /// Heads of keys and values in each.
    pub heads: u64,
    /// Numbers that each keeps for a token: keys and values of all heads.
    pub per_token: u64,
    /// Numbers that each keeps for a sequence, however long.
    pub fixed: u64,
    /// How many tokens back a sliding layer sees.
    pub window: Option<u64>,
}

impl CacheLayers {
    /// Numbers that a token takes on one of so many cards, in all these layers: heads are divided, or each card has one.
    fn per_token_on(&self, cards: u64) -> u64 {
        let heads = self.heads.max(1);
        let share = match self.kind {
            CacheKind::Latent => heads,
            _ => heads.div_ceil(cards.max(1)),
        };
        self.count * (self.per_token / heads) * share
    }

    /// Tokens that it has room for while a sequence of this length is computed, `chunk` tokens at a time.
    fn tokens(&self, context: u64, chunk: u64) -> u64 {
        let all = context.div_ceil(BLOCK) * BLOCK;
        match self.window {
            // What is seen by the first token of a chunk stays until the chunk is done; the rest of a block on either end.
            Some(window) => all.min((window.saturating_sub(1) + chunk).div_ceil(BLOCK) * BLOCK + BLOCK),
            None => all,
        }
    }
}

named! {
    /// How the model is known.
    KnownBy {
        /// It was built from its configuration, without weights, by transformers.
        Built = "built",
        /// From the fields of its configuration.
        Fields = "fields",
    }
}

/// A model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedModel {
    /// What it is called: the folder's name, or the architecture's.
    pub name: String,
    /// How its weights are known.
    pub known_by: KnownBy,
    /// Its parameters, tied ones once.
    pub parameters: u64,
    /// Those of them in matrices that quantisation takes: neither embeddings nor the last layer.
    pub linear: u64,
    /// The rows of these matrices.
    pub rows: u64,
    /// What its configuration says its weights are in.
    pub precision: Precision,
    /// What its layers keep.
    pub layers: Vec<CacheLayers>,
    /// The width of what passes from layer to layer.
    pub hidden: u64,
    /// The numbers within a layer's widest part, for a token.
    pub inner: u64,
    /// Tokens it knows.
    pub vocabulary: u64,
    /// The longest sequence it was made for.
    pub longest: Option<u64>,
    /// What is not known of it, in words.
    pub remarks: Vec<String>,
}

impl ServedModel {
    /// Its weights in this precision, on one of so many cards.
    pub fn weights(&self, precision: Precision, cards: u64) -> Bytes {
        let rest = self.parameters.saturating_sub(self.linear) * precision.computed();
        let matrices = match precision {
            Precision::Fp32 | Precision::Bf16 | Precision::Fp16 => self.linear * precision.computed(),
            Precision::Fp8 | Precision::Int8 => self.linear + self.rows * 4,
            Precision::Int4 => self.linear / 2 + self.linear / 128 * 5 / 2,
        };
        Bytes((rest + matrices).div_ceil(cards.max(1)))
    }

    /// What a token adds to the cache, on one of so many cards.
    pub fn token(&self, precision: Precision, cards: u64) -> Bytes {
        Bytes(self.layers.iter().map(|layers| layers.per_token_on(cards)).sum::<u64>() * precision.cached())
    }

    /// What a sequence of this length takes of the cache, on one of so many cards, computed `chunk` tokens at a time.
    pub fn sequence(&self, precision: Precision, cards: u64, context: u64, chunk: u64) -> Bytes {
        let of = |layers: &CacheLayers| {
            layers.per_token_on(cards) * layers.tokens(context, chunk)
                + layers.count * layers.fixed.div_ceil(cards.max(1))
        };
        Bytes(self.layers.iter().map(of).sum::<u64>() * precision.cached())
    }

    /// Whether every token of a sequence takes the same.
    pub fn is_even(&self) -> bool {
        self.layers.iter().all(|layers| matches!(layers.kind, CacheKind::Full | CacheKind::Latent))
    }

    /// What computing so many tokens at once takes beside weights and cache, and at the end the choice of the next
    /// token for so many sequences; the larger of the two.
    ///
    /// Within a layer: what comes in, what is carried past and what goes out, and the inner part with its gate and their
    /// product. For a choice: the scores as they are computed, in fp32, and as probabilities.
    pub fn activations(&self, precision: Precision, cards: u64, tokens: u64, sequences: u64) -> Bytes {
        let number = precision.computed();
        let layer = tokens * (3 * self.hidden + self.inner.div_ceil(cards.max(1))) * number;
        let choice = sequences * self.vocabulary * (number + 8);
        Bytes(layer.max(choice))
    }
}

//! A model by the fields of its configuration.

use oomph_diagnose::serve::model::{KnownBy, Precision, ServedModel};
use serde_json::Value;

use super::fields::Fields;
use super::layers::{Heads, by_fields, count, hidden, latent};

/// More parameters than any model has.
const MOST_PARAMETERS: u128 = 1 << 50;
/// Models whose layers have two matrices after attention, and no gate.
const WITHOUT_GATE: [&str; 11] = [
    "gpt2",
    "gpt_neo",
    "gptj",
    "gpt_neox",
    "gpt_bigcode",
    "opt",
    "bloom",
    "falcon",
    "phi",
    "mpt",
    "starcoder2",
];

/// The model as far as the fields tell. Without layers where they do not.
pub(super) fn model(fields: &Fields) -> ServedModel {
    let mut remarks = Vec::new();
    let layers = by_fields(fields).unwrap_or_else(|why| {
        remarks.push(why);
        Vec::new()
    });
    let width = hidden(fields).unwrap_or(0);
    let vocabulary = fields.number(&["vocab_size"]).unwrap_or(0);
    let (parameters, linear, rows) = counted(fields, width, vocabulary).unwrap_or_default();
    ServedModel {
        name: fields.name(),
        known_by: KnownBy::Fields,
        parameters,
        linear,
        rows,
        precision: fields.precision().unwrap_or(Precision::Bf16),
        layers,
        hidden: width,
        inner: inner(fields, width),
        vocabulary,
        longest: fields
            .value("max_position_embeddings")
            .or_else(|| fields.value("n_positions"))
            .and_then(Value::as_u64),
        remarks,
    }
}

/// The width of the part after attention.
fn wide(fields: &Fields, width: u64) -> u64 {
    let names = ["intermediate_size", "n_inner", "ffn_dim", "d_ff", "ffn_hidden_size", "d_inner"];
    fields.number(&names).unwrap_or(4 * width)
}

/// Experts in all, those of a token, and how wide each is.
fn experts(fields: &Fields, width: u64) -> Option<(u64, u64, u64)> {
    let all =
        fields.number(&["n_routed_experts", "num_local_experts", "num_experts"]).filter(|all| *all > 1)?;
    let taken = fields.number(&["num_experts_per_tok", "experts_per_token"]).unwrap_or(2);
    let each = fields.number(&["moe_intermediate_size"]).unwrap_or_else(|| wide(fields, width));
    Some((all, taken, each))
}

/// The numbers within a layer's widest part, for a token: of experts each one's, with what it gives back.
fn inner(fields: &Fields, width: u64) -> u64 {
    let dense = 3 * wide(fields, width);
    experts(fields, width).map_or(dense, |(_, taken, each)| dense.max(taken * (3 * each + width)))
}

/// Parameters, those in matrices, and the rows of these; none where they are more than any model has. Biases and norms are
/// small and left out.
fn counted(fields: &Fields, width: u64, vocabulary: u64) -> Option<(u64, u64, u64)> {
    let count = u128::from(count(fields)?);
    let (wide, width) = (u128::from(wide(fields, width)), u128::from(width));
    let gate = !WITHOUT_GATE.contains(&fields.word("model_type").unwrap_or_default());
    let matrices = if gate { 3 } else { 2 };
    let dense = matrices * width * wide;
    let dense_first = fields.number(&["first_k_dense_replace"]).map_or(0, u128::from).min(count);
    let after = match experts(fields, hidden(fields)?) {
        Some((all, _, each)) => {
            let (all, each) = (u128::from(all), u128::from(each));
            let shared = fields.number(&["n_shared_experts"]).map_or(0, u128::from);
            let sparse = (all + shared) * matrices * width * each + width * all;
            dense_first * dense + (count - dense_first) * sparse
        }
        None => count * dense,
    };
    let linear = count * attention(fields, width)? + after;
    let ties = fields.flag("tie_word_embeddings").unwrap_or(!gate);
    let tables = u128::from(vocabulary) * width * if ties { 1 } else { 2 };
    let is_possible = width > 0 && vocabulary > 0 && linear + tables <= MOST_PARAMETERS;
    let number = |n: u128| u64::try_from(n).ok().filter(|_| is_possible);
    Some((number(linear + tables)?, number(linear)?, number(linear / width)?))
}

/// The matrices of one layer's attention.
fn attention(fields: &Fields, width: u128) -> Option<u128> {
    let heads = Heads::of(fields)?;
    let (queries, keys) = (u128::from(heads.queries), u128::from(heads.keys));
    if latent(fields).is_none() {
        return Some(width * u128::from(heads.width) * (2 * queries + 2 * keys));
    }
    let number = |name: &str| fields.number(&[name]).map_or(0, u128::from);
    let (rank, rope, nope) = (number("kv_lora_rank"), number("qk_rope_head_dim"), number("qk_nope_head_dim"));
    let (value, low) = (number("v_head_dim"), number("q_lora_rank"));
    let asks = queries * (nope + rope);
    let asked = if low > 0 { low * (width + asks) } else { width * asks };
    Some(asked + width * (rank + rope) + rank * queries * (nope + value) + queries * value * width)
}

/// What is to be said of the precision that is taken.
pub(super) fn remarks(fields: &Fields) -> Vec<String> {
    let mut remarks = Vec::new();
    if fields.is_quantised() && fields.precision().is_none() {
        remarks.push("how its weights are quantised is not known here: they are counted in bf16; --dtype says otherwise".to_owned());
    } else if fields.precision().is_none() {
        remarks.push("the configuration does not say what its weights are in: taken as bf16".to_owned());
    }
    if fields.is_mxfp4() {
        remarks.push("kernels for mxfp4 pad experts: the weights may take up to a tenth more".to_owned());
    }
    remarks
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_by_fields_are_near_those_of_the_model() {
        let llama = json!({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128_256, "tie_word_embeddings": false});
        let gpt2 =
            json!({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257});
        let deepseek = json!({"model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944,
            "moe_intermediate_size": 1408, "num_hidden_layers": 27, "num_attention_heads": 16, "vocab_size": 102_400,
            "kv_lora_rank": 512, "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
            "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1,
            "tie_word_embeddings": false});
        for (config, real) in [(llama, 8_030_261_248_u64), (gpt2, 124_439_808), (deepseek, 15_706_484_224)] {
            let found = model(&Fields::of(config)).parameters;
            let off = found as f64 / real as f64 - 1.0;
            assert!(off.abs() < 0.01, "{found} is {off:+.4} off {real}");
        }
    }

    #[test]
    fn numbers_that_no_model_has_end_in_no_answer() {
        let most = 1 << 20;
        let huge = json!({"model_type": "llama", "hidden_size": most, "intermediate_size": most, "num_hidden_layers": 4096,
            "num_attention_heads": most, "head_dim": most, "vocab_size": most, "num_experts": most,
            "num_experts_per_tok": most, "max_position_embeddings": u64::MAX});
        assert_eq!(model(&Fields::of(huge)).parameters, 0);
        assert_eq!(model(&Fields::of(json!({"model_type": "x", "num_hidden_layers": -3}))).layers, []);
    }

    #[test]
    fn precision_is_what_the_configuration_says() {
        let of = |more| Fields::of(more).precision();
        assert_eq!(of(json!({"torch_dtype": "float16"})), Some(Precision::Fp16));
        assert_eq!(
            of(json!({"dtype": "bfloat16", "quantization_config": {"quant_method": "awq", "bits": 4}})),
            Some(Precision::Int4)
        );
        let groups = json!({"group_0": {"weights": {"num_bits": 8, "type": "float"}}});
        assert_eq!(of(json!({"quantization_config": {"config_groups": groups}})), Some(Precision::Fp8));
        assert_eq!(of(json!({"dtype": "bfloat16", "quantization_config": {"quant_method": "new"}})), None);
        assert_eq!(of(json!({})), None);
    }
}

//! What the layers of a model keep of a sequence, by the fields of its configuration.

use oomph_diagnose::serve::model::{CacheKind, CacheLayers};

use super::fields::Fields;

/// The most layers that a model may have: what is computed of them stays a number.
pub(super) const MOST: u64 = 4096;
/// The most numbers that keys or values of a token may have, in a layer.
const MOST_NUMBERS: u64 = 1 << 19;

/// Heads, and how wide a head is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heads {
    /// Of queries.
    pub(super) queries: u64,
    /// Of keys and values.
    pub(super) keys: u64,
    /// Numbers a head.
    pub(super) width: u64,
}

impl Heads {
    pub(super) fn of(fields: &Fields) -> Option<Heads> {
        let queries = fields.number(&["num_attention_heads", "n_head", "n_heads", "num_heads"])?;
        let hidden = hidden(fields)?;
        let width = fields.number(&["head_dim"]).or_else(|| hidden.checked_div(queries))?;
        // Falcon's older models have one head of keys and values whatever else they say.
        let is_old_falcon = fields.word("model_type") == Some("falcon")
            && fields.flag("new_decoder_architecture") != Some(true);
        let keys = if fields.flag("multi_query") == Some(true)
            && (is_old_falcon || fields.number(&["num_key_value_heads"]).is_none())
        {
            1
        } else if is_old_falcon {
            queries
        } else {
            fields.number(&["num_key_value_heads", "num_kv_heads", "n_head_kv"]).unwrap_or(queries)
        };
        let is_possible = queries > 0 && (1..=MOST_NUMBERS).contains(&(keys * width));
        is_possible.then_some(Heads { queries, keys, width })
    }
}

/// The width of what passes from layer to layer.
pub(super) fn hidden(fields: &Fields) -> Option<u64> {
    fields.number(&["hidden_size", "n_embd", "d_model", "dim"])
}

/// How many layers there are.
pub(super) fn count(fields: &Fields) -> Option<u64> {
    fields.number(&["num_hidden_layers", "n_layer", "n_layers", "num_layers"]).filter(|count| *count <= MOST)
}

/// Numbers that a layer keeps of a token where it keeps only what keys and values are computed from.
pub(super) fn latent(fields: &Fields) -> Option<u64> {
    Some(fields.number(&["kv_lora_rank"])? + fields.number(&["qk_rope_head_dim"])?)
}

/// The layers. `Err` says what the fields do not tell.
pub(super) fn by_fields(fields: &Fields) -> Result<Vec<CacheLayers>, String> {
    let count = count(fields).ok_or("the configuration does not say how many layers there are")?;
    if let Some(per_token) = latent(fields) {
        let layer =
            CacheLayers { count, kind: CacheKind::Latent, heads: 1, per_token, fixed: 0, window: None };
        return Ok(vec![layer]);
    }
    let heads = Heads::of(fields).ok_or("the configuration does not say how many heads attention has")?;
    let window = fields.number(&["sliding_window"]);
    let layer = |is_sliding: bool| CacheLayers {
        count: 1,
        kind: if is_sliding && window.is_some() { CacheKind::Sliding } else { CacheKind::Full },
        heads: heads.keys,
        per_token: 2 * heads.keys * heads.width,
        fixed: 0,
        window: window.filter(|_| is_sliding),
    };
    let mut all = Vec::new();
    match fields.layer_types() {
        Some(types) if types.len() as u64 >= count => {
            for name in types.into_iter().take(count as usize) {
                match name {
                    "full_attention" | "attention" => all.push(layer(false)),
                    "sliding_attention" => all.push(layer(true)),
                    other => {
                        return Err(format!(
                            "what layers of the kind {other} keep is not in the configuration"
                        ));
                    }
                }
            }
        }
        _ if is_without_attention(fields) => {
            return Err("what its layers keep is not in the configuration".to_owned());
        }
        _ => all.extend((0..count).map(|number| layer(is_sliding(fields, number)))),
    }
    Ok(grouped(all))
}

/// Whether some layers keep a state, and which is not said layer by layer.
fn is_without_attention(fields: &Fields) -> bool {
    [
        "attn_layer_period",
        "layers_block_type",
        "ssm_cfg",
        "state_size",
        "mamba_d_state",
        "hybrid_override_pattern",
    ]
    .iter()
    .any(|name| fields.value(name).is_some())
}

/// Whether a layer slides, where the configuration does not list them.
fn is_sliding(fields: &Fields, number: u64) -> bool {
    let kind = fields.word("model_type").unwrap_or_default();
    let pattern = fields.number(&["sliding_window_pattern", "_sliding_window_pattern"]);
    let is_used = fields.flag("use_sliding_window").unwrap_or(!kind.starts_with("qwen"));
    match (pattern, kind) {
        (Some(period), _) if period > 0 => !(number + 1).is_multiple_of(period),
        (_, "gemma2" | "gpt_oss") => number.is_multiple_of(2),
        (_, "gemma3" | "gemma3_text") => !(number + 1).is_multiple_of(6),
        _ => {
            is_used
                && number
                    >= fields.number(&["max_window_layers"]).filter(|_| kind.starts_with("qwen")).unwrap_or(0)
        }
    }
}

/// Layers that keep the same, counted.
pub(super) fn grouped(layers: Vec<CacheLayers>) -> Vec<CacheLayers> {
    let mut groups: Vec<CacheLayers> = Vec::new();
    for layer in layers {
        let same =
            |group: &&mut CacheLayers| CacheLayers { count: layer.count, ..(**group).clone() } == layer;
        match groups.iter_mut().find(same) {
            Some(group) => group.count += layer.count,
            None => groups.push(layer),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// `12 sliding of 2×64, window 128`.
    fn shown(config: Value) -> String {
        let layers = by_fields(&Fields::of(config)).map(|layers| {
            let one = |layers: &CacheLayers| {
                let window = layers.window.map(|window| format!(" window {window}")).unwrap_or_default();
                format!(
                    "{} {} {}×{}{window}",
                    layers.count,
                    layers.kind.name(),
                    layers.heads,
                    layers.per_token
                )
            };
            layers.iter().map(one).collect::<Vec<String>>().join(", ")
        });
        layers.unwrap_or_else(|why| why)
    }

    /// 6 layers, 256 wide, 8 heads of 32; and what else is said.
    fn config(kind: &str, more: Value) -> Value {
        let mut all = json!({
            "model_type": kind, "hidden_size": 256, "num_hidden_layers": 6, "num_attention_heads": 8, "vocab_size": 1000,
        });
        if let Value::Object(more) = more {
            more.into_iter().for_each(|(name, value)| all[name] = value);
        }
        all
    }

    #[test]
    fn every_kind_of_attention_is_read() {
        assert_eq!(shown(config("opt", json!({}))), "6 full 8×512");
        assert_eq!(shown(config("llama", json!({"num_key_value_heads": 2}))), "6 full 2×128");
        assert_eq!(shown(config("llama", json!({"num_key_value_heads": 2, "head_dim": 64}))), "6 full 2×256");
        assert_eq!(shown(config("gpt_bigcode", json!({"multi_query": true}))), "6 full 1×64");
        let latent = json!({"kv_lora_rank": 512, "qk_rope_head_dim": 64});
        assert_eq!(shown(config("deepseek_v3", latent)), "6 latent 1×576");
        let window = json!({"sliding_window": 64, "num_key_value_heads": 2});
        assert_eq!(shown(config("mistral", window.clone())), "6 sliding 2×128 window 64");
        assert_eq!(shown(config("qwen2", window.clone())), "6 full 2×128");
        assert_eq!(shown(config("gemma3_text", window)), "5 sliding 2×128 window 64, 1 full 2×128");
        let listed = json!({"sliding_window": 64, "layer_types": ["sliding_attention", "full_attention", "full_attention",
            "full_attention", "full_attention", "full_attention"]});
        assert_eq!(shown(config("new", listed)), "1 sliding 8×512 window 64, 5 full 8×512");
        let nested =
            json!({"model_type": "vlm", "text_config": config("llama", json!({"num_key_value_heads": 4}))});
        assert_eq!(shown(nested), "6 full 4×256");
    }

    #[test]
    fn what_the_fields_do_not_tell_is_said() {
        let linear = json!({"layer_types": vec!["linear_attention"; 6]});
        assert_eq!(
            shown(config("new", linear)),
            "what layers of the kind linear_attention keep is not in the configuration"
        );
        assert_eq!(
            shown(config("mamba", json!({"state_size": 16}))),
            "what its layers keep is not in the configuration"
        );
        let many = json!({"num_hidden_layers": u64::MAX});
        assert_eq!(shown(config("llama", many)), "the configuration does not say how many layers there are");
        let none = json!({"num_attention_heads": 0});
        assert_eq!(
            shown(config("llama", none)),
            "the configuration does not say how many heads attention has"
        );
    }
}

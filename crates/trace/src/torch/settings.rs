//! The allocator's settings as the snapshot states them.

use super::lookup::Dict;
use super::records::{Records, TorchHeap, TorchValue};
use super::words;
use crate::pickle::Value;
use crate::snapshot::RecordedSettings;
use crate::units::Bytes;

/// Reads `allocator_settings`. A setting of the wrong type counts as missing: a snapshot is useful without its
/// settings.
pub(super) fn settings(
    value: TorchValue,
    records: &mut Records,
    heap: &mut TorchHeap,
) -> Option<RecordedSettings> {
    let dict = Dict::take(value, heap)?;
    records.fields.record_stream_reuse |= dict.has(words::RECORD_STREAM_REUSE);
    records.fields.max_round_threshold |=
        dict.has(words::MAX_ROUND_THRESHOLD) || dict.has(words::MAX_CACHED_SIZE);
    let conf = match dict.get(words::CONF) {
        Some(Value::Text(text)) if text != words::EMPTY => Some(heap.texts.get(text).to_owned()),
        _ => None,
    };
    let threshold = match dict.get(words::GC_THRESHOLD) {
        Some(Value::Float(threshold)) => threshold,
        Some(Value::Int(threshold)) => threshold as f64,
        _ => 0.0,
    };
    Some(RecordedSettings {
        conf,
        // PyTorch writes -1 for "unlimited".
        max_split_size: dict.get(words::MAX_SPLIT_SIZE).and_then(Value::as_u64).map(Bytes),
        // PyTorch accepts nothing else.
        garbage_collection_threshold: if (0.0..1.0).contains(&threshold) { threshold } else { 0.0 },
        expandable_segments: matches!(dict.get(words::EXPANDABLE_SEGMENTS), Some(Value::Bool(true))),
        roundup_power2_divisions: divisions(dict.get(words::ROUNDUP), heap),
    })
}

/// The divisions per slot. The keys are the texts `1`, `2`, `4` up to `32768`, in MiB: slot n holds key 2^n.
fn divisions(value: Option<TorchValue>, heap: &mut TorchHeap) -> [u32; 16] {
    let mut slots = [0; 16];
    let Some(dict) = value.and_then(|value| Dict::take(value, heap)) else { return slots };
    for (key, count) in dict.pairs() {
        let key = match key {
            Value::Text(text) => heap.texts.get(text).parse().ok(),
            other => other.as_u64(),
        };
        let slot = key.filter(|key| key.is_power_of_two()).map(u64::trailing_zeros);
        let count = count.as_u64().and_then(|count| u32::try_from(count).ok());
        if let (Some(place), Some(count)) = (slot.and_then(|slot| slots.get_mut(slot as usize)), count) {
            *place = count;
        }
    }
    slots
}

//! A file for speedscope.app: the stacks at the peak, weighed by what they hold.

use std::collections::BTreeMap;

use oomph_diagnose::stacks_at_peak::HeldStack;
use oomph_trace::Bytes;
use serde_json::{Value, json};

/// A profile for each device.
pub fn speedscope(devices: &[(i32, Vec<HeldStack>)]) -> String {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut names: Vec<Value> = Vec::new();
    let mut profiles: Vec<Value> = Vec::new();
    for (device, stacks) in devices {
        let mut samples = Vec::new();
        for stack in stacks {
            let mut sample = Vec::new();
            for frame in &stack.frames {
                let place = *places.entry(frame).or_insert_with(|| {
                    names.push(json!({ "name": frame }));
                    names.len() - 1
                });
                sample.push(place);
            }
            samples.push(sample);
        }
        let weights: Vec<u64> = stacks.iter().map(|stack| stack.bytes.0).collect();
        profiles.push(json!({
            "type": "sampled",
            "name": format!("GPU {device}, in use at the peak"),
            "unit": "bytes",
            "startValue": 0,
            "endValue": stacks.iter().map(|stack| stack.bytes).sum::<Bytes>().0,
            "samples": samples,
            "weights": weights,
        }));
    }
    let document = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "oomph",
        "name": "memory in use at the peak",
        "shared": { "frames": names },
        "profiles": profiles,
    });
    document.to_string() + "\n"
}

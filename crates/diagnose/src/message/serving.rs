//! Programs that serve models: vLLM, SGLang, llama.cpp, ollama, MLX, ComfyUI.

use super::facts::Framework::{self, ComfyUi, LlamaCpp, Mlx, Vllm};
use super::phrases::Number::{Free, Total, Tried};
use super::phrases::Phrase;
use super::size;
use super::text::{after, all, around, find};
use super::verdict::Confidence::{High, Low, Medium};
use super::wording::{Kind, Message};
use crate::cause::Cause::{Capacity, Disguised, OtherProcess, Unknown};

const KV: &str =
    "what the weights and a trial run left for the KV cache is less than the longest request needs";

pub(super) const PHRASES: &[Phrase] = &[
    Phrase::of(
        Vllm,
        Disguised,
        High,
        "No available memory for the cache blocks",
        "the weights and a trial run used up the share of the device that vLLM may have; nothing is left for the KV cache",
    ),
    Phrase::of(
        Vllm,
        OtherProcess,
        High,
        "Free memory on device",
        "less was free at the start than vLLM was told to take: somebody else holds it",
    )
    .near("is less than desired"),
    Phrase::of(Vllm, Capacity, High, "KV cache is needed, which is larger than", KV)
        .with(&[(Free, "available KV cache memory")]),
    Phrase::of(Vllm, Capacity, High, "tokens that can be stored in KV cache", KV),
    Phrase::of(
        Mlx,
        Capacity,
        Medium,
        "CallbackErrorOutOfMemory",
        "the GPU of a Mac shares the computer's memory, and a command needed more of it than Metal may use",
    ),
    Phrase::of(
        Mlx,
        Capacity,
        High,
        "greater than the maximum allowed buffer size of ",
        "one buffer is larger than Metal allows",
    )
    .with(&[(Tried, "Attempting to allocate "), (Total, "allowed buffer size of ")]),
    Phrase::of(
        LlamaCpp,
        Capacity,
        Medium,
        "failed to allocate buffer for kv cache",
        "the KV cache is sized for the whole context, and found no room beside the weights",
    )
    .bare(),
    Phrase::of(LlamaCpp, Capacity, Low, "ggml-cuda", "a buffer found no room beside what is loaded")
        .near(": out of memory")
        .bare(),
    Phrase::of(
        LlamaCpp,
        Capacity,
        Low,
        "ErrorOutOfDeviceMemory",
        "a buffer did not fit into what the device had left",
    ),
    Phrase::of(
        LlamaCpp,
        Capacity,
        Medium,
        "error: failed to allocate buffer, size =",
        "a buffer did not fit into what the device had left",
    )
    .with(&[(Tried, "allocate buffer, size =")]),
    Phrase::of(
        ComfyUi,
        Unknown,
        Medium,
        "Got an OOM, unloading all loaded models",
        "ComfyUI says that it happened and prints no numbers",
    )
    .bare(),
    Phrase::of(
        ComfyUi,
        Unknown,
        Medium,
        "This error means you ran out of memory on your GPU",
        "ComfyUI says that it happened and prints no numbers",
    )
    .bare(),
];

pub(super) fn find_all(text: &str, found: &mut Vec<Message>) {
    shares(text, found);
    buffers(text, found);
}

/// `Free memory on device (5.73/23.64 GiB) on startup is less than desired GPU memory utilization (0.9, 21.28 GiB)`,
/// and how large the KV cache had to be. The numbers stand before their unit or before the phrase.
fn shares(text: &str, found: &mut [Message]) {
    for report in found.iter_mut().filter(|report| report.framework == Vllm) {
        let message = &text[report.span.start..around(text, &report.span, 0, 200).end];
        if let Some(pair) = after(message, "Free memory on device")
            .and_then(|rest| rest.split_once('('))
            .map(|(_, rest)| rest)
            && let Some((free, rest)) = pair.split_once('/')
            && let Some((total, _)) = size::leading(rest)
        {
            report.facts.free = size::leading(&format!("{free} GiB")).map(|(bytes, _)| bytes);
            report.facts.total = Some(total);
            report.facts.tried = after(message, "utilization (")
                .and_then(|rest| rest.split_once(','))
                .and_then(|(_, rest)| size::leading(rest))
                .map(|(bytes, _)| bytes);
        }
        if message.starts_with("KV cache is needed") {
            let before = &text[around(text, &report.span, 30, 0).start..report.span.start];
            let words: Vec<&str> = before.split_whitespace().rev().take(2).collect();
            if let [unit, number] = words.as_slice() {
                let amount = format!("{} {unit}", number.trim_start_matches(['(', ',']));
                report.facts.tried = size::leading(&amount).map(|(bytes, _)| bytes);
            }
        }
    }
}

/// llama.cpp: `allocating 144817.04 MiB on device 0: cudaMalloc failed: out of memory`, then the exact size and what
/// the buffer was for.
fn buffers(text: &str, found: &mut Vec<Message>) {
    let mut last_end = 0;
    for anchor in all(text, "buffer of size ")
        .chain(all(text, "cudaMalloc failed: out of memory"))
        .chain(all(text, "ggml_cuda_host_malloc: failed"))
    {
        let near = around(text, &anchor, 300, 500);
        let head = around(text, &anchor, 300, 0).start;
        let is_ggml = ["ggml", "llama", "alloc_tensor_range"]
            .iter()
            .any(|name| find(&text[near.clone()], name).is_some());
        let is_failure = find(&text[head..anchor.end], "failed").is_some();
        if !is_ggml || !is_failure || anchor.start < last_end {
            continue;
        }
        last_end = near.end;
        let message = &text[near.clone()];
        let says = |phrase: &str| find(message, phrase).is_some();
        let (cause, why) = if says("ggml_cuda_host_malloc") {
            (
                crate::cause::Cause::HostMemory,
                "page-locked memory of the host was refused; llama.cpp goes on without it",
            )
        } else if says("compute buffer")
            || says("compute pp buffers")
            || says("graph_reserve")
            || says("gallocr")
        {
            (
                Unknown,
                "the weights and the cache found room, the buffer for computing did not; what the device had left is not printed",
            )
        } else {
            (Capacity, "the weights or the cache need more than the device has left when the model is loaded")
        };
        let kind = if cause == crate::cause::Cause::HostMemory { Kind::Warning } else { Kind::Wording };
        let mut report = Message::new(anchor.clone(), Framework::LlamaCpp, kind).told(
            cause,
            if cause == Unknown { High } else { Medium },
            why,
        );
        let exact = after(message, "buffer of size ").and_then(size::leading_bytes);
        let printed = after(message, "allocating ")
            .or_else(|| after(message, "failed to allocate "))
            .and_then(size::leading);
        report.facts.tried = exact.or(printed).map(|(bytes, _)| bytes);
        report.facts.device = after(message, "on device ")
            .and_then(size::leading_number)
            .and_then(|(index, _)| index.try_into().ok());
        found.push(report);
    }
    for anchor in all(text, "CUDA error: out of memory") {
        let near = &text[around(text, &anchor, 200, 200)];
        if find(near, "current device:").is_some() || find(near, "ggml").is_some() {
            let why = "a buffer for computing found no room beside the weights and the cache";
            found.push(Message::new(anchor, LlamaCpp, Kind::Bare).told(Capacity, Low, why));
        }
    }
}

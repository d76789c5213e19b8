//! What stands around a message: the exception's class, and the program that runs the framework.

use std::ops::Range;

use super::facts::Framework;
use super::text::{Text, around, find};
use super::traceback::Frame;

/// The exception's class as printed right before a message, on its own line.
pub(super) fn class(text: &Text, span: &Range<usize>) -> Option<String> {
    let line = text.line_of(span.start);
    // A message that begins with its class is found at the class; else the class stands before it.
    let before = &text.flat[text.span(line).start..span.end.min(text.span(line).end)];
    let words = before.split([' ', '`', '\'', '"', '>', '(']);
    let is_class = |word: &&str| {
        let name = word.rsplit('.').next().unwrap_or(word);
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && ["Error", "Exception", "Failure"].iter().any(|end| name.ends_with(end))
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    words.filter_map(|word| word.strip_suffix(':')).rfind(is_class).map(str::to_owned)
}

/// The program that runs PyTorch, where lines around the message show it.
pub(super) fn host_program(text: &Text, span: &Range<usize>, frames: &[Frame]) -> Option<Framework> {
    let near = around(&text.flat, span, 300, 400);
    let says = |phrase: &str| find(&text.flat[near.clone()], phrase).is_some();
    let prefix = &text.prefixes[text.line_of(span.start)];
    let runs = |part: &str| {
        let is = |frame: &Frame| frame.file.replace('\\', "/").to_ascii_lowercase().contains(part);
        frames.iter().any(is)
    };
    if prefix.contains("VllmWorker") || prefix.contains("EngineCore") || runs("/vllm/") {
        Some(Framework::Vllm)
    } else if says("Capture cuda graph failed") || runs("/sglang/") {
        Some(Framework::Sglang)
    } else if says("Torch active/reserved:") || runs("stable-diffusion-webui") {
        Some(Framework::StableDiffusionWebUi)
    } else if says("This error means you ran out of memory on your GPU")
        || says("Got an OOM, unloading")
        || runs("comfyui")
    {
        Some(Framework::ComfyUi)
    } else {
        None
    }
}

//! From a cause to changes, ranked, and the popular changes that do not help here, each with its reason.

use super::facts::{Facts, Framework};
use super::place::Shape;
use super::verdict::Verdict;
use crate::advice::{Advice, How};
use crate::cause::Cause;
use crate::phase::Phase;

fn advice(title: &'static str, helps: bool, how: How, why: impl Into<String>) -> Advice {
    Advice { title, in_use: None, helps, how, why: why.into() }
}

fn practice(title: &'static str, why: &str) -> Advice {
    advice(title, true, How::Practice, why)
}

fn useless(title: &'static str, how: How, why: impl Into<String>) -> Advice {
    advice(title, false, how, why)
}

/// The changes for one message: those that help first.
pub(super) fn fixes(
    framework: Framework,
    facts: &Facts,
    verdict: &Verdict,
    phase: Option<Phase>,
    shape: Option<Shape>,
) -> Vec<Advice> {
    let mut fixes: Vec<Advice> = shape.into_iter().map(of_shape).collect();
    match verdict.cause {
        Cause::Capacity => capacity(framework, facts, phase, &mut fixes),
        Cause::Fragmentation => fragmentation(framework, facts, &mut fixes),
        Cause::Leak => fixes.extend([
            practice(
                "keep numbers, not tensors: loss.item(), .detach().cpu()",
                "a tensor kept from a step keeps its whole graph",
            ),
            useless("smaller batch", How::Practice, "growth reaches the limit all the same, later"),
            useless(
                "torch.cuda.empty_cache()",
                How::Practice,
                "it frees only what nothing refers to; what grows is referred to",
            ),
        ]),
        Cause::OtherProcess => other_process(framework, facts, &mut fixes),
        Cause::HostMemory => host(framework, &mut fixes),
        Cause::Disguised => fixes.extend(disguised(framework)),
        Cause::Unknown => {
            if let Some(ask) = verdict.ask {
                fixes.push(practice(ask, "the message alone does not tell the cause"));
            }
        }
    }
    fixes.sort_by_key(|fix| !fix.helps);
    fixes
}

fn of_shape(shape: Shape) -> Advice {
    let title = match shape {
        Shape::LogitsCopy => {
            "compute the loss in chunks of the sequence, or a fused cross entropy; keep logits in half precision"
        }
        Shape::OptimizerState => {
            "an optimizer with less state (8-bit Adam, Adafactor) or sharded state (ZeRO, FSDP)"
        }
        Shape::EvaluationGraphs => "evaluate under torch.inference_mode()",
        Shape::PredictionsOnDevice => {
            "move each batch's predictions to the CPU (Trainer: eval_accumulation_steps)"
        }
        Shape::CheckpointOnDevice => "torch.load(…, map_location=\"cpu\"), mmap=True",
        Shape::RetryInHandler => {
            "leave the `except` block before retrying, so that the failed step's tensors go"
        }
        Shape::ModelMove => "load in half or 8-bit precision, or spread over devices (device_map=\"auto\")",
        Shape::PinnedMemory => "pin_memory=False, fewer workers, smaller prefetch_factor",
    };
    practice(title, shape.sentence())
}

fn capacity(framework: Framework, facts: &Facts, phase: Option<Phase>, fixes: &mut Vec<Advice>) {
    let trains = !matches!(phase, Some(Phase::Evaluation | Phase::CheckpointLoad));
    match framework {
        Framework::Vllm | Framework::Sglang => fixes.extend([
            practice(
                "shorter max_model_len, fewer max_num_seqs",
                "the KV cache and the trial run are sized for them",
            ),
            practice(
                "quantised weights, or tensor_parallel_size over more devices",
                "weights are the largest part",
            ),
        ]),
        Framework::LlamaCpp | Framework::Ollama => fixes.extend([practice(
            "fewer layers on the device (-ngl), a smaller context (-c), a smaller quantisation",
            "weights and KV cache are what fills it",
        )]),
        _ => {
            if trains {
                fixes.push(practice(
                    "smaller micro-batch with gradient accumulation, same effective batch",
                    "activations shrink with the micro-batch",
                ));
                fixes.push(practice(
                    "gradient checkpointing",
                    "activations are computed again instead of kept",
                ));
            }
            fixes.push(practice("mixed precision (bfloat16)", "activations take half"));
            match framework {
                Framework::Jax | Framework::Tpu => fixes.push(practice(
                    "donate what a step replaces (jax.jit(…, donate_argnums=…)), jax.checkpoint around layers",
                    "old and new parameters then share memory; what is checkpointed is computed again",
                )),
                Framework::TensorFlow => fixes.push(practice(
                    "model(x, training=False) or model.predict where nothing is trained, outside of GradientTape",
                    "nothing is kept for gradients",
                )),
                _ => fixes.push(practice(
                    "torch.no_grad() or inference_mode() where nothing is trained",
                    "no graph is kept",
                )),
            }
        }
    }
    if !framework.is_pytorch() {
        return;
    }
    if let (Some(tried), Some(free), Some(cached)) = (facts.tried, facts.free, facts.cached()) {
        let usable = free + cached;
        let short = if usable < tried {
            format!(
                "all cached memory ({cached}) and all free ({free}) make {usable}; the request is {tried}"
            )
        } else {
            format!("at best it wins {cached}; {usable} for a request of {tried} leaves nothing for the next")
        };
        fixes.push(useless("expandable_segments:True, max_split_size_mb", How::Computed, short));
        let why = format!(
            "PyTorch has already tried to release its cache before it failed; {cached} is what is left of it"
        );
        fixes.push(useless("torch.cuda.empty_cache()", How::Computed, why));
    }
}

fn fragmentation(framework: Framework, facts: &Facts, fixes: &mut Vec<Advice>) {
    if framework == Framework::TensorFlow {
        fixes.push(practice("TF_GPU_ALLOCATOR=cuda_malloc_async", "the driver's pool maps pieces together"));
        return;
    }
    if framework == Framework::Jax || framework == Framework::Tpu {
        fixes.push(practice(
            "XLA_PYTHON_CLIENT_PREALLOCATE=true (the default)",
            "one region from the start is cut into fewer pieces",
        ));
        return;
    }
    let cached = facts.cached().map_or_else(String::new, |cached| format!("{cached} is cached; "));
    let how = if cached.is_empty() { How::Practice } else { How::Computed };
    let why = format!(
        "{cached}segments that grow can join it. Breaks tensors shared between processes (IPC) and some memory pools"
    );
    fixes.push(advice("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", true, how, why));
    fixes
        .push(practice("record a snapshot and run: oomph tune SNAPSHOT", "replay proves which setting fits"));
    fixes.push(useless(
        "torch.cuda.empty_cache()",
        How::Practice,
        "PyTorch has already released every segment that is wholly free; the rest is in use in part",
    ));
}

fn other_process(framework: Framework, facts: &Facts, fixes: &mut Vec<Advice>) {
    let held = facts.other_process.or(facts.outside());
    let why = held.map_or_else(
        || "the device was not empty".to_owned(),
        |held| format!("{held} is held outside this process"),
    );
    let how = if held.is_some() { How::Computed } else { How::Practice };
    fixes.push(advice("end the other process, restart the notebook's kernel, or choose another device (CUDA_VISIBLE_DEVICES)", true, how, why));
    if framework == Framework::TensorFlow {
        fixes.push(practice(
            "TF_FORCE_GPU_ALLOW_GROWTH=true",
            "takes what is needed instead of nearly all at the start",
        ));
    }
    if framework == Framework::Vllm {
        fixes.push(practice("lower gpu_memory_utilization", "vLLM then takes less than what is left"));
    }
    fixes.push(useless(
        "torch.cuda.empty_cache()",
        How::Practice,
        "it cannot free what another process holds",
    ));
    fixes.push(useless(
        "expandable_segments:True",
        How::Practice,
        "this process's own cache is not what is missing",
    ));
}

fn host(framework: Framework, fixes: &mut Vec<Advice>) {
    match framework {
        Framework::PyTorchDataLoader => fixes.extend([
            practice(
                "a larger /dev/shm (docker run --shm-size=8g, or --ipc=host)",
                "workers pass batches through shared memory",
            ),
            practice(
                "fewer workers, smaller prefetch_factor",
                "each worker holds prefetched batches, and its own copy of what it touches",
            ),
        ]),
        Framework::TensorFlow => fixes.push(practice(
            "stream the data set; on WSL2 raise memory in .wslconfig",
            "page-locked memory comes out of the host's",
        )),
        _ => fixes.extend([
            practice(
                "stream or memory-map the data instead of loading it as a whole",
                "the host's memory is what ran out",
            ),
            practice(
                "a larger memory limit of the job or container (--mem, resources.limits.memory)",
                "where the limit and not the computer is full",
            ),
        ]),
    }
    fixes.push(useless(
        "smaller model on the GPU, torch.cuda.empty_cache()",
        How::Practice,
        "the device's memory is not what ran out",
    ));
}

fn disguised(framework: Framework) -> Vec<Advice> {
    match framework {
        Framework::Vllm => vec![practice(
            "higher gpu_memory_utilization, shorter max_model_len, or a smaller model",
            "the share left after the weights becomes the KV cache",
        )],
        Framework::TensorFlow => vec![
            practice(
                "TF_FORCE_GPU_ALLOW_GROWTH=true",
                "leaves room for cuBLAS and cuDNN, which allocate outside TensorFlow",
            ),
            practice("end other processes on the device", "libraries start only where room is left"),
        ],
        Framework::PyTorchXpu => vec![practice(
            "split the request into parts of less than 4 GiB, or a later driver and PyTorch",
            "the limit is on one block",
        )],
        _ => vec![
            practice(
                "smaller batch, or end other processes on the device, and see whether the error goes",
                "if it goes, memory was what was missing",
            ),
            practice(
                "CUDA_LAUNCH_BLOCKING=1, and check indices and sizes on the CPU",
                "an index out of range or a size gone wrong gives the same error",
            ),
        ],
    }
}

//! What helps with a message: the first cure is one of the framework that wrote it, of its version and of the task.

use std::fs;
use std::path::Path;

use oomph_diagnose::message::{Report, read};
use toml::{Table, Value};

fn first(text: &str) -> Option<Report> {
    read(text.as_bytes()).expect("memory can be read").reports.into_iter().next()
}

/// `framework cause: ` and the first change that helps.
fn check(text: &str, expected: &str) {
    let report = first(text).unwrap_or_else(|| panic!("nothing found in {text}"));
    let cure = report.fixes.iter().find(|fix| fix.helps).map_or("", |fix| fix.title.as_ref());
    let shown = format!("{} {}: {cure}", report.framework.name(), report.verdict.cause.name());
    assert!(shown.starts_with(expected), "\n{text}\n  expected {expected}\n  found    {shown}");
}

/// A message of PyTorch's older form: request, device, live, free, held, and what follows.
fn older(amounts: [&str; 5], end: &str) -> String {
    let [tried, total, live, free, held] = amounts;
    format!(
        "RuntimeError: CUDA out of memory. Tried to allocate {tried} (GPU 0; {total} total capacity; {live} already \
         allocated; {free} free; {held} {end}"
    )
}

const PIECES: [&str; 5] = ["3.00 GiB", "24.00 GiB", "12.00 GiB", "1.00 GiB", "20.00 GiB"];
const FULL: [&str; 5] = ["350.00 MiB", "8.00 GiB", "7.60 GiB", "10.00 MiB", "7.70 GiB"];
const HUGE: [&str; 5] = ["40.00 GiB", "16.00 GiB", "1.00 GiB", "14.00 GiB", "1.10 GiB"];
const RESERVED: &str = "reserved in total by PyTorch)";
const HINT: &str =
    "reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb";

#[test]
fn pieces_are_cured_as_the_version_can() {
    check(
        &older(["3.00 GiB", "24.00 GiB", "12.00 GiB", "1.00 GiB", "8.00 GiB"], "cached)"),
        "pytorch fragmentation: smaller batch, and inputs",
    );
    check(&older(PIECES, RESERVED), "pytorch fragmentation: smaller batch, and inputs");
    check(&older(PIECES, HINT), "pytorch fragmentation: PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128");
    let later = |variable: &str| {
        format!(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 24.00 \
             GiB of which 1.00 GiB is free. Of the allocated memory 12.00 GiB is allocated by PyTorch, and 9.00 GiB is \
             reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting \
             {variable}=expandable_segments:True to avoid fragmentation."
        )
    };
    let (cuda, any) = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF");
    check(&later(cuda), "pytorch fragmentation: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
    check(&later(any), "pytorch fragmentation: PYTORCH_ALLOC_CONF=expandable_segments:True");
    check(&later(cuda).replace("CUDA out", "HIP out"), "pytorch fragmentation: PYTORCH_HIP_ALLOC_CONF=");
    let windows =
        format!("  File \"C:\\jobs\\train.py\", line 3, in step\n    out = net(x)\n{}", later(cuda));
    check(&windows, "pytorch fragmentation: PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold");
}

#[test]
fn what_does_not_fit_is_cured_as_the_task_asks() {
    let full = older(FULL, RESERVED);
    check(&full, "pytorch capacity: smaller batch or smaller inputs");
    let training = format!("  File \"train.py\", line 3, in step\n    loss.backward()\n{full}");
    check(&training, "pytorch capacity: smaller micro-batch with gradient accumulation");
    let inference = format!("  File \"chat.py\", line 3, in answer\n    out = model.generate(**x)\n{full}");
    check(&inference, "pytorch capacity: smaller inputs at a time");
    let images = format!("  File \"/opt/ComfyUI/execution.py\", line 3, in run\n    step()\n{full}");
    check(&images, "comfyui capacity: start with --lowvram");
    // One tensor that is larger than the card.
    check(&older(HUGE, RESERVED), "pytorch capacity: make this one tensor smaller");
    let attention = format!(
        "  File \"chat.py\", line 3, in answer\n    out = model.generate(**x)\n{}",
        older(HUGE, RESERVED)
    );
    check(&attention, "pytorch capacity: attention that does not build its whole matrix");
    check(
        "CUDA out of memory. Tried to allocate 298.02 GiB",
        "pytorch capacity: make this one tensor smaller",
    );
    let dense =
        format!("  File \"g.py\", line 3, in f\n    a = to_dense_adj(edges)\n{}", older(HUGE, RESERVED));
    check(&dense, "pytorch capacity: do not build the dense matrix");
}

#[test]
fn what_grows_is_not_cured_by_a_smaller_batch() {
    let creeping = older(["2.00 MiB", "11.00 GiB", "10.50 GiB", "3.00 MiB", "10.60 GiB"], RESERVED);
    let training = format!("  File \"train.py\", line 3, in step\n    loss.backward()\n{creeping}");
    check(&training, "pytorch leak: keep numbers, not tensors");
    let inference =
        format!("  File \"chat.py\", line 3, in answer\n    out = model.generate(**x)\n{creeping}");
    check(&inference, "pytorch capacity: smaller inputs at a time");
}

#[test]
fn a_card_that_is_full_is_looked_at_first() {
    for text in
        ["RuntimeError: CUDA error: out of memory", "torch.cuda.OutOfMemoryError: CUDA out of memory."]
    {
        check(text, "pytorch unknown: see who holds the card (nvidia-smi)");
    }
    check("RuntimeError: HIP error: out of memory", "pytorch unknown: see who holds the card (rocm-smi");
}

#[test]
fn others_are_cured_by_their_own_means() {
    for (text, expected) in [
        (
            "MPS backend out of memory (MPS allocated: 8.00 GB, other allocations: 500.00 MB, max allowed: 9.07 GB). Tried to allocate 1.00 GB on private pool.",
            "pytorch capacity: smaller batch or smaller inputs, half precision",
        ),
        (
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1073741824 bytes.",
            "jax unknown: see who holds the card (nvidia-smi): JAX takes 75%",
        ),
        (
            "failed to allocate 7.50G (8053063680 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY",
            "tensorflow unknown: tf.config.experimental.set_memory_growth",
        ),
        (
            "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`",
            "vllm capacity: --gpu-memory-utilization 0.95",
        ),
        (
            "ValueError: Free memory on device (21.50/24.00 GiB) on startup is less than desired GPU memory utilization (0.9, 21.60 GiB).",
            "vllm other_process: a lower gpu_memory_utilization",
        ),
        (
            "ValueError: Free memory on device (1.50/24.00 GiB) on startup is less than desired GPU memory utilization (0.9, 21.60 GiB).",
            "vllm other_process: see who holds the card",
        ),
        (
            "RuntimeError: Not enough memory to handle 2048 prefill tokens.",
            "tgi capacity: smaller --max-batch-prefill-tokens",
        ),
        (
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
            "sglang capacity: a higher --mem-fraction-static",
        ),
        (
            "[TRT] [E] 2: [x.cpp::resize::1] Error Code 2: OutOfMemory (no further information)",
            "tensorrt capacity: a smaller workspace",
        ),
        (
            "BFCArena::AllocateRawInternal(size_t, bool) Failed to allocate memory for requested buffer of size 1048576",
            "onnxruntime capacity: smaller batch or input, and CUDA provider options arena_extend_strategy",
        ),
        (
            "ResourceExhaustedError: Out of memory error on GPU 0. Cannot allocate 1.5GB memory on GPU 0, available memory is only 100.0MB.",
            "paddle capacity: smaller batch_size",
        ),
        (
            "EnforceNotMet: enforce allocating <= available failed, 9663676416 > 1073741824",
            "paddle capacity: FLAGS_allocator_strategy=auto_growth",
        ),
        (
            "Error: model requires more system memory (9.0 GiB) than is available (6.0 GiB)",
            "ollama host_memory: a smaller model",
        ),
        (
            "slurmstepd: error: Detected 2 oom_kill events in StepId=5.0.",
            "slurm host_memory: more memory for the job: --mem",
        ),
        (
            "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
            "ray host_memory: fewer tasks at a time",
        ),
        ("trainer-1 exited with code 137", "system host_memory: give the container more memory"),
        ("bramble: error: out of memory", "unknown unknown: see which memory is full"),
        ("bramble: error: out of memory on the GPU", "unknown unknown: see who holds the card"),
    ] {
        check(text, expected);
    }
}

/// Frameworks that are PyTorch, or run it.
const PYTORCH: &[&str] =
    &["pytorch", "vllm", "sglang", "tgi", "comfyui", "stable-diffusion-webui", "invokeai", "nccl"];
/// What is of no use to anybody else.
const ITS_OWN: &[&str] =
    &["PYTORCH_", "expandable_segments", "gradient", "no_grad", "inference_mode", "torch."];

#[test]
fn every_example_has_a_cure_and_none_of_another_framework() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/message/signs");
    for file in fs::read_dir(folder).expect("the table of signs") {
        let table: Table =
            fs::read_to_string(file.expect("a file").path()).expect("text").parse().expect("TOML");
        let examples =
            table["sign"].as_array().expect("rows").iter().flat_map(|row| row["example"].as_array());
        for text in examples.flatten().filter_map(|example| example.get("text").and_then(Value::as_str)) {
            let report = first(text).expect("a report");
            let name = report.framework.name();
            assert!(report.fixes.iter().any(|fix| fix.helps), "{name}: no cure for {text}");
            let is_its_own = PYTORCH.iter().any(|known| name.starts_with(known));
            for fix in report.fixes.iter().filter(|fix| fix.helps && !is_its_own) {
                assert!(
                    !ITS_OWN.iter().any(|word| fix.title.contains(word)),
                    "{name}: {} for {text}",
                    fix.title
                );
            }
        }
    }
}

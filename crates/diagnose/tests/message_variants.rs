//! Wordings, wrappings and prefixes beyond the labelled messages: what is read from each, in one line.

use oomph_diagnose::message::{Report, read};

use crate::numbers;

/// `framework cause tried= total= …`, the numbers that are there.
fn shown(oom: &Report) -> String {
    format!("{} {}{}", oom.framework.name(), oom.verdict.cause.name(), numbers::shown(&oom.facts))
}

fn check(text: &str, expected: &[&str]) {
    let log = read(text.as_bytes()).expect("memory can be read");
    let found: Vec<String> = log.reports.iter().map(shown).collect();
    assert_eq!(found, expected, "\n{text:.400}");
}

const V1: &str = "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 1; 8.00 GiB total capacity; \
                  7.00 GiB already allocated; 10.00 MiB free; 7.00 GiB reserved in total by PyTorch)";
const V1_READ: &str =
    "pytorch capacity tried=20971520 total=8589934592 allocated=7516192768 reserved=7516192768 free=10485760";

#[test]
fn one_message_reads_the_same_however_it_was_logged() {
    let wrapped: Vec<String> =
        V1.as_bytes().chunks(37).map(|part| String::from_utf8_lossy(part).into_owned()).collect();
    let json = format!(
        "{{\"time\": 1, \"log\": \"Traceback (most recent call last):\\n  File \\\"a.py\\\", line 1, in f\\n{V1}\\n\"}}"
    );
    let utf16: Vec<u8> = V1.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for text in [
        V1.to_owned(),
        format!("[rank3]: {V1}"),
        format!("\u{1b}[31m{V1}\u{1b}[0m"),
        format!("2024-05-01T10:00:00.123Z stderr F {V1}"),
        format!("trainer-1  | {V1}\r\n"),
        format!(" 10%|#  | 1/10\r 20%|##  | 2/10\r{V1}"),
        format!("E0501 10:00:00.000 {V1}"),
        format!("> {V1}"),
        format!("(RayTrainWorker pid=123, ip=10.0.0.1) {V1}"),
        V1.replace(". ", ".\n").replace("out of ", "out of\n").replace("; ", ";\n"),
        V1.replace("; ", ";\n[rank3]: "),
        V1.replace("; ", "; \\\n"),
        format!("E       {V1}"),
        format!("│ {} │", V1.replace("; ", ";   │\n│ ")),
        wrapped[..3].join("\n") + &wrapped[3..].concat(),
        json,
    ] {
        check(&text, &[V1_READ]);
    }
    let log = read(utf16.as_slice()).expect("memory can be read");
    assert_eq!(log.reports.iter().map(shown).collect::<Vec<_>>(), [V1_READ]);
}

#[test]
fn every_version_of_pytorch_is_read() {
    check(
        "CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 8.00 GiB total capacity; 3.00 GiB already allocated; \
         4.00 GiB free; 4.00 GiB allowed; 3.50 GiB reserved in total by PyTorch)",
        &[
            "pytorch fragmentation tried=1073741824 total=8589934592 allocated=3221225472 reserved=3758096384 free=4294967296 allowed=4294967296",
        ],
    );
    let modern = |processes: &str, private: &str| {
        format!(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 2 has a total capacity of \
             79.15 GiB of which 100.00 MiB is free. {processes}Of the allocated memory 30.00 GiB is allocated by PyTorch, \
             {private}and 512.00 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large \
             try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
        )
    };
    let numbers =
        "tried=2147483648 total=84986665370 allocated=32212254720 reserved=32749125632 free=104857600";
    check(
        &modern(
            "Process 11 has 48.00 GiB memory in use. Including non-PyTorch memory, this process has 31.00 GiB memory in use. ",
            "",
        ),
        &[&format!("pytorch other_process {numbers} other=51539607552")],
    );
    // In a container the process lists itself by number: the one that holds what its allocator reserved.
    check(
        &modern("Process 11 has 48.00 GiB memory in use. Process 12 has 31.00 GiB memory in use. ", ""),
        &[&format!("pytorch other_process {numbers} other=51539607552")],
    );
    check(
        &modern(
            "Process 12 has 79.00 GiB memory in use. ",
            "with 80.00 MiB allocated in private pools (e.g., CUDA Graphs), ",
        ),
        &[&format!("pytorch capacity {numbers} private=83886080")],
    );
    check(
        &modern(
            "Including non-PyTorch memory, this process has 31.00 GiB memory in use. 31.00 GiB allowed; ",
            "",
        ),
        &[&format!("pytorch capacity {numbers} allowed=33285996544")],
    );
    check(
        "CUDA out of memory. Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit. Requested size: 2.00 MiB",
        &["pytorch capacity tried=2097152"],
    );
    check(
        "[W501 10:00:00.0 CUDACachingAllocator.cpp:1] memory allocation failed with OOM on device 0 while trying to allocate 2097152 bytes (free: 1048576, total: 1073741824).\n\
         torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 1.00 GiB of which 1.00 MiB is free. \
         Of the allocated memory 900.00 MiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.",
        &[
            "pytorch capacity tried=2097152 total=1073741824 allocated=943718400 reserved=943718400 free=1048576",
        ],
    );
    check("torch.cuda.OutOfMemoryError: CUDA out of memory.", &["pytorch unknown"]);
    check(
        "RuntimeError: CUDA out of memory. Tried to allocate more than 1EB memory.",
        &["pytorch disguised"],
    );
    check(
        "RuntimeError: MPS backend out of memory (MPS allocated: 1.00 GB, other allocations: 1.00 GB, max allowed: 9.00 GB). Tried to allocate 256 bytes on shared pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable",
        &["pytorch unknown tried=256 total=9663676416 allocated=1073741824 allowed=9663676416"],
    );
    check(
        "torch.OutOfMemoryError: Allocation on device 1 would exceed allowed memory. (out of memory)\n\
         Currently allocated     : 5.00 GiB\nRequested               : 4.00 GiB\nDevice limit            : 8.00 GiB\n\
         Free (according to CUDA): 2.00 GiB\nPyTorch limit (set by user-supplied memory fraction)\n                        : 6.00 GiB",
        &[
            "pytorch capacity tried=4294967296 total=8589934592 allocated=5368709120 free=2147483648 allowed=6442450944",
        ],
    );
}

#[test]
fn other_frameworks_are_read() {
    for (text, expected) in [
        ("CUDA error 2 at ggml-cuda.cu:7233: out of memory", "llama.cpp capacity"),
        (
            "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 1073741824",
            "llama.cpp unknown tried=1073741824",
        ),
        ("llama_kv_cache_init: failed to allocate buffer for kv cache", "llama.cpp capacity"),
        ("ResourceExhaustedError: failed to allocate memory [Op:AddV2]", "tensorflow capacity"),
        (
            "InternalError: CUDA runtime implicit initialization on GPU:0 failed. Status: out of memory",
            "tensorflow other_process",
        ),
        (
            "MemoryError: Unable to allocate array with shape (50000, 50000) and data type float64",
            "numpy host_memory tried=20000000000",
        ),
        ("[1]    12345 killed     python train.py", "system host_memory"),
        (
            "RuntimeError: DataLoader worker (pid(s) 123, 456) exited unexpectedly",
            "pytorch-dataloader host_memory",
        ),
        ("Command terminated: exit status 137", "system host_memory"),
        ("subprocess.CalledProcessError: Command 'x' died with <Signals.SIGKILL: 9>.", "system host_memory"),
        (
            "[E:onnxruntime:Default, cuda_call.cc:116] CUDA failure 2: out of memory ; GPU=0",
            "onnxruntime capacity",
        ),
        ("RuntimeError: Native API returns: -5 (PI_ERROR_OUT_OF_RESOURCES)", "pytorch-xpu unknown"),
        (
            "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`",
            "vllm capacity",
        ),
        (
            "ValueError: Free memory on device (5.50/24.00 GiB) on startup is less than desired GPU memory utilization (0.9, 21.00 GiB).",
            "vllm other_process tried=22548578304 total=25769803776 free=5905580032",
        ),
        (
            "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (7.50 GiB).",
            "vllm capacity tried=17179869184 free=8053063680",
        ),
        (
            "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,073,741,824 bytes (allocated so far: 2,147,483,648 bytes, limit set to: 3,000,000,000 bytes).",
            "cupy capacity tried=1073741824 total=3000000000 allocated=2147483648",
        ),
        (
            "MemoryError: std::bad_alloc: out_of_memory: CUDA error at: /rmm/include/rmm/mr/device/cuda_memory_resource.hpp:70: cudaErrorMemoryAllocation out of memory",
            "rmm capacity",
        ),
        (
            "BFCArena::AllocateRawInternal(size_t, bool) Available memory of 0 is smaller than requested bytes of 4096",
            "onnxruntime capacity tried=4096 free=0",
        ),
        (
            "XlaRuntimeError: RESOURCE_EXHAUSTED: Error loading program: Attempting to allocate 4.50G. That was not possible. There are 2.25G free.; (0x0x0_HBM0)",
            "tpu capacity tried=4831838208 free=2415919104",
        ),
        (
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2.50GiB.",
            "jax unknown tried=2684354560",
        ),
        (
            "ResourceExhaustedError: OOM when allocating tensor with shape[2,3,1024] and type half on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:Mul]",
            "tensorflow capacity tried=12288",
        ),
        (
            "failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY: out of memory; total memory reported: 11996954624",
            "tensorflow other_process total=11996954624",
        ),
        (
            "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 512.00 MiB on device 0: cudaMalloc failed: out of memory\nllama_kv_cache_init: failed to allocate buffer for kv cache",
            "llama.cpp capacity tried=536870912",
        ),
        (
            "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array with shape (1000000000,) and data type float64",
            "numpy host_memory tried=8000000000",
        ),
        (
            "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 1024 bytes. Error code 12 (Cannot allocate memory)",
            "pytorch-cpu host_memory tried=1024",
        ),
        (
            "Memory cgroup out of memory: Killed process 12 (python) total-vm:1kB, anon-rss:1kB",
            "linux-oom-killer host_memory",
        ),
        ("slurmstepd: error: Detected 3 oom-kill event(s) in step 1.batch cgroup.", "slurm host_memory"),
        ("    State:  Terminated\n      Reason:  OOMKilled\n      Exit Code:  137", "kubernetes host_memory"),
        ("run.sh: line 3: 4242 Killed                  python train.py", "system host_memory"),
        (
            "OSError: [WinError 1455] The paging file is too small for this operation to complete.",
            "python host_memory",
        ),
        ("RuntimeError: Unable to find a valid cuDNN algorithm to run convolution", "pytorch disguised"),
        (
            "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
            "pytorch disguised",
        ),
    ] {
        check(text, &[expected]);
    }
}

#[test]
fn a_whole_dump_of_tensorflow_is_one_report() {
    let line = "2020-01-01 00:00:03.000000: I tensorflow/core/common_runtime/bfc_allocator.cc:1]";
    let mut log = format!(
        "{line} Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00GiB (rounded to 1073741824)requested by op Mul\n"
    );
    for bin in 0..21 {
        log += &format!(
            "{line} Bin ({}): \tTotal Chunks: 1, Chunks in use: 1. 1.0KiB allocated for chunks.\n",
            256 << bin
        );
    }
    for chunk in 0..20_000 {
        log += &format!("{line} InUse at 7f{chunk:010x} of size 256 next 1\n");
    }
    log += &format!(
        "{line} Sum Total of in-use chunks: 7.50GiB\n{line} total_region_allocated_bytes_: 8589934592 memory_limit_: 8589934592 available bytes: 0\n{line} Stats: \nLimit:                      8589934592\nInUse:                      8053063680\nMaxInUse:                   8053063680\n"
    );
    log += "ResourceExhaustedError: OOM when allocating tensor with shape[1024,1024,256] and type float on /device:GPU:0 by allocator GPU_0_bfc\n";
    check(&log, &["tensorflow capacity tried=1073741824 total=8589934592 allocated=8053063680"]);
}

#[test]
fn the_first_failure_is_the_culprit_and_warnings_are_none() {
    let warning = "W bfc_allocator.cc:1] Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00GiB. The caller indicates that this is not a failure";
    let failure =
        "ResourceExhaustedError: OOM when allocating tensor with shape[16] and type float on /device:GPU:0";
    let filler = "step done\n".repeat(100);
    let log = read(format!("{warning}\n{filler}{failure}\n{filler}Killed\n").as_bytes())
        .expect("memory can be read");
    let roles: Vec<(&str, u64)> = log.reports.iter().map(|oom| (oom.role.name(), oom.line)).collect();
    assert_eq!(roles, [("culprit", 102), ("warning", 1), ("follows", 203)]);
}

#[test]
fn ranks_are_told_apart() {
    let other = V1.replace("GPU 1", "GPU 2").replace("20.00", "30.00");
    let log = read(format!("[rank1]: {V1}\n[rank2]: {other}\n").as_bytes()).expect("memory can be read");
    let tried: Vec<Option<u64>> =
        log.reports.iter().map(|oom| oom.facts.tried.map(|bytes| bytes.0)).collect();
    assert_eq!(tried, [Some(20 << 20), Some(30 << 20)]);
}

#[test]
fn what_is_no_report_is_none() {
    for text in [
        "",
        "INFO training started\nINFO epoch 1, loss 0.5, GPU memory 10.2 GiB of 24 GiB",
        "Tip: if you run out of memory, reduce the batch size. This avoids CUDA out of memory errors.",
        "KeyError: 'memory'",
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 101376.",
        "Process finished with exit code 0",
        "RuntimeError: CUDA error: device-side assert triggered",
        "the KV cache uses 4 GiB; trying to allocate workers",
        "Skilled workers killed time in the available memory palace",
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "grpc: RESOURCE_EXHAUSTED: quota exceeded",
        "NSURLErrorDomain error code -999",
        "stopped: trainer (terminated by SIGKILL)",
        "RuntimeError: Invalid buffer size: 512 bytes",
        "warning: insufficient memory bandwidth for this mode, failed to set 240 Hz",
        "\"State\": {\n    \"Status\": \"exited\",\n    \"OOMKilled\": false,\n    \"ExitCode\": 1",
        "OSError: [Errno 28] No space left on device: '/data/ckpt/step_100.pt'",
        "RuntimeError: [enforce fail at inline_container.cc:424] . unexpected pos 1024 vs 900\nOSError: [Errno 122] Disk quota exceeded",
        "triton.runtime.autotuner.OutOfResources: out of resource: shared memory, Required: 163840, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.",
        "CUDA error: too many resources requested for launch",
        "ptxas error   : Entry function '_Z3foo' uses too much shared data (0xc000 bytes, 0xbfff max)",
        "java.lang.OutOfMemoryError: Java heap space\n\tat java.util.Arrays.copyOf(Arrays.java:3332)",
        "FATAL ERROR: Ineffective mark-compacts near heap limit Allocation failed - JavaScript heap out of memory",
        "PHP Fatal error:  Allowed memory size of 134217728 bytes exhausted (tried to allocate 20480 bytes) in /var/www/x.php on line 3",
        "|===========================================================================|\n|                  PyTorch CUDA memory summary, device ID 0                 |\n|---------------------------------------------------------------------------|\n|            CUDA OOMs: 0            |        cudaMalloc retries: 0         |",
        "Epoch 3: 100%|####| 500/500 [02:11<00:00, 3.8it/s, loss=0.21, gpu_mem=10.2G]",
        "try:\n    out = model(x)\nexcept torch.cuda.OutOfMemoryError:\n    torch.cuda.empty_cache()\n    out = model(x.cpu())",
        "    if 'out of memory' in str(e):\n        print('| WARNING: ran out of memory, skipping batch')\n        torch.cuda.empty_cache()\n    else:\n        raise e",
        "if (err == cudaErrorMemoryAllocation) {\n  throw std::bad_alloc();\n}",
        "CUDA_ERROR_OUT_OF_MEMORY = 2,\nCUDA_ERROR_NOT_INITIALIZED = 3,",
        "tests/test_alloc.py::test_out_of_memory_error PASSED [ 45%]\ntests/test_alloc.py::test_oom_retry PASSED [ 50%]",
        "WARNING: Sending process 1234 closing signal SIGTERM\nWARNING: Unable to shutdown process 1234 via SIGTERM, forcefully exiting via SIGKILL",
        "[INFO] [launch.py:315:sigkill_handler] Killing subprocess 100\n[ERROR] [launch.py:321:sigkill_handler] ['python', 'a.py'] exits with return code = -11",
        "slurmstepd: error: *** JOB 12 ON node1 CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT ***",
        "EOFError: Ran out of input",
        "tensorflow.python.framework.errors_impl.OutOfRangeError: End of sequence\n\t [[{{node IteratorGetNext}}]]",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "IndexError: index out of range in self",
        "Note: use gradient checkpointing if you run out of memory on smaller GPUs.",
        "--handle-oom: recover from out of memory errors by skipping the batch (default: off)",
        "ModuleNotFoundError: No module named 'torch.cuda.memory'",
        "Failed to allocate port 8080: address already in use",
        "could not allocate worker: cluster is at capacity",
        "UserWarning: resource_tracker: There appear to be 6 leaked semaphore objects to clean up at shutdown",
        "[Tue Jan 2] OOM killer disabled.\n[Tue Jan 2] Freezing remaining freezable tasks ... (elapsed 0.001 seconds) done.",
        "WARNING overcommit_memory is set to 0! Background save may fail under low memory condition.",
        "redis.exceptions.ResponseError: OOM command not allowed when used memory > 'maxmemory'.",
        "grpc._channel._InactiveRpcError: StatusCode.RESOURCE_EXHAUSTED details = \"Received message larger than max (5242880 vs. 4194304)\"",
        "google.api_core.exceptions.ResourceExhausted: 429 Quota exceeded for quota metric",
        "torch.cuda.memory_allocated: 1234567 torch.cuda.max_memory_reserved: 2345678",
        "| 0  NVIDIA A100-SXM4-80GB  On | 00000000:07:00.0 Off | 0 |\n| N/A 34C P0 61W / 400W | 79012MiB / 81920MiB | 0% Default |",
        "Memory usage is at 98%, consider reducing the batch size.",
        "INFO: estimated memory 23.1 GiB exceeds 22 GiB; the run may run out of memory",
        "ValueError: num_samples should be a positive integer value, but got num_samples=0",
        "Changelog: fixed out of memory error in the tokenizer (#1234)",
        "error: externally-managed-environment",
        "OSError: [Errno 24] Too many open files: '/proc/meminfo'",
        "SystemError: GPU memory clock not available",
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
        "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:1269, unhandled cuda error",
        "ERROR: out of shared memory\nHINT: You might need to increase max_locks_per_transaction.",
        "raise MemoryError('buffer pool exhausted')",
        "DEBUG set oom_score_adj=-500 for pid 77",
        "Process finished with exit code 1",
        "RuntimeError: DataLoader timed out after 120 seconds",
        "The room was empty; bloom filters zoom in. OOMPH is a word.",
        "cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version",
        "RuntimeError: CUDA error: device-side assert triggered",
        "the process was terminated by SIGTERM",
        "W0101 memory_pool: eviction started, 95% of cache used",
        "docker run --gpus all --oom-kill-disable -m 64g trainer",
        "enable: echo 1 > /proc/sys/vm/oom_dump_tasks",
        "AssertionError: expected OutOfMemoryError to be raised",
        "pytest.raises(torch.OutOfMemoryError)",
        "KV cache pool is full. Retract requests. #retracted_reqs: 1",
        "INFO 01-01 GPU KV cache size: 56,512 tokens, Maximum concurrency for 4096 tokens per request: 13.80x",
        "llm_load_tensors: VRAM used: 5103.56 MB\nllama_new_context_with_model: total VRAM used: 5343 MB",
        "Sequence preempted because there is not enough KV cache space. This can affect the end-to-end performance.",
        "error: stack overflow\nthread 'main' has overflowed its stack",
        "The paging system of the site is down",
        "srun: error: node01: task 0: Exited with exit code 1",
        "GC: out of memory handler installed",
        "if you hit OOM, lower --batch-size",
        "Warning: this might cause an out-of-memory error on GPUs with less than 8 GB",
        "max memory allocation: 12 GiB, free: 2 GiB",
        "ImportError: /lib/libstdc++.so.6: cannot allocate memory in static TLS block",
    ] {
        check(text, &[]);
    }
}

#[test]
fn what_is_cut_off_is_still_told() {
    let modern = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 40.00 MiB. GPU 0 has a total capacity of \
                  24.00 GiB of which 30.00 MiB is free. Process 77 has 23.90 GiB memory in use. Of the allocated memory \
                  23.00 GiB is allocated by PyTorch, and 200.00 MiB is reserved by PyTorch but unallocated.";
    let upto = |words: &str| modern.split_once(words).expect("these words").0.to_owned() + words;
    let after = |words: &str| words.to_owned() + modern.split_once(words).expect("these words").1;
    for (text, expected) in [
        (upto("CUDA out of mem"), "unknown unknown"),
        (upto("Tried to alloc"), "pytorch unknown"),
        (upto("40.00 MiB."), "pytorch unknown tried=41943040"),
        (upto("is free."), "pytorch capacity tried=41943040 total=25769803776 free=31457280"),
        // The one process that is listed holds what this one has in use: it is this one.
        (
            upto("23.00 GiB is alloc"),
            "pytorch capacity tried=41943040 total=25769803776 allocated=24696061952 free=31457280",
        ),
        (
            after("GPU 0 has"),
            "pytorch capacity total=25769803776 allocated=24696061952 reserved=24905777152 free=31457280",
        ),
        (after("memory 23.00"), "pytorch capacity allocated=24696061952 reserved=24905777152"),
        (
            V1[V1.find("8.00 GiB").expect("the device")..].to_owned(),
            "pytorch capacity total=8589934592 allocated=7516192768 reserved=7516192768 free=10485760",
        ),
    ] {
        check(&text, &[expected]);
    }
}

#[test]
fn what_no_row_knows_is_heard_once_and_never_before_what_one_knows() {
    let heard = "bramble: error: out of memory";
    check(&format!("{heard}\n{heard}\n"), &["unknown unknown"]);
    check(&format!("{heard}\nat stage 3\n{V1}\n{heard}\n"), &[V1_READ]);
    let filler = "step done\n".repeat(40);
    check(&format!("{heard}\n{filler}{V1}\n"), &[V1_READ, "unknown unknown"]);
    // Programs that say themselves that they went on.
    let skipped = "[TRT] [E] Error Code 2: OutOfMemory (no further information)\n\
                   [TRT] [W] Skipping tactic 3 due to insufficient memory on requested size of 8589934592 detected.";
    let log = read(skipped.as_bytes()).expect("memory can be read");
    let roles: Vec<&str> = log.reports.iter().map(|oom| oom.role.name()).collect();
    assert_eq!(roles, ["warning"]);
}

#[test]
fn an_unknown_cause_is_never_sure() {
    for text in ["RuntimeError: CUDA error: out of memory", "CUDA out of memory. Tried to allocate 2.00 GiB."]
    {
        let log = read(text.as_bytes()).expect("memory can be read");
        let verdict = &log.reports[0].verdict;
        assert_eq!((verdict.cause.name(), verdict.confidence.name()), ("unknown", "low"), "{text}");
    }
}

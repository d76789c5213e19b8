//! The computer's own memory: processes killed, shared memory, page-locked memory, arrays on the CPU.

use super::facts::Framework::{
    Colab, Kubernetes, LinuxOomKiller, Numpy, Ollama, PyTorchCpu, PyTorchDataLoader, Python, Ray, Slurm,
    System, TensorFlow,
};
use super::phrases::Number::{Free, Tried};
use super::phrases::Phrase;
use super::size;
use super::text::{Text, after, around};
use super::verdict::Confidence;
use super::wording::{Kind, Message};
use crate::cause::Cause;
use crate::cause::Cause::HostMemory;
use Confidence::{High, Low, Medium};

const KERNEL: &str = "the kernel killed a process because the computer's memory was full";
const CGROUP: &str = "the kernel killed a process because its container or job reached its memory limit";
const SHM: &str = "a write to shared memory failed: /dev/shm is too small (64 MiB in a container unless set)";
const CPU: &str = "the request was for memory of the host, not of a device";
const SIGKILL: &str =
    "signal 9 comes from the kernel's out-of-memory killer as a rule, and leaves no message of its own";

pub(super) const PHRASES: &[Phrase] = &[
    Phrase::of(PyTorchCpu, HostMemory, High, "DefaultCPUAllocator: not enough memory", CPU)
        .counted()
        .with(&[(Tried, "you tried to allocate ")]),
    Phrase::of(PyTorchCpu, HostMemory, High, "DefaultCPUAllocator: can't allocate memory", CPU)
        .counted()
        .with(&[(Tried, "you tried to allocate ")]),
    Phrase::of(PyTorchDataLoader, HostMemory, Medium, "is killed by signal: Killed", SIGKILL),
    Phrase::of(PyTorchDataLoader, HostMemory, High, "is killed by signal: Bus error", SHM),
    Phrase::of(PyTorchDataLoader, HostMemory, High, "insufficient shared memory (shm)", SHM),
    Phrase::of(
        PyTorchDataLoader,
        HostMemory,
        Low,
        "is killed by signal: Terminated",
        "a worker was told to end; a memory guard may do so, and so may anybody",
    ),
    Phrase::of(
        PyTorchDataLoader,
        HostMemory,
        Low,
        "exited unexpectedly",
        "a worker vanished; memory of the host is the usual reason",
    )
    .near("DataLoader worker"),
    Phrase::of(PyTorchDataLoader, HostMemory, High, "unable to write to file </torch_", SHM)
        .near("No space left on device"),
    Phrase::of(PyTorchDataLoader, HostMemory, High, "unable to allocate shared memory(shm)", SHM),
    Phrase::of(PyTorchCpu, HostMemory, High, "Torch: not enough memory: you tried to allocate ", CPU)
        .with(&[(Tried, "you tried to allocate ")]),
    Phrase::of(Numpy, HostMemory, High, "Unable to allocate array with shape ", CPU),
    Phrase::of(LinuxOomKiller, HostMemory, High, "Memory cgroup out of memory", CGROUP),
    Phrase::of(LinuxOomKiller, HostMemory, High, "Out of memory: Kill", KERNEL),
    Phrase::of(LinuxOomKiller, HostMemory, High, "oom-kill:constraint=CONSTRAINT_MEMCG", CGROUP),
    Phrase::of(LinuxOomKiller, HostMemory, High, "oom-kill:constraint=", KERNEL),
    Phrase::of(LinuxOomKiller, HostMemory, High, "invoked oom-killer", KERNEL),
    Phrase::of(LinuxOomKiller, HostMemory, High, "systemd-oomd", KERNEL).near("killed"),
    Phrase::of(Slurm, HostMemory, High, "oom_kill event", CGROUP),
    Phrase::of(Slurm, HostMemory, High, "oom-kill event", CGROUP),
    Phrase::of(Slurm, HostMemory, High, "Out Of Memory", CGROUP).near("srun: error"),
    Phrase::of(Slurm, HostMemory, High, "Exceeded job memory limit", CGROUP),
    Phrase::of(Slurm, HostMemory, High, "Exceeded step memory limit", CGROUP),
    Phrase::of(Slurm, HostMemory, High, "exceeded memory limit", CGROUP),
    Phrase::of(Slurm, HostMemory, High, "Exceeded virtual memory limit", CGROUP),
    Phrase::of(System, HostMemory, High, "TERM_MEMLIMIT", CGROUP),
    Phrase::of(Kubernetes, HostMemory, High, "OOMKilled", CGROUP),
    Phrase::of(System, HostMemory, Medium, "exit code 137", SIGKILL).bare(),
    Phrase::of(System, HostMemory, Medium, "exit code: 137", SIGKILL).bare(),
    Phrase::of(System, HostMemory, Medium, "exited with code 137", SIGKILL).bare(),
    Phrase::of(System, HostMemory, Medium, "exit status 137", SIGKILL).bare(),
    Phrase::of(System, HostMemory, Medium, "exitcode: -9", SIGKILL).bare(),
    Phrase::of(System, HostMemory, Medium, "exit code -9", SIGKILL).bare(),
    Phrase::of(System, HostMemory, Medium, "died with <Signals.SIGKILL", SIGKILL).bare(),
    Phrase::of(System, HostMemory, Medium, "Signal 9 (SIGKILL) received", SIGKILL).bare(),
    Phrase::of(Ray, HostMemory, High, "node running low on memory", CGROUP),
    Phrase::of(Ray, HostMemory, High, "killed due to memory pressure", CGROUP),
    Phrase::of(Numpy, HostMemory, High, "Unable to allocate ", CPU)
        .near("for an array with shape")
        .with(&[(Tried, "Unable to allocate ")]),
    Phrase::of(Python, HostMemory, High, "[Errno 12] Cannot allocate memory", CPU),
    Phrase::of(
        Python,
        HostMemory,
        High,
        "std::bad_alloc",
        "a C++ library asked the host for memory and was refused",
    )
    .near("terminate called"),
    Phrase::of(
        Python,
        HostMemory,
        High,
        "paging file is too small",
        "Windows has no room left in memory and page file together",
    ),
    Phrase::of(
        TensorFlow,
        HostMemory,
        High,
        "could not allocate pinned host memory of size: ",
        "page-locked memory of the host was refused",
    )
    .with(&[(Tried, "memory of size: ")])
    .bare(),
    Phrase::of(
        Colab,
        HostMemory,
        High,
        "using all available RAM",
        "the notebook's computer ran out of memory, not its GPU",
    ),
    Phrase::of(
        Ollama,
        HostMemory,
        High,
        "model requires more system memory",
        "the model needs more of the host's memory than is free",
    )
    .with(&[(Tried, "system memory"), (Free, "than is available")]),
    Phrase::of(System, HostMemory, High, "cudaHostAlloc", CPU).near("out of memory"),
    Phrase::of(System, HostMemory, High, "cudaMallocHost", CPU).near("out of memory"),
];

/// NumPy prints the amount with three digits, and beside it the shape that gives it exactly.
pub(super) fn complete(text: &str, found: &mut [Message]) {
    for report in found.iter_mut().filter(|report| report.framework == Numpy) {
        let message = &text[report.span.start..around(text, &report.span, 0, 200).end];
        let exact = after(message, "with shape (").and_then(|rest| {
            let (shape, rest) = rest.split_once(')')?;
            size::of_elements(size::product(shape)?, after(rest, "data type ")?)
        });
        report.facts.tried = exact.or(report.facts.tried);
    }
}

/// Lines that are a report only if they say nothing else: a shell's `Killed`, Python's `MemoryError`.
pub(super) fn lines(text: &Text, from: usize, found: &mut Vec<Message>) {
    for index in text.line_of(from)..text.len() {
        let line = text.line(index).trim();
        let words: Vec<&str> = line.split_whitespace().take(6).collect();
        let is_shell =
            matches!(words.as_slice(), ["Killed" | "Killed:"] | ["Killed:", "9"] | ["zsh:", "killed", ..])
                || matches!(words.as_slice(), [_, "line", _, _, "Killed", ..])
                || matches!(words.as_slice(), [pid, "killed", ..] if pid.parse::<u32>().is_ok());
        let span = text.span(index);
        if is_shell {
            let report = Message::new(span, System, Kind::Bare);
            found.push(report.told(Cause::HostMemory, Medium, SIGKILL));
        } else if line == "MemoryError"
            || line.starts_with("MemoryError:") && !line.contains("CUDA") && !line.contains("cuda")
        {
            found.push(Message::new(span, Python, Kind::Bare).told(Cause::HostMemory, High, CPU));
        }
    }
}

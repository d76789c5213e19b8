//! What `oomph status` finds: who holds one machine's memory at one moment.

use oomph_engine::torch::variables::Obeyed;
use oomph_trace::Bytes;
use oomph_trace::cgroup::Cgroup;
use oomph_trace::sidecar::{HeldByClass, MemorySample};
use schemars::JsonSchema;
use serde::Serialize;

use super::live::{LimitedBy, Live};
use crate::growth::LiveGrowth;

/// One machine's memory, GPU and host. What cannot be read is `None`, never zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The machine's name; empty where it cannot be read.
    pub host_name: String,
    /// When it was asked, in microseconds since the epoch.
    pub taken_us: u64,
    /// The driver and its GPUs.
    pub gpus: Gpus,
    /// Processes that `oomph run` records at this moment, in order of pid.
    pub recorded: Vec<Recorded>,
    /// The machine's RAM.
    pub ram: Option<Ram>,
    /// The tightest memory limit of the control groups this process is in.
    pub cgroup: Option<Cgroup>,
    /// `/dev/shm`, through which data loaders hand over tensors.
    pub shm: Option<Space>,
    /// PyTorch's allocator settings in this environment.
    pub settings: Settings,
}

/// The driver and its GPUs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gpus {
    /// The driver's version.
    pub driver: Option<String>,
    /// The greatest version of CUDA that it serves, such as 13.0.
    pub cuda: Option<String>,
    /// Why no GPU can be asked: no driver, or one that fails.
    pub no_gpu: Option<String>,
    /// In the driver's order.
    pub listed: Vec<Gpu>,
}

/// One GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    /// The driver's number of it, which CUDA_VISIBLE_DEVICES may change for a process.
    pub index: u32,
    /// Such as `NVIDIA H200`.
    pub name: Option<String>,
    /// Such as `GPU-6f8c…`.
    pub uuid: Option<String>,
    /// Compute capability, such as (9, 0).
    pub capability: Option<(u32, u32)>,
    /// Its memory.
    pub memory: GpuMemory,
    /// Whether it is divided into instances (MIG); `None` where it cannot be.
    pub mig: Option<bool>,
    /// Its instances, where it is divided.
    pub instances: Vec<Instance>,
    /// Who uses it, the largest first; `None` where the driver does not say.
    pub processes: Option<Vec<GpuProcess>>,
    /// What the driver failed to answer, in a line.
    pub problem: Option<String>,
}

/// A GPU's memory: `reserved + used + free = total`, where the driver tells what it keeps for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GpuMemory {
    /// Its memory.
    pub total: Option<Bytes>,
    /// Held by processes; with what the driver keeps for itself where `reserved` is null.
    pub used: Option<Bytes>,
    /// Held by nobody.
    pub free: Option<Bytes>,
    /// What the driver keeps for itself.
    pub reserved: Option<Bytes>,
}

/// A part of a divided GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Instance {
    /// The number of the GPU instance; processes name it.
    pub gpu_instance: Option<u32>,
    /// Such as `NVIDIA H200 MIG 1g.18gb`.
    pub name: Option<String>,
    /// Such as `MIG-…`.
    pub uuid: Option<String>,
    /// Its memory.
    #[serde(flatten)]
    pub memory: GpuMemory,
}

/// A process on a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuProcess {
    /// As the driver names it.
    pub pid: u32,
    /// What it holds on this GPU; `None` where the driver does not say.
    pub used: Option<Bytes>,
    /// Whether it draws rather than computes.
    pub graphics: bool,
    /// The GPU instance it is on, of a divided GPU.
    pub gpu_instance: Option<u32>,
    /// The process behind the pid; `None`: none of this container or machine has it.
    pub process: Option<Process>,
    /// What of it is PyTorch's, where `oomph run` records it.
    pub torch: Option<TorchMemory>,
    /// PyTorch's allocator settings in its environment, where that can be read.
    pub settings: Option<Settings>,
}

impl GpuProcess {
    /// What it holds beside PyTorch's segments: CUDA's context, libraries' workspaces, other allocators. `None` where
    /// either figure is unknown, or where they were read at moments that do not agree.
    pub fn outside_torch(&self) -> Option<Bytes> {
        let (used, torch) = (self.used?, self.torch.as_ref()?);
        used.0.checked_sub(torch.reserved.0).map(Bytes)
    }
}

/// A process of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// The kernel's name of it, at most 15 characters.
    pub name: String,
    /// The command line; empty where it cannot be read.
    pub command: Vec<String>,
    /// The owner's name, or number where it has none.
    pub user: Option<String>,
    /// Whether it belongs to the user who asks.
    pub own: bool,
}

/// What PyTorch's allocator of one process says of one GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TorchMemory {
    /// In use by tensors.
    pub allocated: Bytes,
    /// Held from the driver.
    pub reserved: Bytes,
    /// The greatest `allocated` so far.
    pub peak_allocated: Bytes,
    /// The greatest `reserved` so far.
    pub peak_reserved: Bytes,
    /// How often the whole cache was dropped to serve a request.
    pub retries: u64,
    /// Requests that failed.
    pub ooms: u64,
}

/// A live process that `oomph run` records.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Its pid, as this machine or container sees it.
    pub pid: u32,
    /// The run's name.
    pub run: String,
    /// The process's name within the run, such as `rank0` or `main`.
    pub name: String,
    /// Its rank in a distributed job.
    pub rank: Option<u64>,
    /// The version of PyTorch.
    pub torch: Option<String>,
    /// PyTorch's allocator settings in its environment.
    pub settings: Option<Settings>,
    /// Its name, command and owner.
    pub process: Process,
    /// What it is doing.
    pub live: Live,
    /// Its devices.
    pub devices: Vec<RecordedDevice>,
}

/// One device of a recorded process.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RecordedDevice {
    /// CUDA's number of it within the process.
    pub index: u32,
    /// The driver's number of it; `None` where nothing tells.
    pub gpu: Option<u32>,
    /// What PyTorch says of it.
    #[serde(flatten)]
    pub memory: TorchMemory,
    /// What PyTorch can come to hold on it.
    pub limit: Option<Bytes>,
    /// What sets that limit.
    pub limited_by: Option<LimitedBy>,
    /// What models and optimizers hold of what is in use; null before the second step.
    pub by_class: Option<HeldByClass>,
    /// How fast what is in use grows; null where it does not, or where that cannot be told yet.
    pub growth: Option<LiveGrowth>,
    /// What was held at the ends of the last steps, oldest first.
    #[serde(skip)]
    pub history: Vec<MemorySample>,
}

/// The machine's RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ram {
    /// All of it.
    pub total: Bytes,
    /// What programs can still take without swapping.
    pub available: Bytes,
    /// Swap space.
    pub swap_total: Bytes,
    /// Swap space that is free.
    pub swap_free: Bytes,
}

/// The space of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Space {
    /// All of it.
    pub total: Bytes,
    /// What is free to this user.
    pub free: Bytes,
}

/// PyTorch's allocator settings in one environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `PYTORCH_CUDA_ALLOC_CONF`, where it is set.
    pub cuda: Option<String>,
    /// `PYTORCH_ALLOC_CONF`, where it is set.
    pub general: Option<String>,
    /// The version of PyTorch that reads them, where it is known.
    pub torch: Option<String>,
    /// Which of them PyTorch obeys.
    pub obeyed: Obeyed,
    /// What PyTorch refuses in the string that it obeys.
    pub problem: Option<String>,
}

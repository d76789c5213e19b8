//! `oomph status --json`.

use oomph_diagnose::results::live::Activity;
use oomph_diagnose::results::status::{
    self as found, GpuMemory, Instance, Ram, RecordedDevice, Space, TorchMemory,
};
use oomph_engine::torch::variables::Obeyed;
use oomph_trace::Bytes;
use oomph_trace::cgroup::Cgroup;

use super::SCHEMA;

document! {
    /// The machine at one moment. What cannot be read is null.
    pub fn status(status: &found::Status) -> Machine {
        /// The schema's number: 1.
        schema: u32 = SCHEMA,
        /// The machine's name.
        host: String = status.host_name.clone(),
        /// The driver's version.
        driver: Option<String> = status.gpus.driver.clone(),
        /// The greatest version of CUDA that it serves.
        cuda: Option<String> = status.gpus.cuda.clone(),
        /// Why no GPU can be asked.
        no_gpu: Option<String> = status.gpus.no_gpu.clone(),
        /// In the driver's order.
        gpus: Vec<Gpu> = status.gpus.listed.iter().map(gpu).collect(),
        /// Live processes under `oomph run`.
        recorded: Vec<RecordedProcess> = status.recorded.iter().map(recorded).collect(),
        /// The machine's RAM.
        ram: Option<Ram> = status.ram,
        /// The control group with the tightest limit.
        cgroup: Option<Cgroup> = status.cgroup.clone(),
        /// `/dev/shm`.
        shm: Option<Space> = status.shm,
        /// PyTorch's settings in this environment.
        settings: Settings = settings(&status.settings),
    }

    /// One GPU.
    fn gpu(gpu: &found::Gpu) -> Gpu {
        /// The driver's number.
        index: u32 = gpu.index,
        /// Such as `"NVIDIA H200"`.
        name: Option<String> = gpu.name.clone(),
        /// The driver's name for it.
        uuid: Option<String> = gpu.uuid.clone(),
        /// Compute capability, such as `"9.0"`.
        capability: Option<String> = gpu.capability.map(|(major, minor)| format!("{major}.{minor}")),
        #[serde(flatten)]
        memory: GpuMemory = gpu.memory,
        /// Whether it is divided into instances; null where it cannot be.
        mig: Option<bool> = gpu.mig,
        /// Its instances.
        instances: Vec<Instance> = gpu.instances.clone(),
        /// Who uses it, the largest first.
        processes: Option<Vec<GpuProcess>> =
            gpu.processes.as_ref().map(|list| list.iter().map(process).collect()),
        /// The first question that the driver did not answer.
        problem: Option<String> = gpu.problem.clone(),
    }

    /// A process on a GPU.
    fn process(process: &found::GpuProcess) -> GpuProcess with (who = process.process.as_ref()) {
        /// Its number, as the driver lists it.
        pid: u32 = process.pid,
        /// What it holds on this GPU.
        used: Option<Bytes> = process.used,
        /// Whether it draws rather than computes.
        graphics: bool = process.graphics,
        /// The instance it is on, of a divided GPU.
        gpu_instance: Option<u32> = process.gpu_instance,
        /// Whether it is a process of this machine or container. If not, the next four fields are null.
        visible: bool = who.is_some(),
        /// The kernel's name of it.
        name: Option<String> = who.map(|who| who.name.clone()),
        /// Its command line.
        command: Option<Vec<String>> = who.map(|who| who.command.clone()),
        /// The owner's name, or number where it has none.
        user: Option<String> = who.and_then(|who| who.user.clone()),
        /// Whether it is of the user who asks.
        own: Option<bool> = who.map(|who| who.own),
        /// What of it is PyTorch's, under `oomph run`.
        torch: Option<TorchMemory> = process.torch,
        /// `used` − `torch.reserved`: CUDA's context, libraries.
        outside_torch: Option<Bytes> = process.outside_torch(),
        /// PyTorch's settings in its environment, where that can be read.
        settings: Option<Settings> = process.settings.as_ref().map(settings),
    }

    /// A live process under `oomph run`.
    fn recorded(process: &found::Recorded) -> RecordedProcess {
        /// Its number, as this machine or container sees it.
        pid: u32 = process.pid,
        /// The run's name.
        run: String = process.run.clone(),
        /// The process's name within the run, such as `"rank0"`.
        name: String = process.name.clone(),
        /// Its rank in a distributed job.
        rank: Option<u64> = process.rank,
        /// The version of PyTorch.
        torch: Option<String> = process.torch.clone(),
        /// PyTorch's settings in its environment.
        settings: Option<Settings> = process.settings.as_ref().map(settings),
        /// Steps that are done.
        steps: Option<u64> = process.live.steps,
        /// Steps a second, over the last minute.
        steps_per_second: Option<f64> = process.live.steps_per_second,
        /// What it is doing.
        activity: Option<Activity> = process.live.activity,
        /// Its devices.
        devices: Vec<RecordedDevice> = process.devices.clone(),
    }

    /// PyTorch's allocator settings in one environment.
    fn settings(settings: &found::Settings) -> Settings {
        /// The older variable, where it is set.
        #[serde(rename = "PYTORCH_CUDA_ALLOC_CONF")]
        cuda: Option<String> = settings.cuda.clone(),
        /// The newer one, where it is set.
        #[serde(rename = "PYTORCH_ALLOC_CONF")]
        general: Option<String> = settings.general.clone(),
        /// The version of PyTorch, where it is known.
        torch: Option<String> = settings.torch.clone(),
        /// The name of the variable that counts; null: defaults.
        obeyed: Option<&'static str> = match settings.obeyed {
            Obeyed::Defaults => None,
            Obeyed::Cuda => Some("PYTORCH_CUDA_ALLOC_CONF"),
            Obeyed::General | Obeyed::GeneralSince210 => Some("PYTORCH_ALLOC_CONF"),
        },
        /// The version of PyTorch from which on that is so, where it depends on it and the version is unknown.
        since: Option<&'static str> = (settings.obeyed == Obeyed::GeneralSince210).then_some("2.10"),
        /// What PyTorch refuses.
        problem: Option<String> = settings.problem.clone(),
    }
}

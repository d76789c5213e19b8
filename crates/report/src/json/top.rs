//! `oomph top --json`.

use oomph_diagnose::growth::LiveGrowth;
use oomph_diagnose::results::live::{Activity, LimitedBy};
use oomph_diagnose::results::status::{self as machine, Ram, Status};
use oomph_diagnose::results::top as found;
use oomph_trace::Bytes;
use oomph_trace::sidecar::{HeldByClass, MemorySample};

use super::SCHEMA;

document! {
    /// Jobs under `oomph run` and who else is on the GPUs, at one moment. What is not known is null.
    pub fn top(top: &found::Top<'_>) -> Top with (status = top.status) {
        /// The schema's number: 1.
        schema: u32 = SCHEMA,
        /// The machine's name.
        host: String = status.host_name.clone(),
        /// When it was asked, in microseconds since the epoch.
        taken_us: u64 = status.taken_us,
        /// Why no GPU can be asked.
        no_gpu: Option<String> = status.gpus.no_gpu.clone(),
        /// In the driver's order.
        gpus: Vec<TopCard> = status.gpus.listed.iter().map(gpu).collect(),
        /// The machine's RAM.
        ram: Option<Ram> = status.ram,
        /// Each process under `oomph run` on each of its devices, sorted.
        jobs: Vec<TopJob> = top.jobs.iter().map(|one| job(one, status)).collect(),
        /// The other processes on the GPUs.
        others: Vec<TopOther> = top.others.iter().map(other).collect(),
    }

    /// One GPU.
    fn gpu(gpu: &machine::Gpu) -> TopCard {
        /// The driver's number.
        index: u32 = gpu.index,
        /// Such as `"NVIDIA H200"`.
        name: Option<String> = gpu.name.clone(),
        /// Held by processes.
        used: Option<Bytes> = gpu.memory.used,
        /// Its memory.
        total: Option<Bytes> = gpu.memory.total,
    }

    /// A process under `oomph run` on one of its devices.
    fn job(job: &found::Job<'_>, status: &Status) -> TopJob with (device = job.device, live = job.process.live) {
        /// Its number.
        pid: u32 = job.process.pid,
        /// The run's name.
        run: String = job.process.run.clone(),
        /// The process's name within the run.
        name: String = job.process.name.clone(),
        /// Its rank in a distributed job.
        rank: Option<u64> = job.process.rank,
        /// Its owner.
        user: Option<String> = job.process.process.user.clone(),
        /// Its command line.
        command: Vec<String> = job.process.process.command.clone(),
        /// CUDA's number of the device within the process; null where it has noted none.
        device: Option<u32> = device.map(|device| device.index),
        /// The driver's number of it.
        gpu: Option<u32> = device.and_then(|device| device.gpu),
        /// What the driver says that it holds there.
        used: Option<Bytes> = job.used,
        /// In use by tensors.
        in_use: Option<Bytes> = device.map(|device| device.memory.allocated),
        /// Held by PyTorch and not in use.
        cached: Option<Bytes> = job.cached(),
        /// The most that was in use.
        peak: Option<Bytes> = device.map(|device| device.memory.peak_allocated),
        /// The most that was held.
        peak_held: Option<Bytes> = device.map(|device| device.memory.peak_reserved),
        /// What PyTorch can come to hold.
        limit: Option<Bytes> = device.and_then(|device| device.limit),
        /// What sets that limit.
        limited_by: Option<LimitedBy> = device.and_then(|device| device.limited_by),
        /// `limit` − `in_use`.
        left: Option<Bytes> = job.distance(),
        /// What models and optimizers hold of what is in use; null before the second step.
        by_class: Option<HeldByClass> = device.and_then(|device| device.by_class),
        /// What is in use beside that.
        rest: Option<Bytes> = job.rest(),
        /// Steps that are done.
        steps: Option<u64> = live.steps,
        /// Steps a second, over the last minute.
        steps_per_second: Option<f64> = live.steps_per_second,
        /// What it is doing.
        activity: Option<Activity> = live.activity,
        /// Since when, in microseconds since the epoch.
        activity_since_us: Option<u64> = live.since_us,
        /// How often the whole cache was dropped to serve a request.
        retries: Option<u64> = device.map(|device| device.memory.retries),
        /// Requests that failed.
        failures: Option<u64> = device.map(|device| device.memory.ooms),
        /// How fast what is in use grows; null where it does not, or where that cannot be told yet.
        growth: Option<LiveGrowth> = device.and_then(|device| device.growth),
        /// Whether the screen warns of that growth: the limit will be reached within a day.
        warned: bool = job.warned_s().is_some(),
        /// How long it has run.
        running_s: Option<u64> = job.running_s(status),
        /// How old these figures are.
        age_s: Option<u64> = job.age_s(status),
        /// What was held at the ends of the last steps, oldest first.
        history: Vec<TopMoment> = device.map(|device| device.history.iter().map(moment).collect()).unwrap_or_default(),
    }

    /// What was held when a step had ended.
    fn moment(sample: &MemorySample) -> TopMoment {
        /// When, in microseconds since the epoch.
        time_us: u64 = sample.time_us,
        /// Steps that were done.
        steps: u64 = sample.step,
        /// In use by tensors.
        in_use: Bytes = sample.allocated,
        /// Held from the driver.
        held: Bytes = sample.reserved,
    }

    /// A process on a GPU that `oomph run` did not start.
    fn other(of: &(u32, &machine::GpuProcess)) -> TopOther with (process = of.1, who = process.process.as_ref()) {
        /// Its number, as the driver lists it.
        pid: u32 = process.pid,
        /// The driver's number of the GPU.
        gpu: u32 = of.0,
        /// What it holds there.
        used: Option<Bytes> = process.used,
        /// Its owner.
        user: Option<String> = who.and_then(|who| who.user.clone()),
        /// Its command line; null where it is not of this machine or container.
        command: Option<Vec<String>> = who.map(|who| who.command.clone()),
    }
}

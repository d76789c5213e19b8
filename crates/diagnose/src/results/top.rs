//! What `oomph top` shows of a machine: the jobs under `oomph run`, and who else is on the GPUs.

use std::cmp::Reverse;

use oomph_trace::Bytes;
use oomph_trace::named;

use super::status::{GpuProcess, Recorded, RecordedDevice, Status};

/// A job that has this long left, or less, at the rate at which it grows is warned of.
const WARNED_S: u64 = 24 * 3600;

named! {
    /// What jobs are sorted by.
    Sort {
        /// What PyTorch holds, the most first.
        Memory = "memory",
        /// The time that is left at the rate of growth, the least first.
        Growth = "growth",
        /// How long they have run, the longest first.
        Time = "time",
        /// Their pids.
        Pid = "pid",
    }
}

/// A machine's jobs and other processes at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Top<'a> {
    /// The machine.
    pub status: &'a Status,
    /// The jobs, in order.
    pub jobs: Vec<Job<'a>>,
    /// The other processes on the GPUs, each with the GPU's number, the largest of each GPU first.
    pub others: Vec<(u32, &'a GpuProcess)>,
}

/// A process under `oomph run` on one of its devices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job<'a> {
    /// The process.
    pub process: &'a Recorded,
    /// The device; `None` where the process has noted none.
    pub device: Option<&'a RecordedDevice>,
    /// What the driver says that it holds there.
    pub used: Option<Bytes>,
}

impl<'a> Top<'a> {
    /// What of a machine's status is jobs, and what is not.
    pub fn of(status: &'a Status, sort: Sort) -> Top<'a> {
        let mut jobs: Vec<Job<'a>> = status.recorded.iter().flat_map(|one| of_process(status, one)).collect();
        jobs.sort_by_key(|job| (order(job, sort), job.process.pid, job.device.map(|device| device.index)));
        let is_job = |process: &GpuProcess| {
            process.process.is_some() && status.recorded.iter().any(|one| one.pid == process.pid)
        };
        let all = status
            .gpus
            .listed
            .iter()
            .flat_map(|gpu| gpu.processes.iter().flatten().map(|process| (gpu.index, process)));
        Top { status, jobs, others: all.filter(|(_, process)| !is_job(process)).collect() }
    }
}

fn of_process<'a>(status: &'a Status, process: &'a Recorded) -> Vec<Job<'a>> {
    let on = |device: &RecordedDevice| {
        let gpu = status.gpus.listed.iter().find(|gpu| device.gpu == Some(gpu.index))?;
        let listed =
            gpu.processes.iter().flatten().find(|one| one.pid == process.pid && one.process.is_some());
        listed?.used
    };
    if process.devices.is_empty() {
        return vec![Job { process, device: None, used: None }];
    }
    process.devices.iter().map(|device| Job { process, device: Some(device), used: on(device) }).collect()
}

/// What comes first is the least of these.
fn order(job: &Job<'_>, sort: Sort) -> (u64, Reverse<u64>) {
    let held = job.device.map_or(0, |device| device.memory.reserved.0);
    let growth = job.device.and_then(|device| device.growth);
    match sort {
        Sort::Memory => (0, Reverse(held)),
        Sort::Growth => {
            let left = growth.map_or(u64::MAX, |growth| growth.left_s.unwrap_or(u64::MAX - 1));
            (left, Reverse(growth.map_or(held, |growth| growth.per_minute.0)))
        }
        Sort::Time => (job.process.live.started_us.unwrap_or(u64::MAX), Reverse(0)),
        Sort::Pid => (u64::from(job.process.pid), Reverse(0)),
    }
}

impl Job<'_> {
    /// Held by PyTorch and not in use.
    pub fn cached(&self) -> Option<Bytes> {
        self.device.map(|device| device.memory.reserved.saturating_sub(device.memory.allocated))
    }

    /// What is in use and belongs to no class that is known.
    pub fn rest(&self) -> Option<Bytes> {
        let device = self.device?;
        let known = device.by_class?;
        let classes = known.weights + known.gradients + known.optimizer + known.buffers;
        Some(device.memory.allocated.saturating_sub(classes))
    }

    /// What PyTorch can still take before it reaches its limit, its cache included.
    pub fn distance(&self) -> Option<Bytes> {
        let device = self.device?;
        Some(device.limit?.saturating_sub(device.memory.allocated))
    }

    /// In how many seconds the limit is reached, where that is worth a warning: within a day.
    pub fn warned_s(&self) -> Option<u64> {
        self.device?.growth?.left_s.filter(|left| *left <= WARNED_S)
    }

    /// How old its figures are, in seconds.
    pub fn age_s(&self, status: &Status) -> Option<u64> {
        self.process.live.noted_us.map(|noted| status.taken_us.saturating_sub(noted) / 1_000_000)
    }

    /// How long it has run, in seconds.
    pub fn running_s(&self, status: &Status) -> Option<u64> {
        self.process.live.started_us.map(|started| status.taken_us.saturating_sub(started) / 1_000_000)
    }
}

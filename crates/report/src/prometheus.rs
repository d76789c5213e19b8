//! One machine's memory in Prometheus' text format, version 0.0.4.
//!
//! Names begin with `oomph_`, amounts are bytes, `_total` is for counters. GPUs are labelled as DCGM's exporter labels them
//! (`gpu`, `UUID`, `device`, `modelName`, `GPU_I_ID`, `Hostname`), so that the two join. What DCGM exports, the hardware's own figures,
//! is left to it.

use std::fmt::Write as _;

use oomph_diagnose::results::status::{Gpu, GpuProcess, Recorded, RecordedDevice, Status, TorchMemory};

/// The media type of the format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What a scrape is answered with; its media type is [`CONTENT_TYPE`]. A label without a value is left out.
pub fn status(status: &Status) -> String {
    let mut page = Page { out: String::new(), host: status.host_name.clone() };
    processes(&mut page, status);
    torch(&mut page, status);
    live(&mut page, status);
    host(&mut page, status);
    page.out
}

/// Names and values of labels.
type Labels = Vec<(&'static str, String)>;

struct Page {
    out: String,
    host: String,
}

impl Page {
    /// One metric with all its samples; nothing where there is none.
    fn metric(&mut self, name: &str, help: &str, samples: impl IntoIterator<Item = (Labels, u64)>) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return;
        }
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        let _ = writeln!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in samples {
            let host = ("Hostname", self.host.clone());
            let all = labels.into_iter().chain([host]).filter(|(_, text)| !text.is_empty());
            let all: Vec<String> =
                all.map(|(label, text)| format!("{label}=\"{}\"", escaped(&text))).collect();
            let braces = if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) };
            let _ = writeln!(self.out, "{name}{braces} {value}");
        }
    }
}

/// A label's text: backslashes, quotes and line ends are escaped, as the format asks for.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn of_gpu(gpu: &Gpu) -> Labels {
    vec![
        ("gpu", gpu.index.to_string()),
        ("UUID", gpu.uuid.clone().unwrap_or_default()),
        ("device", format!("nvidia{}", gpu.index)),
        ("modelName", gpu.name.clone().unwrap_or_default()),
    ]
}

/// What each process holds, by class; the classes of one process add up to what the driver says it holds.
fn processes(page: &mut Page, status: &Status) {
    let mut samples = Vec::new();
    for gpu in &status.gpus.listed {
        for process in gpu.processes.iter().flatten() {
            let name = process.process.as_ref().map(|who| who.name.clone()).unwrap_or_default();
            let recorded = status.recorded.iter().find(|one| one.pid == process.pid);
            let mut labels = of_gpu(gpu);
            labels.extend([("pid", process.pid.to_string()), ("process", name)]);
            labels.push(("rank", recorded.map(rank).unwrap_or_default()));
            for (class, bytes) in classes(process) {
                samples.push(([labels.clone(), vec![("class", class.to_owned())]].concat(), bytes));
            }
        }
    }
    let help = "Memory that a process holds on a GPU, by class: pytorch_allocated, pytorch_cached, \
                context (the rest of a recorded process), unknown (a process that is not recorded).";
    page.metric("oomph_gpu_process_memory_bytes", help, samples);
}

fn classes(process: &GpuProcess) -> Vec<(&'static str, u64)> {
    match (&process.torch, process.outside_torch(), process.used) {
        (Some(torch), Some(outside), _) => vec![
            ("pytorch_allocated", torch.allocated.0),
            ("pytorch_cached", torch.reserved.saturating_sub(torch.allocated).0),
            ("context", outside.0),
        ],
        (_, _, Some(used)) => vec![("unknown", used.0)],
        (_, _, None) => Vec::new(),
    }
}

fn rank(process: &Recorded) -> String {
    process.rank.map(|rank| rank.to_string()).unwrap_or_default()
}

/// What PyTorch's allocator says of itself: name, help, figure.
type Figure = (&'static str, &'static str, fn(&TorchMemory) -> u64);
const FIGURES: [Figure; 6] = [
    ("allocated_bytes", "Memory in use by tensors.", |torch| torch.allocated.0),
    ("reserved_bytes", "Memory held from the driver.", |torch| torch.reserved.0),
    ("peak_allocated_bytes", "The most in use so far.", |torch| torch.peak_allocated.0),
    ("peak_reserved_bytes", "The most held so far.", |torch| torch.peak_reserved.0),
    ("alloc_retries_total", "How often the whole cache was dropped to serve a request.", |torch| {
        torch.retries
    }),
    ("ooms_total", "Requests that failed.", |torch| torch.ooms),
];

/// The figures of each recorded process, on each of its devices.
fn torch(page: &mut Page, status: &Status) {
    for (name, help, figure) in FIGURES {
        let samples = devices(status)
            .map(|(process, device)| (of_device(status, process, device), figure(&device.memory)));
        page.metric(&format!("oomph_pytorch_{name}"), help, samples);
    }
}

/// Each recorded process with each of its devices.
fn devices(status: &Status) -> impl Iterator<Item = (&Recorded, &RecordedDevice)> {
    status.recorded.iter().flat_map(|one| one.devices.iter().map(move |device| (one, device)))
}

fn of_device(status: &Status, process: &Recorded, device: &RecordedDevice) -> Labels {
    let gpu = status.gpus.listed.iter().find(|gpu| device.gpu == Some(gpu.index));
    let mut labels = gpu.map(of_gpu).unwrap_or_default();
    labels.push(("cuda_device", device.index.to_string()));
    labels.extend(of_recorded(process));
    labels
}

fn of_recorded(process: &Recorded) -> Labels {
    vec![
        ("pid", process.pid.to_string()),
        ("run", process.run.clone()),
        ("name", process.name.clone()),
        ("rank", rank(process)),
    ]
}

/// What `oomph top` shows beside that: how far a job is, what its memory is for, whether it grows.
fn live(page: &mut Page, status: &Status) {
    let steps = status.recorded.iter().filter_map(|one| Some((of_recorded(one), one.live.steps?)));
    page.metric("oomph_pytorch_steps_total", "Optimizer steps that are done.", steps);
    let each = |figure: fn(&RecordedDevice) -> Option<u64>| {
        devices(status)
            .filter_map(move |(process, device)| Some((of_device(status, process, device), figure(device)?)))
    };
    let limit = "What PyTorch can come to hold: its limit, or what is free on the card and what it holds.";
    page.metric("oomph_pytorch_limit_bytes", limit, each(|device| device.limit.map(|limit| limit.0)));
    let classes = devices(status).flat_map(|(process, device)| {
        let labels = of_device(status, process, device);
        let with = move |(class, bytes): (&str, u64)| {
            ([labels.clone(), vec![("class", class.to_owned())]].concat(), bytes)
        };
        by_class(device).into_iter().map(with)
    });
    let help = "Memory in use by class: weights, gradients, optimizer, buffers, rest.";
    page.metric("oomph_pytorch_class_bytes", help, classes);
    let help = "How much more is in use after each step, a second; 0 where it does not grow.";
    let rate = each(|device| Some(device.growth.map_or(0, |growth| growth.per_minute.0 / 60)));
    page.metric("oomph_pytorch_growth_bytes_per_second", help, rate);
    let help = "The time until the limit is reached at that rate; absent where memory does not grow.";
    page.metric("oomph_pytorch_left_seconds", help, each(|device| device.growth?.left_s));
}

fn by_class(device: &RecordedDevice) -> Vec<(&'static str, u64)> {
    let Some(known) = device.by_class else { return Vec::new() };
    let parts = [
        ("weights", known.weights.0),
        ("gradients", known.gradients.0),
        ("optimizer", known.optimizer.0),
        ("buffers", known.buffers.0),
    ];
    let rest = device.memory.allocated.0.saturating_sub(parts.iter().map(|(_, bytes)| bytes).sum());
    parts.into_iter().chain([("rest", rest)]).collect()
}

fn host(page: &mut Page, status: &Status) {
    let (ram, shm, group) = (status.ram.as_ref(), status.shm.as_ref(), status.cgroup.as_ref());
    let figures = [
        ("host_memory_size_bytes", "The machine's RAM.", ram.map(|ram| ram.total.0)),
        (
            "host_memory_available_bytes",
            "RAM that programs can take without swapping.",
            ram.map(|ram| ram.available.0),
        ),
        (
            "cgroup_memory_limit_bytes",
            "The tightest memory limit of the control groups that this process is in.",
            group.and_then(|group| group.limit).map(|limit| limit.0),
        ),
        (
            "cgroup_memory_usage_bytes",
            "What that control group holds, page cache included.",
            group.and_then(|group| group.current).map(|current| current.0),
        ),
        (
            "cgroup_oom_kills_total",
            "Processes of that control group that the kernel has killed for memory.",
            group.and_then(|group| group.oom_kills),
        ),
        ("shm_size_bytes", "The size of /dev/shm.", shm.map(|shm| shm.total.0)),
        ("shm_free_bytes", "What is free in /dev/shm.", shm.map(|shm| shm.free.0)),
    ];
    for (name, help, value) in figures {
        page.metric(&format!("oomph_{name}"), help, value.map(|value| (Vec::new(), value)));
    }
}

//! One machine's memory in Prometheus' text format, version 0.0.4.
//!
//! Names begin with `oomph_`, amounts are bytes, `_total` is for counters. GPUs are labelled as DCGM's exporter labels them
//! (`gpu`, `UUID`, `device`, `modelName`, `GPU_I_ID`, `Hostname`), so that the two join. What DCGM exports, the hardware's own figures,
//! is left to it.

use std::fmt::Write as _;

use oomph_diagnose::results::status::{Gpu, GpuProcess, Recorded, Status};

/// What a scrape is answered with; its media type is [`CONTENT_TYPE`]. A label without a value is left out.
pub fn status(status: &Status) -> String {
    let mut page = Page { out: String::new(), host: status.host_name.clone() };
    processes(&mut page, status);
    torch(&mut page, status);
    host(&mut page, status);
    page.out
}

/// The media type of the format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Gauge,
    Counter,
}

/// Names and values of labels.
type Labels = Vec<(&'static str, String)>;

struct Page {
    out: String,
    host: String,
}

impl Page {
    /// One metric with all its samples; nothing where there is none.
    fn metric(&mut self, name: &str, kind: Kind, help: &str, samples: &[(Labels, u64)]) {
        if samples.is_empty() {
            return;
        }
        let kind = match kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
        };
        let _ = writeln!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in samples {
            let host = ("Hostname", self.host.clone());
            let all = labels.iter().chain([&host]).filter(|(_, text)| !text.is_empty());
            let all: Vec<String> =
                all.map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
            let braces = if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) };
            let _ = writeln!(self.out, "{name}{braces} {value}");
        }
    }

    fn gauge(&mut self, name: &str, help: &str, value: Option<u64>) {
        let samples: Vec<(Labels, u64)> = value.map(|value| (Vec::new(), value)).into_iter().collect();
        self.metric(name, Kind::Gauge, help, &samples);
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
    for gpu in status.gpus.listed() {
        for process in gpu.processes.iter().flatten() {
            for (class, bytes) in classes(process) {
                let mut labels = of_gpu(gpu);
                labels.push(("pid", process.pid.to_string()));
                labels.push((
                    "process",
                    process.process.as_ref().map_or_else(String::new, |who| who.name.clone()),
                ));
                labels.push(("rank", rank(&status.recorded, process.pid)));
                labels.push(("class", class.to_owned()));
                samples.push((labels, bytes));
            }
        }
    }
    let help = "Memory that a process holds on a GPU, by class: pytorch_allocated, pytorch_cached, \
                context (the rest of a recorded process), unknown (a process that is not recorded).";
    page.metric("oomph_gpu_process_memory_bytes", Kind::Gauge, help, &samples);
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

fn rank(recorded: &[Recorded], pid: u32) -> String {
    let found = recorded.iter().find(|one| one.pid == pid).and_then(|one| one.rank);
    found.map_or_else(String::new, |rank| rank.to_string())
}

/// What PyTorch's allocator says in each recorded process, on each of its devices.
fn torch(page: &mut Page, status: &Status) {
    use oomph_diagnose::results::status::TorchMemory;
    type Figure = (&'static str, Kind, &'static str, fn(&TorchMemory) -> u64);
    let figures: [Figure; 6] = [
        ("oomph_pytorch_allocated_bytes", Kind::Gauge, "Memory in use by tensors.", |torch| {
            torch.allocated.0
        }),
        ("oomph_pytorch_reserved_bytes", Kind::Gauge, "Memory held from the driver.", |torch| {
            torch.reserved.0
        }),
        ("oomph_pytorch_peak_allocated_bytes", Kind::Gauge, "The most in use so far.", |torch| {
            torch.peak_allocated.0
        }),
        ("oomph_pytorch_peak_reserved_bytes", Kind::Gauge, "The most held so far.", |torch| {
            torch.peak_reserved.0
        }),
        (
            "oomph_pytorch_alloc_retries_total",
            Kind::Counter,
            "How often the whole cache was dropped to serve a request.",
            |torch| torch.retries,
        ),
        ("oomph_pytorch_ooms_total", Kind::Counter, "Requests that failed.", |torch| torch.ooms),
    ];
    for (name, kind, help, figure) in figures {
        let mut samples = Vec::new();
        for process in &status.recorded {
            for device in &process.devices {
                let gpu = status.gpus.listed().iter().find(|gpu| device.gpu == Some(gpu.index));
                let mut labels = gpu.map(of_gpu).unwrap_or_default();
                labels.push(("cuda_device", device.index.to_string()));
                labels.push(("pid", process.pid.to_string()));
                labels.push(("run", process.run.clone()));
                labels.push(("name", process.name.clone()));
                labels.push(("rank", process.rank.map_or_else(String::new, |rank| rank.to_string())));
                samples.push((labels, figure(&device.memory)));
            }
        }
        page.metric(name, kind, help, &samples);
    }
}

fn host(page: &mut Page, status: &Status) {
    let (ram, shm, group) = (status.ram.as_ref(), status.shm.as_ref(), status.cgroup.as_ref());
    page.gauge("oomph_host_memory_size_bytes", "The machine's RAM.", ram.map(|ram| ram.total.0));
    page.gauge(
        "oomph_host_memory_available_bytes",
        "RAM that programs can take without swapping.",
        ram.map(|ram| ram.available.0),
    );
    page.gauge(
        "oomph_cgroup_memory_limit_bytes",
        "The tightest memory limit of the control groups that this process is in.",
        group.and_then(|group| group.limit).map(|limit| limit.0),
    );
    page.gauge(
        "oomph_cgroup_memory_usage_bytes",
        "What that control group holds, page cache included.",
        group.and_then(|group| group.current).map(|current| current.0),
    );
    let kills: Vec<(Labels, u64)> =
        group.and_then(|group| group.oom_kills).map(|kills| (Vec::new(), kills)).into_iter().collect();
    page.metric(
        "oomph_cgroup_oom_kills_total",
        Kind::Counter,
        "Processes of that control group that the kernel has killed for memory.",
        &kills,
    );
    page.gauge("oomph_shm_size_bytes", "The size of /dev/shm.", shm.map(|shm| shm.total.0));
    page.gauge("oomph_shm_free_bytes", "What is free in /dev/shm.", shm.map(|shm| shm.free.0));
}

//! `oomph status` as text: one screen.

use oomph_diagnose::results::status::{
    Gpu, GpuMemory, GpuProcess, Gpus, Process, Recorded, Settings, Status,
};
use oomph_engine::torch::variables::Obeyed;
use oomph_trace::Bytes;

use super::report::Align::{Cut, Hidden, Left, Right};
use super::report::{Colour, Report, WIDTH, row, wrapped};
use crate::numbers::{counted, known};

/// The whole report.
pub fn render(status: &Status, colour: Colour) -> String {
    let Gpus { driver, cuda, no_gpu, listed } = &status.gpus;
    let title = match (no_gpu, listed.len()) {
        (Some(why), _) => format!("no GPU: {}", plain(why)),
        (None, 0) => "no GPU: the driver lists none".to_owned(),
        (None, count) => counted(count, "GPU"),
    };
    let driver = driver.as_ref().map(|version| format!(", driver {}", plain(version)));
    let cuda = cuda.as_ref().map(|version| format!(", CUDA up to {}", plain(version)));
    let title = title + &driver.unwrap_or_default() + &cuda.unwrap_or_default();
    let mut report = Report::new(&wrapped(&title, WIDTH).join("\n"), colour);
    status.gpus.listed.iter().for_each(|one| gpu(&mut report, one));
    notes(&mut report, status);
    recorded(&mut report, status);
    host(&mut report, status);
    report.say("Settings", format!("in this environment: {}", settings(&status.settings)));
    for (pid, settings_of) in settings_of_processes(status) {
        report.say("", format!("of process {pid}: {}", settings(settings_of)));
    }
    report.finish()
}

fn gpu(report: &mut Report, gpu: &Gpu) {
    let mut text = amounts(gpu.name.as_deref().unwrap_or("a GPU without a name"), gpu.memory);
    if gpu.mig == Some(true) {
        text += "; divided into instances (MIG)";
    }
    if gpu.processes.as_ref().is_some_and(Vec::is_empty) {
        text += "; no process on it";
    }
    report.say(&format!("GPU {}", gpu.index), text);
    for instance in &gpu.instances {
        let label = format!("MIG {}", known(instance.gpu_instance, "?"));
        report.say(&label, amounts(instance.name.as_deref().unwrap_or("an instance"), instance.memory));
    }
    report.say_all(gpu.problem.as_ref().map(|problem| ("", plain(problem))));
    if let Some(list) = gpu.processes.as_ref().filter(|list| !list.is_empty()) {
        report.gap();
        processes(report, gpu, list);
        report.gap();
    }
}

fn amounts(name: &str, memory: GpuMemory) -> String {
    let GpuMemory { total: Some(total), used: Some(used), free: Some(free), reserved } = memory else {
        return format!("{}: its memory is unknown", plain(name));
    };
    let kept = reserved.filter(|kept| *kept > Bytes::ZERO);
    let kept = kept.map(|kept| format!(", {kept} kept by the driver")).unwrap_or_default();
    format!("{}: {used} of {total} used, {free} free{kept}", plain(name))
}

/// Who holds how much. The columns about PyTorch and about instances are there where they say something.
fn processes(report: &mut Report, gpu: &Gpu, list: &[GpuProcess]) {
    let instance = if gpu.mig == Some(true) { Right } else { Hidden };
    let torch = if list.iter().any(|process| process.torch.is_some()) { Right } else { Hidden };
    let mut rows = vec![row!["pid", "MIG", "user", "used", "PyTorch", "context", "command"]];
    for process in list {
        let user = process.process.as_ref().and_then(|who| who.user.as_deref());
        let torch = known(process.torch.map(|torch| torch.reserved), "?");
        let (used, outside) = (known(process.used, "?"), known(process.outside_torch(), "?"));
        let (user, instance) = (known(user.map(plain), "?"), known(process.gpu_instance, "-"));
        rows.push(row![process.pid, instance, user, used, torch, outside, described(process)]);
    }
    if let Some(rest) = unaccounted(gpu, list) {
        rows.push(row!["rest", "", "", rest, "", "", "no process that is listed"]);
    }
    report.table(4, &[Right, instance, Left, Right, torch, torch, Cut], &rows);
}

/// What is used and listed nowhere: processes of other containers, contexts that are going away. `None` where a
/// figure is missing or nothing worth a line is left.
fn unaccounted(gpu: &Gpu, list: &[GpuProcess]) -> Option<Bytes> {
    let listed: Option<Vec<Bytes>> = list.iter().map(|process| process.used).collect();
    let listed: Bytes = listed?.into_iter().sum();
    Some(gpu.memory.used?.saturating_sub(listed)).filter(|rest| *rest >= Bytes::mib(1))
}

pub(super) fn described(process: &GpuProcess) -> String {
    let Some(who) = &process.process else { return "(not of this container)".to_owned() };
    let graphics = if process.graphics { " (graphics)" } else { "" };
    format!("{}{graphics}", command(who))
}

/// The command line with the program's folder left out.
pub(super) fn command(who: &Process) -> String {
    let Some((program, rest)) = who.command.split_first() else { return format!("[{}]", plain(&who.name)) };
    let program = program.rsplit('/').next().unwrap_or(program);
    let words = std::iter::once(program).chain(rest.iter().flat_map(|word| word.split_whitespace()));
    plain(&words.collect::<Vec<_>>().join(" "))
}

/// Foreign text without what a terminal would act on.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The processes on all GPUs.
fn on_gpus(status: &Status) -> impl Iterator<Item = &GpuProcess> {
    status.gpus.listed.iter().filter_map(|gpu| gpu.processes.as_ref()).flatten()
}

fn notes(report: &mut Report, status: &Status) {
    if on_gpus(status).any(|process| process.torch.is_some()) {
        let text = "PyTorch: held by its allocator, cache included. context: the rest of the process, \
                    CUDA's context and libraries.";
        report.say("Columns", text);
    } else if on_gpus(status).any(|process| process.process.as_ref().is_some_and(|who| who.own)) {
        report.say("Columns", "what of a process is PyTorch's is known for jobs started with `oomph run`");
    }
}

/// Recorded processes that no row above shows: the driver lists them under another pid, or not at all.
fn recorded(report: &mut Report, status: &Status) {
    let is_shown =
        |one: &&Recorded| on_gpus(status).any(|process| process.pid == one.pid && process.torch.is_some());
    for one in status.recorded.iter().filter(|one| !is_shown(one)) {
        for device in &one.devices {
            let gpu =
                device.gpu.map_or_else(|| format!("its device {}", device.index), |gpu| format!("GPU {gpu}"));
            let (held, in_use) = (device.memory.reserved, device.memory.allocated);
            let text = format!(
                "process {} ({} of {}) on {gpu}: {held} held by PyTorch, {in_use} of it in use; \
                 the driver does not list it under this pid",
                one.pid,
                plain(&one.name),
                plain(&one.run),
            );
            report.say("Recorded", text);
        }
    }
}

fn host(report: &mut Report, status: &Status) {
    match status.ram {
        Some(ram) => {
            let used = ram.total.saturating_sub(ram.available);
            let swap = if ram.swap_total == Bytes::ZERO {
                "no swap".to_owned()
            } else {
                format!("swap {} of {} free", ram.swap_free, ram.swap_total)
            };
            report.say("RAM", format!("{used} of {} used, {} available, {swap}", ram.total, ram.available));
        }
        None => report.say("RAM", "unknown: /proc/meminfo cannot be read"),
    }
    if let Some(group) = &status.cgroup {
        let (current, path) = (known(group.current, "?"), end_of(&plain(&group.path)));
        let mut text = match group.limit {
            Some(limit) => format!("{current} of {limit} used by control group {path}"),
            None => format!("none set; control group {path} uses {current}"),
        };
        if let Some(kills) = group.oom_kills.filter(|kills| *kills > 0) {
            let processes = if kills == 1 { "process" } else { "processes" };
            text += &format!("; the kernel has killed {kills} {processes} of it for memory");
        }
        report.say("Limit", text);
    }
    if let Some(shm) = status.shm {
        let small = shm.total <= Bytes::mib(64);
        let hint = if small { "; small for data loader workers: docker run --shm-size=8g" } else { "" };
        report.say("/dev/shm", format!("{} of {} free{hint}", shm.free, shm.total));
    }
}

/// A path, or the end of it where it is long: Kubernetes' are, and the end is what tells them apart.
fn end_of(path: &str) -> String {
    const LONGEST: usize = 48;
    let length = path.chars().count();
    if length <= LONGEST {
        return path.to_owned();
    }
    std::iter::once('…').chain(path.chars().skip(length + 1 - LONGEST)).collect()
}

/// Each process once: those in the rows, then the recorded ones that are in none.
fn settings_of_processes(status: &Status) -> Vec<(u32, &Settings)> {
    let mut found: Vec<(u32, &Settings)> = Vec::new();
    let listed = on_gpus(status).map(|process| (process.pid, process.settings.as_ref()));
    let recorded = status.recorded.iter().map(|one| (one.pid, one.settings.as_ref()));
    for (pid, settings) in listed.chain(recorded) {
        if let Some(settings) = settings
            && found.iter().all(|(known, _)| *known != pid)
        {
            found.push((pid, settings));
        }
    }
    found
}

/// What is set, and which of it counts.
fn settings(settings: &Settings) -> String {
    let cuda = settings.cuda.as_deref().map(plain).unwrap_or_default();
    let general = settings.general.as_deref().map(plain).unwrap_or_default();
    let mut text = match (settings.obeyed, &settings.general) {
        (Obeyed::Defaults, None) => "PyTorch's defaults, neither variable is set".to_owned(),
        (Obeyed::Defaults, Some(_)) => {
            let version = settings.torch.as_deref().map(|version| format!("PyTorch {}", plain(version)));
            let version = known(version, "this PyTorch");
            format!(
                "PyTorch's defaults: {version} ignores PYTORCH_ALLOC_CONF={general}; set PYTORCH_CUDA_ALLOC_CONF"
            )
        }
        (Obeyed::Cuda, None) => format!("PYTORCH_CUDA_ALLOC_CONF={cuda}"),
        (Obeyed::Cuda, Some(_)) if cuda == general => {
            format!("PYTORCH_CUDA_ALLOC_CONF={cuda} and PYTORCH_ALLOC_CONF say the same")
        }
        (Obeyed::Cuda, Some(_)) => {
            format!("PYTORCH_CUDA_ALLOC_CONF={cuda} wins over PYTORCH_ALLOC_CONF={general}")
        }
        (Obeyed::General, _) => format!("PYTORCH_ALLOC_CONF={general}"),
        (Obeyed::GeneralSince210, _) => format!(
            "PYTORCH_ALLOC_CONF={general}, which PyTorch before 2.10 ignores: \
             set PYTORCH_CUDA_ALLOC_CONF to the same"
        ),
    };
    if let Some(problem) = &settings.problem {
        text += &format!("; refused: {}", plain(problem));
    }
    text
}

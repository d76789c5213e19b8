//! `oomph status` as text: one screen.

use std::fmt::Write as _;

use oomph_trace::Bytes;

use super::style::{Align, Colour, WIDTH, paragraph, table, wrapped};
use crate::words::counted;
use oomph_diagnose::results::status::{
    Gpu, GpuMemory, GpuProcess, Gpus, Process, Recorded, Settings, Status,
};
use oomph_engine::torch::variables::Obeyed;

/// How far the rows of a GPU's processes are indented.
const INDENT: usize = 4;

/// The whole report.
pub fn render(status: &Status, colour: Colour) -> String {
    let mut out = String::new();
    match &status.gpus {
        Gpus::Unreachable { why } => {
            heading(&mut out, &format!("no GPU: {}", plain(why)), colour);
        }
        Gpus::Listed { driver, cuda, gpus } => {
            let mut title = if gpus.is_empty() {
                "no GPU: the driver lists none".to_owned()
            } else {
                counted(gpus.len() as u64, "GPU")
            };
            if let Some(driver) = driver {
                title += &format!(", driver {}", plain(driver));
            }
            if let Some(cuda) = cuda {
                title += &format!(", CUDA up to {}", plain(cuda));
            }
            heading(&mut out, &title, colour);
            for one in gpus {
                gpu(&mut out, one);
            }
            notes(&mut out, gpus);
        }
    }
    recorded(&mut out, status);
    host(&mut out, status);
    let own = &status.settings;
    paragraph(&mut out, "Settings", &format!("in this environment: {}", settings(own)));
    for (pid, settings_of) in settings_of_processes(status) {
        paragraph(&mut out, "", &format!("of process {pid}: {}", settings(settings_of)));
    }
    out
}

fn heading(out: &mut String, text: &str, colour: Colour) {
    for line in wrapped(text, WIDTH) {
        let _ = writeln!(out, "{}", colour.strong(&line));
    }
}

fn gpu(out: &mut String, gpu: &Gpu) {
    let name = gpu.name.as_deref().map_or_else(|| "a GPU without a name".to_owned(), plain);
    let mut text = match gpu.memory {
        Some(memory) => format!("{name}: {}", amounts(memory)),
        None => format!("{name}: its memory is unknown"),
    };
    if gpu.mig == Some(true) {
        text += "; divided into instances (MIG)";
    }
    if gpu.processes.as_ref().is_some_and(Vec::is_empty) {
        text += "; no process on it";
    }
    paragraph(out, &format!("GPU {}", gpu.index), &text);
    for instance in &gpu.instances {
        let number = instance.gpu_instance.map_or_else(|| "?".to_owned(), |number| number.to_string());
        let name = instance.name.as_deref().map_or_else(|| "an instance".to_owned(), plain);
        let text = match instance.memory {
            Some(memory) => format!("{name}: {}", amounts(memory)),
            None => format!("{name}: its memory is unknown"),
        };
        paragraph(out, &format!("MIG {number}"), &text);
    }
    if let Some(problem) = &gpu.problem {
        paragraph(out, "", &plain(problem));
    }
    if let Some(list) = gpu.processes.as_ref().filter(|list| !list.is_empty()) {
        out.push('\n');
        processes(out, gpu, list);
        out.push('\n');
    }
}

fn amounts(memory: GpuMemory) -> String {
    let kept = memory.reserved.filter(|kept| *kept > Bytes::ZERO);
    let kept = kept.map_or_else(String::new, |kept| format!(", {kept} kept by the driver"));
    format!("{} of {} used, {} free{kept}", memory.used, memory.total, memory.free)
}

/// Who holds how much. The columns about PyTorch and about instances are there where they say something.
fn processes(out: &mut String, gpu: &Gpu, list: &[GpuProcess]) {
    let divided = gpu.mig == Some(true);
    let split = list.iter().any(|process| process.torch.is_some());
    let left = |keep: bool| if keep { Some(Align::Left) } else { None };
    let right = |keep: bool| if keep { Some(Align::Right) } else { None };
    let columns =
        [right(true), right(divided), left(true), right(true), right(split), right(split), left(true)];
    let shown = |size: Option<Bytes>| size.map_or_else(|| "?".to_owned(), |size| size.to_string());
    let mut rows = vec![["pid", "MIG", "user", "used", "PyTorch", "context", "command"].map(str::to_owned)];
    for process in list {
        let user = process.process.as_ref().and_then(|who| who.user.as_deref());
        rows.push([
            process.pid.to_string(),
            process.gpu_instance.map_or_else(|| "-".to_owned(), |number| number.to_string()),
            user.map_or_else(|| "?".to_owned(), plain),
            shown(process.used),
            shown(process.torch.map(|torch| torch.reserved)),
            shown(process.outside_torch()),
            described(process),
        ]);
    }
    if let Some(rest) = unaccounted(gpu, list) {
        let text = "no process that is listed";
        rows.push(["rest", "", "", &rest.to_string(), "", "", text].map(str::to_owned));
    }
    let kept = |row: [String; 7]| -> Vec<String> {
        row.into_iter().zip(columns).filter_map(|(cell, column)| column.map(|_| cell)).collect()
    };
    let mut rows: Vec<Vec<String>> = rows.into_iter().map(kept).collect();
    shorten_commands(&mut rows);
    table(out, INDENT, &columns.into_iter().flatten().collect::<Vec<_>>(), &rows);
}

/// Cuts the last cells so that every row is one line. Only commands are ever so long.
fn shorten_commands(rows: &mut [Vec<String>]) {
    let length = |cell: &String| cell.chars().count();
    let widest = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(length).max().unwrap_or(0);
    let last = rows.first().map_or(0, Vec::len).saturating_sub(1);
    let begins = INDENT + (0..last).map(|column| widest(column) + 2).sum::<usize>();
    let room = WIDTH.saturating_sub(begins).max(1);
    for cell in rows.iter_mut().filter_map(|row| row.last_mut()) {
        if cell.chars().count() > room {
            *cell = cell.chars().take(room - 1).chain(['…']).collect();
        }
    }
}

/// What is used and listed nowhere: processes of other containers, contexts that are going away. `None` where a
/// figure is missing or nothing worth a line is left.
fn unaccounted(gpu: &Gpu, list: &[GpuProcess]) -> Option<Bytes> {
    let listed: Option<Vec<Bytes>> = list.iter().map(|process| process.used).collect();
    let listed: Bytes = listed?.into_iter().sum();
    Some(gpu.memory?.used.saturating_sub(listed)).filter(|rest| *rest >= Bytes::mib(1))
}

fn described(process: &GpuProcess) -> String {
    let Some(who) = &process.process else { return "(not of this container)".to_owned() };
    let graphics = if process.graphics { " (graphics)" } else { "" };
    format!("{}{graphics}", command(who))
}

/// The command line with the program's folder left out.
fn command(who: &Process) -> String {
    let Some((program, rest)) = who.command.split_first() else { return format!("[{}]", plain(&who.name)) };
    let program = program.rsplit('/').next().unwrap_or(program);
    let words = std::iter::once(program).chain(rest.iter().flat_map(|word| word.split_whitespace()));
    plain(&words.collect::<Vec<_>>().join(" "))
}

/// Foreign text without what a terminal would act on.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn notes(out: &mut String, gpus: &[Gpu]) {
    let all = || gpus.iter().filter_map(|gpu| gpu.processes.as_ref()).flatten();
    if all().any(|process| process.torch.is_some()) {
        let text = "PyTorch: held by its allocator, cache included. context: the rest of the process, \
                    CUDA's context and libraries.";
        paragraph(out, "Columns", text);
    } else if all().any(|process| process.process.as_ref().is_some_and(|who| who.own)) {
        let text = "what of a process is PyTorch's is known for jobs started with `oomph run`";
        paragraph(out, "Columns", text);
    }
}

/// Recorded processes that no row above shows: the driver lists them under another pid, or not at all.
fn recorded(out: &mut String, status: &Status) {
    let is_shown = |one: &&Recorded| {
        let mut rows = status.gpus.listed().iter().filter_map(|gpu| gpu.processes.as_ref()).flatten();
        rows.any(|process| process.pid == one.pid && process.torch.is_some())
    };
    for one in status.recorded.iter().filter(|one| !is_shown(one)) {
        for device in &one.devices {
            let gpu =
                device.gpu.map_or_else(|| format!("its device {}", device.index), |gpu| format!("GPU {gpu}"));
            let memory = &device.memory;
            let text = format!(
                "process {} ({} of {}) on {gpu}: {} held by PyTorch, {} of it in use; \
                 the driver does not list it under this pid",
                one.pid,
                plain(&one.name),
                plain(&one.run),
                memory.reserved,
                memory.allocated
            );
            paragraph(out, "Recorded", &text);
        }
    }
}

fn host(out: &mut String, status: &Status) {
    match status.ram {
        Some(ram) => {
            let used = ram.total.saturating_sub(ram.available);
            let swap = if ram.swap_total == Bytes::ZERO {
                "no swap".to_owned()
            } else {
                format!("swap {} of {} free", ram.swap_free, ram.swap_total)
            };
            let text = format!("{used} of {} used, {} available, {swap}", ram.total, ram.available);
            paragraph(out, "RAM", &text);
        }
        None => paragraph(out, "RAM", "unknown: /proc/meminfo cannot be read"),
    }
    if let Some(group) = &status.cgroup {
        let current = group.current.map_or_else(|| "?".to_owned(), |current| current.to_string());
        let path = end_of(&plain(&group.path));
        let mut text = match group.limit {
            Some(limit) => format!("{current} of {limit} used by control group {path}"),
            None => format!("none set; control group {path} uses {current}"),
        };
        if let Some(kills) = group.oom_kills.filter(|kills| *kills > 0) {
            text += &format!("; the kernel has killed {} of it for memory", counted_processes(kills));
        }
        paragraph(out, "Limit", &text);
    }
    if let Some(shm) = status.shm {
        let mut text = format!("{} of {} free", shm.free, shm.total);
        if shm.total <= Bytes::mib(64) {
            text += "; small for data loader workers: docker run --shm-size=8g";
        }
        paragraph(out, "/dev/shm", &text);
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

fn counted_processes(n: u64) -> String {
    if n == 1 { "1 process".to_owned() } else { format!("{n} processes") }
}

/// Each process once: those in the rows, then the recorded ones that are in none.
fn settings_of_processes(status: &Status) -> Vec<(u32, &Settings)> {
    let mut found: Vec<(u32, &Settings)> = Vec::new();
    let rows = status.gpus.listed().iter().filter_map(|gpu| gpu.processes.as_ref()).flatten();
    let listed = rows.map(|process| (process.pid, process.settings.as_ref()));
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
    let version = settings.torch.as_deref().map(|version| format!("PyTorch {}", plain(version)));
    let mut text = match (settings.obeyed, &settings.general) {
        (Obeyed::Defaults, None) => "PyTorch's defaults, neither variable is set".to_owned(),
        (Obeyed::Defaults, Some(_)) => format!(
            "PyTorch's defaults: {} ignores PYTORCH_ALLOC_CONF={general}; set PYTORCH_CUDA_ALLOC_CONF",
            version.as_deref().unwrap_or("this PyTorch")
        ),
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

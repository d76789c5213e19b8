//! The GPUs and who is on them: what NVML lists, joined with what `/proc` and recordings know.

use std::path::Path;

use oomph_cuda::{Device, Error, Memory, Nvml};
use oomph_diagnose::results::status::{Gpu, GpuMemory, GpuProcess, Gpus, Instance, Recorded};

use super::process::{self, Users};
use super::recorded::Found;
use super::settings;

/// What the GPUs' processes are looked up in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    /// `/proc`.
    pub(super) proc: &'a Path,
    /// Who owns what.
    pub(super) users: &'a Users,
}

/// Asks the library at `nvml`, or the system's own.
pub(super) fn read(nvml: Option<&Path>, known: Known<'_>) -> Gpus {
    let opened = Nvml::open(nvml).and_then(|nvml| Ok((nvml.device_count()?, nvml)));
    let (count, nvml) = match opened {
        Ok(found) => found,
        Err(error) => {
            let missing = matches!(error, Error::Library { .. });
            let none = "no NVIDIA driver is installed, or none is visible here".to_owned();
            let why = if missing { none } else { error.to_string() };
            return Gpus { no_gpu: Some(why), ..Gpus::default() };
        }
    };
    Gpus {
        driver: nvml.driver_version().ok(),
        cuda: nvml.cuda_version().ok().map(|(major, minor)| format!("{major}.{minor}")),
        no_gpu: None,
        listed: (0..count).map(|index| gpu(&nvml, index, known)).collect(),
    }
}

/// Whether the driver sees a GPU.
pub fn has_gpu() -> bool {
    Nvml::open(None).and_then(|nvml| nvml.device_count()).is_ok_and(|count| count > 0)
}

fn gpu(nvml: &Nvml, index: u32, known: Known<'_>) -> Gpu {
    let mut problem = None;
    // The first failure is shown; those after it mostly follow from it.
    fn kept<T>(result: Result<T, Error>, problem: &mut Option<String>) -> Option<T> {
        result.map_err(|error| problem.get_or_insert(error.to_string()).clone()).ok()
    }
    let device = kept(nvml.device(index), &mut problem);
    let ask = device.as_ref();
    let name = ask.and_then(|device| kept(device.name(), &mut problem));
    let memory = ask.and_then(|device| kept(device.memory(), &mut problem));
    let mig = ask.and_then(|device| device.mig_enabled().ok()).flatten();
    let parts = if mig == Some(true) { ask.and_then(|device| device.instances().ok()) } else { None };
    let parts = parts.unwrap_or_default();
    let listed = ask.and_then(|device| kept(listed(device, &parts), &mut problem));
    let processes = listed.map(|list| list.into_iter().map(|one| identified(one, known)).collect());
    Gpu {
        index,
        name,
        uuid: ask.and_then(|device| device.uuid().ok()),
        capability: ask.and_then(|device| device.compute_capability().ok()),
        memory: memory.map(amounts).unwrap_or_default(),
        mig,
        instances: parts.iter().map(instance).collect(),
        processes,
        problem,
    }
}

fn amounts(memory: Memory) -> GpuMemory {
    let Memory { total, used, free, reserved } = memory;
    GpuMemory { total: Some(total), used: Some(used), free: Some(free), reserved }
}

fn instance(device: &Device<'_>) -> Instance {
    Instance {
        gpu_instance: device.gpu_instance().ok(),
        name: device.name().ok(),
        uuid: device.uuid().ok(),
        memory: device.memory().ok().map(amounts).unwrap_or_default(),
    }
}

/// The processes on a GPU, the largest first, each once although it may both compute and draw.
fn listed(device: &Device<'_>, parts: &[Device<'_>]) -> Result<Vec<GpuProcess>, Error> {
    let compute = match device.compute_processes() {
        // Only administrators may list a divided GPU as a whole; anyone may list the instances he sees.
        Err(_) if !parts.is_empty() => {
            let mut found = Vec::new();
            for part in parts {
                let number = part.gpu_instance().ok();
                found.extend(part.compute_processes()?.into_iter().map(|mut process| {
                    process.gpu_instance = process.gpu_instance.or(number);
                    process
                }));
            }
            found
        }
        result => result?,
    };
    // Many GPUs in servers cannot draw and say so.
    let drawing = device.graphics_processes().unwrap_or_default();
    let drawing = drawing.into_iter().filter(|one| compute.iter().all(|other| other.pid != one.pid));
    let tagged = compute.iter().map(|one| (*one, false)).chain(drawing.map(|one| (one, true)));
    let mut found: Vec<GpuProcess> = tagged
        .map(|(one, graphics)| GpuProcess {
            pid: one.pid,
            used: one.used,
            graphics,
            gpu_instance: one.gpu_instance,
            process: None,
            torch: None,
            settings: None,
        })
        .collect();
    found.sort_by_key(|one| (std::cmp::Reverse(one.used), one.pid));
    Ok(found)
}

/// The process with its name, owner and settings. A process here that happens to have the pid, but has no GPU's file
/// open, is another: the driver counts pids in another namespace.
fn identified(mut one: GpuProcess, known: Known<'_>) -> GpuProcess {
    let entry =
        process::read(known.proc, one.pid, known.users).filter(|entry| entry.opens_gpu != Some(false));
    if let Some(entry) = entry {
        one.settings = entry
            .environment
            .as_ref()
            .map(|environment| settings::read(|name| environment.get(name).map(String::as_str), None));
        one.process = Some(entry.process);
    }
    one
}

/// Gives the recorded processes the driver's numbers of their devices, and the listed processes what PyTorch says.
pub(super) fn join(gpus: &mut Gpus, found: Vec<Found>) -> Vec<Recorded> {
    let recorded: Vec<Recorded> = found.into_iter().map(|found| numbered(&gpus.listed, found)).collect();
    for gpu in &mut gpus.listed {
        for process in gpu.processes.iter_mut().flatten() {
            let Some(record) = recorded.iter().find(|one| one.pid == process.pid) else { continue };
            // The same pid in another namespace is another process.
            if process.process.is_none() {
                continue;
            }
            let device = record.devices.iter().find(|device| device.gpu == Some(gpu.index));
            process.torch = device.map(|device| device.memory);
            // They are the same, read in the light of the version of PyTorch.
            process.settings.clone_from(&record.settings);
        }
    }
    recorded
}

/// CUDA numbers devices as it likes (CUDA_VISIBLE_DEVICES, the fastest first), so only a UUID tells which GPU is
/// meant, or there being only one.
fn numbered(gpus: &[Gpu], found: Found) -> Recorded {
    let bare = |uuid: &str| uuid.trim_start_matches("GPU-").to_ascii_lowercase();
    let Found { mut recorded, uuids } = found;
    for (device, uuid) in recorded.devices.iter_mut().zip(uuids) {
        let by_uuid = |uuid: &String| {
            gpus.iter().find(|gpu| gpu.uuid.as_ref().is_some_and(|known| bare(known) == bare(uuid)))
        };
        let only = if let [only] = gpus { Some(only) } else { None };
        device.gpu = uuid.as_ref().and_then(by_uuid).or(only).map(|gpu| gpu.index);
    }
    recorded
}

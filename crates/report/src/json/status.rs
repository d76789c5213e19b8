//! `oomph status --json`.

use oomph_trace::Bytes;
use serde_json::{Value, json};

use super::{SCHEMA, bytes, extend};
use oomph_diagnose::results::status::{
    Gpu, GpuMemory, GpuProcess, Gpus, Instance, Process, Recorded, RecordedDevice, Settings, Status,
    TorchMemory,
};
use oomph_engine::torch::variables::Obeyed;

/// The whole machine.
pub fn status(status: &Status) -> Value {
    let (why, driver, cuda) = match &status.gpus {
        Gpus::Unreachable { why } => (Some(why), None, None),
        Gpus::Listed { driver, cuda, .. } => (None, driver.as_ref(), cuda.as_ref()),
    };
    json!({
        "schema": SCHEMA,
        "host": status.host_name,
        "driver": driver,
        "cuda": cuda,
        "no_gpu": why,
        "gpus": status.gpus.listed().iter().map(gpu).collect::<Vec<_>>(),
        "recorded": status.recorded.iter().map(recorded).collect::<Vec<_>>(),
        "ram": status.ram.map(|ram| json!({
            "total": bytes(ram.total),
            "available": bytes(ram.available),
            "swap_total": bytes(ram.swap_total),
            "swap_free": bytes(ram.swap_free),
        })),
        "cgroup": status.cgroup.as_ref().map(|group| json!({
            "path": group.path,
            "limit": group.limit.map(bytes),
            "current": group.current.map(bytes),
            "oom_kills": group.oom_kills,
        })),
        "shm": status.shm.map(|shm| json!({ "total": bytes(shm.total), "free": bytes(shm.free) })),
        "settings": settings(&status.settings),
    })
}

fn gpu(gpu: &Gpu) -> Value {
    let mut value = json!({ "index": gpu.index, "name": gpu.name, "uuid": gpu.uuid });
    extend(
        &mut value,
        json!({ "capability": gpu.capability.map(|(major, minor)| format!("{major}.{minor}")) }),
    );
    extend(&mut value, memory(gpu.memory));
    let more = json!({
        "mig": gpu.mig,
        "instances": gpu.instances.iter().map(instance).collect::<Vec<_>>(),
        "processes": gpu.processes.as_ref().map(|all| all.iter().map(process).collect::<Vec<_>>()),
        "problem": gpu.problem,
    });
    extend(&mut value, more);
    value
}

fn memory(memory: Option<GpuMemory>) -> Value {
    let field = |of: fn(&GpuMemory) -> Bytes| memory.as_ref().map(of).map(bytes);
    json!({
        "total": field(|memory| memory.total),
        "used": field(|memory| memory.used),
        "free": field(|memory| memory.free),
        "reserved": memory.and_then(|memory| memory.reserved).map(bytes),
    })
}

fn instance(instance: &Instance) -> Value {
    let mut value =
        json!({ "gpu_instance": instance.gpu_instance, "name": instance.name, "uuid": instance.uuid });
    extend(&mut value, memory(instance.memory));
    value
}

fn process(process: &GpuProcess) -> Value {
    let who = process.process.as_ref();
    json!({
        "pid": process.pid,
        "used": process.used.map(bytes),
        "graphics": process.graphics,
        "gpu_instance": process.gpu_instance,
        "visible": who.is_some(),
        "name": who.map(|who| &who.name),
        "command": who.map(|who: &Process| &who.command),
        "user": who.and_then(|who| who.user.as_ref()),
        "own": who.map(|who| who.own),
        "torch": process.torch.as_ref().map(torch),
        "outside_torch": process.outside_torch().map(bytes),
        "settings": process.settings.as_ref().map(settings),
    })
}

fn torch(memory: &TorchMemory) -> Value {
    json!({
        "allocated": bytes(memory.allocated),
        "reserved": bytes(memory.reserved),
        "peak_allocated": bytes(memory.peak_allocated),
        "peak_reserved": bytes(memory.peak_reserved),
        "retries": memory.retries,
        "ooms": memory.ooms,
    })
}

fn recorded(process: &Recorded) -> Value {
    let device = |device: &RecordedDevice| {
        let mut value = json!({ "index": device.index, "gpu": device.gpu });
        extend(&mut value, torch(&device.memory));
        value
    };
    json!({
        "pid": process.pid,
        "run": process.run,
        "name": process.name,
        "rank": process.rank,
        "torch": process.torch,
        "settings": process.settings.as_ref().map(settings),
        "devices": process.devices.iter().map(device).collect::<Vec<_>>(),
    })
}

fn settings(settings: &Settings) -> Value {
    json!({
        "PYTORCH_CUDA_ALLOC_CONF": settings.cuda,
        "PYTORCH_ALLOC_CONF": settings.general,
        "torch": settings.torch,
        "obeyed": match settings.obeyed {
            Obeyed::Defaults => Value::Null,
            Obeyed::Cuda => json!("PYTORCH_CUDA_ALLOC_CONF"),
            Obeyed::General | Obeyed::GeneralSince210 => json!("PYTORCH_ALLOC_CONF"),
        },
        "since": (settings.obeyed == Obeyed::GeneralSince210).then_some("2.10"),
        "problem": settings.problem,
    })
}

//! NVML's functions, answered from the scenario.
//!
//! Every pointer that a caller hands over is what `nvml.h` asks for: that is the caller's promise, as it is towards
//! NVML itself, and what every `SAFETY` here relies on.
#![allow(non_snake_case, reason = "the names are NVML's")]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::scenario::{Gpu, Process, Scenario};

type Handle = *mut c_void;

const SUCCESS: c_int = 0;
const INVALID_ARGUMENT: c_int = 2;
const NOT_SUPPORTED: c_int = 3;
const NOT_FOUND: c_int = 6;
const INSUFFICIENT_SIZE: c_int = 7;
/// Handles of a GPU's instances begin this far above its own.
const INSTANCES: usize = 1000;
/// The most instances that a GPU has.
const MOST_INSTANCES: c_uint = 7;

static LISTED: AtomicU32 = AtomicU32::new(0);

fn scenario() -> Scenario {
    Scenario::parse(&crate::text())
}

fn failure(failures: &[(String, i32)], function: &str) -> Option<c_int> {
    failures.iter().find(|(name, _)| name == function).map(|(_, code)| *code)
}

/// Answers a question about the whole machine.
fn system(function: &str, answer: impl FnOnce(&Scenario) -> c_int) -> c_int {
    let scenario = scenario();
    failure(&scenario.failures, function).unwrap_or_else(|| answer(&scenario))
}

/// Answers a question about one GPU or instance.
fn device(handle: Handle, function: &str, answer: impl FnOnce(&Scenario, &Gpu) -> c_int) -> c_int {
    system(function, |scenario| {
        let number = handle as usize;
        let Some(gpu) = (number % INSTANCES).checked_sub(1).and_then(|index| scenario.gpus.get(index)) else {
            return INVALID_ARGUMENT;
        };
        let found = match (number / INSTANCES).checked_sub(1) {
            None => Some(gpu),
            Some(index) => gpu.instances.get(index).map(|(_, instance)| instance),
        };
        let Some(found) = found else { return INVALID_ARGUMENT };
        failure(&found.failures, function).unwrap_or_else(|| answer(scenario, found))
    })
}

/// Writes a value where the caller wants it.
fn put<T>(place: *mut T, value: T) -> c_int {
    if place.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: the caller gives a pointer to a `T`, see above; it is not null.
    unsafe { place.write(value) };
    SUCCESS
}

fn put_text(buffer: *mut c_char, length: c_uint, text: &str) -> c_int {
    if buffer.is_null() || text.len() >= length as usize {
        return INSUFFICIENT_SIZE;
    }
    // SAFETY: the caller gives a buffer of `length` bytes, see above; the text and its end are no longer.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), text.len());
        buffer.add(text.len()).write(0);
    }
    SUCCESS
}

/// Writes the processes as records of `record` bytes: pid, memory, instance, instance, 0.
fn put_processes(list: &[Process], record: usize, count: *mut c_uint, buffer: *mut c_void) -> c_int {
    // SAFETY: the caller gives a pointer to the number of records that the buffer has room for, see above.
    let capacity = unsafe { count.read() } as usize;
    if list.len() > capacity {
        put(count, list.len() as c_uint);
        return INSUFFICIENT_SIZE;
    }
    for (index, process) in list.iter().enumerate() {
        let mut bytes = [0u8; 32];
        bytes[..4].copy_from_slice(&process.pid.to_ne_bytes());
        bytes[8..16].copy_from_slice(&process.used.to_ne_bytes());
        bytes[16..20].copy_from_slice(&process.instance.to_ne_bytes());
        bytes[20..24].copy_from_slice(&process.instance.to_ne_bytes());
        // SAFETY: the buffer has room for `capacity` records of this version, see above.
        unsafe {
            let place = buffer.cast::<u8>().add(index * record);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, record.min(bytes.len()));
        }
    }
    put(count, list.len() as c_uint)
}

fn processes(handle: Handle, function: &str, version: u32, count: *mut c_uint, buffer: *mut c_void) -> c_int {
    device(handle, function, |scenario, gpu| {
        if LISTED.fetch_add(1, Ordering::Relaxed) < scenario.grow {
            // SAFETY: the caller gives a pointer to a count, see above.
            let capacity = unsafe { count.read() };
            put(count, capacity + 1);
            return INSUFFICIENT_SIZE;
        }
        let graphics = function.contains("Graphics");
        let list: Vec<Process> =
            gpu.processes.iter().filter(|process| process.graphics == graphics).copied().collect();
        let record = match version {
            1 => 16,
            2 => 24,
            _ => scenario.record,
        };
        put_processes(&list, record, count, buffer)
    })
}

/// Declares functions with NVML's names; each gets its own name as a text.
macro_rules! answers {
    ($(fn $name:ident($($argument:ident: $type:ty),*) |$function:ident| $body:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $type),*) -> c_int {
                let $function = stringify!($name);
                $body
            }
        )*
    };
}

answers! {
    fn nvmlInit() |function| system(function, |_| SUCCESS);
    fn nvmlInit_v2() |function| system(function, |_| SUCCESS);
    fn nvmlShutdown() |function| system(function, |_| SUCCESS);
    fn nvmlSystemGetDriverVersion(buffer: *mut c_char, length: c_uint) |function|
        system(function, |scenario| put_text(buffer, length, &scenario.driver));
    fn nvmlSystemGetCudaDriverVersion_v2(version: *mut c_int) |function|
        system(function, |scenario| put(version, scenario.cuda));
    fn nvmlDeviceGetCount_v2(count: *mut c_uint) |function|
        system(function, |scenario| put(count, scenario.gpus.len() as c_uint));
    fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, handle: *mut Handle) |function|
        system(function, |scenario| match scenario.gpus.get(index as usize) {
            Some(_) => put(handle, (index as usize + 1) as Handle),
            None => INVALID_ARGUMENT,
        });
    fn nvmlDeviceGetName(handle: Handle, buffer: *mut c_char, length: c_uint) |function|
        device(handle, function, |_, gpu| put_text(buffer, length, &gpu.name));
    fn nvmlDeviceGetUUID(handle: Handle, buffer: *mut c_char, length: c_uint) |function|
        device(handle, function, |_, gpu| put_text(buffer, length, &gpu.uuid));
    fn nvmlDeviceGetCudaComputeCapability(handle: Handle, major: *mut c_int, minor: *mut c_int) |function|
        device(handle, function, |_, gpu| {
            put(major, gpu.capability.0);
            put(minor, gpu.capability.1)
        });
    fn nvmlDeviceGetMemoryInfo(handle: Handle, info: *mut [u64; 3]) |function|
        device(handle, function, |_, gpu| {
            let memory = gpu.memory;
            let used = memory.used + memory.reserved;
            put(info, [memory.total, memory.total - used, used])
        });
    fn nvmlDeviceGetMemoryInfo_v2(handle: Handle, info: *mut [u64; 5]) |function|
        device(handle, function, |_, gpu| {
            // SAFETY: the caller gives a pointer to an nvmlMemory_v2_t: 40 bytes, of which the first 4 are its version.
            let version = unsafe { info.cast::<u32>().read() };
            if version != (40 | 2 << 24) {
                return 25;
            }
            let memory = gpu.memory;
            let free = memory.total - memory.reserved - memory.used;
            put(info, [u64::from(version), memory.total, memory.reserved, free, memory.used])
        });
    fn nvmlDeviceGetMigMode(handle: Handle, current: *mut c_uint, pending: *mut c_uint) |function|
        device(handle, function, |_, gpu| match gpu.mig {
            None => NOT_SUPPORTED,
            Some(mode) => {
                put(current, mode.into());
                put(pending, mode.into())
            }
        });
    fn nvmlDeviceGetMaxMigDeviceCount(handle: Handle, count: *mut c_uint) |function|
        device(handle, function, |_, _| put(count, MOST_INSTANCES));
    fn nvmlDeviceGetMigDeviceHandleByIndex(handle: Handle, index: c_uint, instance: *mut Handle) |function|
        device(handle, function, |_, gpu| match gpu.instances.get(index as usize) {
            Some(_) => put(instance, (handle as usize + (index as usize + 1) * INSTANCES) as Handle),
            None => NOT_FOUND,
        });
    fn nvmlDeviceGetGpuInstanceId(handle: Handle, number: *mut c_uint) |function| {
        let (parent, index) = (handle as usize % INSTANCES, handle as usize / INSTANCES);
        device(parent as Handle, function, |_, gpu| match gpu.instances.get(index.wrapping_sub(1)) {
            Some((found, _)) => put(number, *found),
            None => INVALID_ARGUMENT,
        })
    };
    fn nvmlDeviceGetComputeRunningProcesses(handle: Handle, count: *mut c_uint, buffer: *mut c_void) |function|
        processes(handle, function, 1, count, buffer);
    fn nvmlDeviceGetComputeRunningProcesses_v2(handle: Handle, count: *mut c_uint, buffer: *mut c_void) |function|
        processes(handle, function, 2, count, buffer);
    fn nvmlDeviceGetComputeRunningProcesses_v3(handle: Handle, count: *mut c_uint, buffer: *mut c_void) |function|
        processes(handle, function, 3, count, buffer);
    fn nvmlDeviceGetGraphicsRunningProcesses(handle: Handle, count: *mut c_uint, buffer: *mut c_void) |function|
        processes(handle, function, 1, count, buffer);
    fn nvmlDeviceGetGraphicsRunningProcesses_v2(handle: Handle, count: *mut c_uint, buffer: *mut c_void) |function|
        processes(handle, function, 2, count, buffer);
    fn nvmlDeviceGetGraphicsRunningProcesses_v3(handle: Handle, count: *mut c_uint, buffer: *mut c_void) |function|
        processes(handle, function, 3, count, buffer);
}

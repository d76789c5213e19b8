//! The functions of NVML that oomph calls, each with its names and its signature in C.
//!
//! A call is sound only if the signature here is the library's. Names and signatures were taken from NVIDIA's public
//! `nvml.h`, and only this table pairs them.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;

/// A function by its names, the newest first. All names of one entry have the same signature.
pub(crate) struct Function<Signature> {
    pub(crate) names: &'static [&'static str],
    signature: PhantomData<Signature>,
}

const fn named<Signature>(names: &'static [&'static str]) -> Function<Signature> {
    Function { names, signature: PhantomData }
}

/// A GPU, or an instance of one, as NVML refers to it. The library keeps what is behind it until shutdown.
pub(crate) type Handle = *mut c_void;

type Plain = unsafe extern "C" fn() -> c_int;
type SystemText = unsafe extern "C" fn(*mut c_char, c_uint) -> c_int;
type SystemNumber = unsafe extern "C" fn(*mut c_int) -> c_int;
type SystemCount = unsafe extern "C" fn(*mut c_uint) -> c_int;
type ByIndex = unsafe extern "C" fn(c_uint, *mut Handle) -> c_int;
type PartByIndex = unsafe extern "C" fn(Handle, c_uint, *mut Handle) -> c_int;
pub(crate) type Text = unsafe extern "C" fn(Handle, *mut c_char, c_uint) -> c_int;
pub(crate) type Number = unsafe extern "C" fn(Handle, *mut c_uint) -> c_int;
type Mode = unsafe extern "C" fn(Handle, *mut c_uint, *mut c_uint) -> c_int;
type Capability = unsafe extern "C" fn(Handle, *mut c_int, *mut c_int) -> c_int;
type MemoryOf = unsafe extern "C" fn(Handle, *mut MemoryInfo) -> c_int;
type MemoryOfV2 = unsafe extern "C" fn(Handle, *mut MemoryInfoV2) -> c_int;
/// The records' layout depends on the version, so the buffer is untyped: see [`crate::processes`].
pub(crate) type Processes = unsafe extern "C" fn(Handle, *mut c_uint, *mut c_void) -> c_int;

/// `nvmlMemory_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MemoryInfo {
    pub(crate) total: u64,
    pub(crate) free: u64,
    pub(crate) used: u64,
}

/// `nvmlMemory_v2_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MemoryInfoV2 {
    pub(crate) version: c_uint,
    pub(crate) total: u64,
    pub(crate) reserved: u64,
    pub(crate) free: u64,
    pub(crate) used: u64,
}

impl MemoryInfoV2 {
    /// `NVML_STRUCT_VERSION(Memory, 2)`: the size, and the version in the highest byte.
    pub(crate) const VERSION: c_uint = size_of::<MemoryInfoV2>() as c_uint | 2 << 24;
}

pub(crate) const INIT: Function<Plain> = named(&["nvmlInit_v2", "nvmlInit"]);
pub(crate) const SHUTDOWN: Function<Plain> = named(&["nvmlShutdown"]);
pub(crate) const DRIVER_VERSION: Function<SystemText> = named(&["nvmlSystemGetDriverVersion"]);
pub(crate) const CUDA_VERSION: Function<SystemNumber> =
    named(&["nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"]);
pub(crate) const COUNT: Function<SystemCount> = named(&["nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"]);
pub(crate) const HANDLE: Function<ByIndex> =
    named(&["nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"]);
pub(crate) const NAME: Function<Text> = named(&["nvmlDeviceGetName"]);
pub(crate) const UUID: Function<Text> = named(&["nvmlDeviceGetUUID"]);
pub(crate) const CAPABILITY: Function<Capability> = named(&["nvmlDeviceGetCudaComputeCapability"]);
pub(crate) const MEMORY_V2: Function<MemoryOfV2> = named(&["nvmlDeviceGetMemoryInfo_v2"]);
pub(crate) const MEMORY: Function<MemoryOf> = named(&["nvmlDeviceGetMemoryInfo"]);
pub(crate) const MIG_MODE: Function<Mode> = named(&["nvmlDeviceGetMigMode"]);
pub(crate) const MIG_COUNT: Function<Number> = named(&["nvmlDeviceGetMaxMigDeviceCount"]);
pub(crate) const MIG_HANDLE: Function<PartByIndex> = named(&["nvmlDeviceGetMigDeviceHandleByIndex"]);
pub(crate) const GPU_INSTANCE: Function<Number> = named(&["nvmlDeviceGetGpuInstanceId"]);
pub(crate) const COMPUTE_PROCESSES: Function<Processes> = named(&[
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetComputeRunningProcesses_v2",
    "nvmlDeviceGetComputeRunningProcesses",
]);
pub(crate) const GRAPHICS_PROCESSES: Function<Processes> = named(&[
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetGraphicsRunningProcesses_v2",
    "nvmlDeviceGetGraphicsRunningProcesses",
]);

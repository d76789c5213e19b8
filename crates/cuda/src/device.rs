//! A GPU, or an instance of a divided one.

use std::ffi::c_uint;
use std::fmt;
use std::ptr;

use oomph_trace::Bytes;

use crate::error::{Code, Error};
use crate::functions::{self, Function, Handle, MemoryInfo, MemoryInfoV2, Number, Processes, Text};
use crate::nvml::{Nvml, checked, text_of};
use crate::processes::{self, Process};

/// No GPU is divided into more instances than this; NVIDIA's largest number is 7.
const MOST_INSTANCES: u32 = 64;

/// A GPU, or an instance of one (MIG).
#[derive(Clone, Copy)]
pub struct Device<'a> {
    nvml: &'a Nvml,
    handle: Handle,
}

impl fmt::Debug for Device<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({:p})", self.handle)
    }
}

/// A GPU's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// All of it.
    pub total: Bytes,
    /// What is held. If `reserved` is `None`, this includes what the driver keeps for itself.
    pub used: Bytes,
    /// What is free.
    pub free: Bytes,
    /// What the driver keeps for itself (drivers since 510).
    pub reserved: Option<Bytes>,
}

impl<'a> Device<'a> {
    /// `handle` is one that `nvml` gave.
    pub(crate) fn new(nvml: &'a Nvml, handle: Handle) -> Device<'a> {
        Device { nvml, handle }
    }

    /// Such as `NVIDIA H200`.
    pub fn name(&self) -> Result<String, Error> {
        self.text(&functions::NAME)
    }

    /// Such as `GPU-6f8c…` or, for an instance, `MIG-…`.
    pub fn uuid(&self) -> Result<String, Error> {
        self.text(&functions::UUID)
    }

    /// Such as (9, 0).
    pub fn compute_capability(&self) -> Result<(u32, u32), Error> {
        let (call, name) = self.nvml.function(&functions::CAPABILITY)?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the handle is of this library, which `self.nvml` keeps initialised; the pointers are to locals.
        checked(name, unsafe { call(self.handle, &mut major, &mut minor) })?;
        Ok((u32::try_from(major).unwrap_or(0), u32::try_from(minor).unwrap_or(0)))
    }

    /// Its memory. Drivers since 510 also say what they keep for themselves.
    pub fn memory(&self) -> Result<Memory, Error> {
        self.memory_v2().or_else(|_| self.memory_v1())
    }

    fn memory_v2(&self) -> Result<Memory, Error> {
        let (call, name) = self.nvml.function(&functions::MEMORY_V2)?;
        let mut info = MemoryInfoV2 { version: MemoryInfoV2::VERSION, ..MemoryInfoV2::default() };
        // SAFETY: the handle is of this library; the struct has the layout that its version field names.
        checked(name, unsafe { call(self.handle, &mut info) })?;
        let (total, used, free) = (Bytes(info.total), Bytes(info.used), Bytes(info.free));
        Ok(Memory { total, used, free, reserved: Some(Bytes(info.reserved)) })
    }

    fn memory_v1(&self) -> Result<Memory, Error> {
        let (call, name) = self.nvml.function(&functions::MEMORY)?;
        let mut info = MemoryInfo::default();
        // SAFETY: the handle is of this library; the struct is nvmlMemory_t.
        checked(name, unsafe { call(self.handle, &mut info) })?;
        let (total, used, free) = (Bytes(info.total), Bytes(info.used), Bytes(info.free));
        Ok(Memory { total, used, free, reserved: None })
    }

    /// Whether it is divided into instances; `None` if it cannot be divided.
    pub fn mig_enabled(&self) -> Result<Option<bool>, Error> {
        let (mut current, mut pending) = (0, 0);
        let Ok((call, name)) = self.nvml.function(&functions::MIG_MODE) else { return Ok(None) };
        // SAFETY: the handle is of this library; the pointers are to locals.
        match checked(name, unsafe { call(self.handle, &mut current, &mut pending) }) {
            Ok(()) => Ok(Some(current == 1)),
            Err(error) if error.code() == Some(Code::NOT_SUPPORTED) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The instances of a divided GPU that this process may see.
    pub fn instances(&self) -> Result<Vec<Device<'a>>, Error> {
        let most = self.number(&functions::MIG_COUNT)?.min(MOST_INSTANCES);
        let (call, name) = self.nvml.function(&functions::MIG_HANDLE)?;
        let mut found = Vec::new();
        for index in 0..most {
            let mut handle = ptr::null_mut();
            // SAFETY: the handle is of this library; the pointer is to a local.
            match checked(name, unsafe { call(self.handle, index, &mut handle) }) {
                Ok(()) => found.push(Device::new(self.nvml, handle)),
                // Numbers need not be contiguous.
                Err(error) if error.code() == Some(Code::NOT_FOUND) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// The number of an instance, as processes name it. Only instances have one.
    pub fn gpu_instance(&self) -> Result<u32, Error> {
        self.number(&functions::GPU_INSTANCE)
    }

    /// The processes that compute on it.
    pub fn compute_processes(&self) -> Result<Vec<Process>, Error> {
        self.processes(&functions::COMPUTE_PROCESSES)
    }

    /// The processes that draw on it.
    pub fn graphics_processes(&self) -> Result<Vec<Process>, Error> {
        self.processes(&functions::GRAPHICS_PROCESSES)
    }

    fn processes(&self, function: &Function<Processes>) -> Result<Vec<Process>, Error> {
        let (call, name) = self.nvml.function(function)?;
        // SAFETY: the handle is of this library; `processes::list` gives a buffer with room for as many records as
        // the count says, in the largest layout of any version.
        processes::list(name, |count, buffer| unsafe { call(self.handle, count, buffer) })
    }

    fn text(&self, function: &Function<Text>) -> Result<String, Error> {
        let (call, name) = self.nvml.function(function)?;
        // SAFETY: the handle is of this library; the buffer is as long as `text_of` says.
        text_of(name, |buffer, length| unsafe { call(self.handle, buffer, length) })
    }

    fn number(&self, function: &Function<Number>) -> Result<u32, Error> {
        let (call, name) = self.nvml.function(function)?;
        let mut number: c_uint = 0;
        // SAFETY: the handle is of this library; the pointer is to a local.
        checked(name, unsafe { call(self.handle, &mut number) })?;
        Ok(number)
    }
}

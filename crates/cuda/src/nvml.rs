//! The library: found, initialised, asked, shut down.

use std::ffi::{c_char, c_int, c_uint};
use std::path::Path;
use std::ptr;

use libloading::Library;

use crate::device::Device;
use crate::error::{Code, Error};
use crate::functions::{self, Function};

/// Where the library is looked for; the last is where Windows puts it for Linux guests.
const NAMES: [&str; 3] = ["libnvidia-ml.so.1", "libnvidia-ml.so", "/usr/lib/wsl/lib/libnvidia-ml.so.1"];

/// The longest text that NVML gives, with room to spare: it promises at most 96 bytes.
const TEXT: usize = 256;

/// NVML, initialised. Dropping it shuts the library down. Devices borrow it, so none of them outlives it.
#[derive(Debug)]
pub struct Nvml {
    library: Library,
}

impl Nvml {
    /// Loads and initialises the library at `path`, or wherever the system keeps it.
    pub fn open(path: Option<&Path>) -> Result<Nvml, Error> {
        let library = match path {
            Some(path) => load(&path.to_string_lossy())?,
            None => {
                let first = load(NAMES[0]);
                NAMES[1..]
                    .iter()
                    .fold(first, |found, name| found.or_else(|error| load(name).or(Err(error))))?
            }
        };
        let (init, name) = lookup(&library, &functions::INIT)?;
        // SAFETY: nvmlInit takes nothing, may be called from any thread and any number of times.
        checked(name, unsafe { init() })?;
        Ok(Nvml { library })
    }

    /// The driver's version, such as `580.159.04`.
    pub fn driver_version(&self) -> Result<String, Error> {
        let (call, name) = self.function(&functions::DRIVER_VERSION)?;
        // SAFETY: the buffer lives through the call and is as long as `text_of` says.
        text_of(name, |buffer, length| unsafe { call(buffer, length) })
    }

    /// The greatest version of CUDA that the driver serves, such as (13, 0).
    pub fn cuda_version(&self) -> Result<(u32, u32), Error> {
        let (call, name) = self.function(&functions::CUDA_VERSION)?;
        let mut version: c_int = 0;
        // SAFETY: the pointer is to a local that outlives the call.
        checked(name, unsafe { call(&mut version) })?;
        let version = u32::try_from(version).unwrap_or(0);
        Ok((version / 1000, version % 1000 / 10))
    }

    /// How many GPUs there are.
    pub fn device_count(&self) -> Result<u32, Error> {
        let (call, name) = self.function(&functions::COUNT)?;
        let mut count: c_uint = 0;
        // SAFETY: the pointer is to a local that outlives the call.
        checked(name, unsafe { call(&mut count) })?;
        Ok(count)
    }

    /// The GPU with this number, from 0.
    pub fn device(&self, index: u32) -> Result<Device<'_>, Error> {
        let (call, name) = self.function(&functions::HANDLE)?;
        let mut handle = ptr::null_mut();
        // SAFETY: the pointer is to a local that outlives the call.
        checked(name, unsafe { call(index, &mut handle) })?;
        Ok(Device::new(self, handle))
    }

    /// The newest version of a function that the library has, and its name.
    pub(crate) fn function<Signature: Copy>(
        &self,
        function: &Function<Signature>,
    ) -> Result<(Signature, &'static str), Error> {
        lookup(&self.library, function)
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        if let Ok((shutdown, _)) = self.function(&functions::SHUTDOWN) {
            // SAFETY: it undoes the one nvmlInit of `open`. Devices borrow `self`, so no handle is used afterwards, and
            // the library is still loaded: its field is dropped after this. If it fails, nothing can be done.
            let _ = unsafe { shutdown() };
        }
    }
}

fn load(name: &str) -> Result<Library, Error> {
    // SAFETY: loading runs the library's initialisers. The name is NVIDIA's, found on the system's own search path, or
    // a path that the caller names and answers for.
    unsafe { Library::new(name) }
        .map_err(|error| Error::Library { name: name.to_owned(), why: error.to_string() })
}

fn lookup<Signature: Copy>(
    library: &Library,
    function: &Function<Signature>,
) -> Result<(Signature, &'static str), Error> {
    let found = function.names.iter().find_map(|name| {
        // SAFETY: the table in `functions` gives every name the signature that nvml.h declares for it. The copied
        // pointer is used only while `library` is loaded: callers hold the `Nvml` that owns it.
        let symbol = unsafe { library.get::<Signature>(name.as_bytes()) }.ok()?;
        Some((*symbol, *name))
    });
    found.ok_or(Error::Missing { function: function.names[0] })
}

/// The result that NVML's code stands for.
pub(crate) fn checked(function: &'static str, code: c_int) -> Result<(), Error> {
    match Code(code) {
        Code::SUCCESS => Ok(()),
        code => Err(Error::Failed { function, code }),
    }
}

/// The text that a function writes into a buffer of the given length. `call` may write no more than that.
pub(crate) fn text_of(
    function: &'static str,
    call: impl FnOnce(*mut c_char, c_uint) -> c_int,
) -> Result<String, Error> {
    let mut buffer = [0u8; TEXT];
    checked(function, call(buffer.as_mut_ptr().cast(), TEXT as c_uint))?;
    let end = buffer.iter().position(|byte| *byte == 0).unwrap_or(TEXT);
    Ok(String::from_utf8_lossy(&buffer[..end]).into_owned())
}

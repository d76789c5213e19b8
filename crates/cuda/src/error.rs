//! What can go wrong between oomph and the driver.

use std::fmt;

/// Why NVML gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The library is missing or cannot be loaded.
    #[error("{name} cannot be loaded: no NVIDIA driver is installed, or it is not visible here")]
    Library {
        /// Its name.
        name: String,
        /// What the loader says.
        why: String,
    },
    /// The library lacks a function: it is too old, or it is another library.
    #[error("the driver's library has no {function}")]
    Missing {
        /// The newest name of the function.
        function: &'static str,
    },
    /// The function was called and failed.
    #[error("{function}: {code}")]
    Failed {
        /// Its name.
        function: &'static str,
        /// The code it gave.
        code: Code,
    },
}

impl Error {
    /// The code that a function gave; `None` if no function was called.
    pub fn code(&self) -> Option<Code> {
        match self {
            Error::Failed { code, .. } => Some(*code),
            Error::Library { .. } | Error::Missing { .. } => None,
        }
    }
}

/// A code that a function of NVML returns. `Display` says what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub i32);

impl Code {
    /// All went well.
    pub const SUCCESS: Code = Code(0);
    /// This GPU or this driver does not have it.
    pub const NOT_SUPPORTED: Code = Code(3);
    /// Only for administrators, or not from within this container.
    pub const NO_PERMISSION: Code = Code(4);
    /// It does not exist.
    pub const NOT_FOUND: Code = Code(6);
    /// The buffer is too small for the answer.
    pub const INSUFFICIENT_SIZE: Code = Code(7);
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meaning = match self.0 {
            0 => "success",
            1 => "the library was not initialised",
            2 => "an argument is not valid",
            3 => "not supported by this GPU",
            4 => "no permission",
            6 => "not found",
            7 => "more than the space for it",
            9 => "the driver is not loaded",
            10 => "it took too long",
            12 => "a part of the driver cannot be loaded",
            13 => "the driver lacks the function",
            15 => "the GPU is lost: it fell off the bus, or needs a reset",
            16 => "the GPU needs a reset",
            17 => "the operating system has blocked the GPU",
            18 => "the driver and its library are of different versions: reboot, or reload the driver",
            19 => "the GPU is in use",
            20 => "out of memory",
            code => return write!(f, "error {code}"),
        };
        f.write_str(meaning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_a_line_that_says_what_to_do_where_something_can_be_done() {
        let failed = |code| Error::Failed { function: "nvmlInit_v2", code: Code(code) }.to_string();
        assert_eq!(
            failed(18),
            "nvmlInit_v2: the driver and its library are of different versions: reboot, or reload the driver"
        );
        assert_eq!(failed(999), "nvmlInit_v2: error 999");
    }
}

//! What the lists of CUDA's libraries are made with.

/// Functions that have nothing to do: they take what they are given and succeed. Success is 0 in every library.
macro_rules! succeed {
    ($($name:ident),* $(,)?) => { $(
        /// Succeeds at once.
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name() -> $crate::code::Code { $crate::code::SUCCESS }
    )* };
}

/// Functions of a library that a phantom cannot serve: they say so, and fail with the library's own code.
macro_rules! refuse_library {
    ($library:literal, $code:literal, [$($name:ident),* $(,)?]) => { $(
        /// Not supported.
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name() -> $crate::code::Code {
            $crate::library::refused($library, stringify!($name), $code)
        }
    )* };
}

pub(crate) use {refuse_library, succeed};

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::code::Code;

/// Says once for each function that a program wanted it in vain, and gives the library's code for that.
pub(crate) fn refused(library: &str, name: &'static str, code: Code) -> Code {
    static SAID: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(name) {
        use std::io::Write;
        // Nothing is left to do where even standard error is gone.
        let _ = writeln!(
            std::io::stderr(),
            "oomph: the program calls {name} of {library}, which the phantom GPU does not have: run this part on the \
             CPU, or measure it on a GPU with `oomph run`"
        );
    }
    code
}

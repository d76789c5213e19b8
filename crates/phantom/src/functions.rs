//! The functions of functions.txt, which need no code of their own, and what they return.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use crate::code::{Code, NOT_SUPPORTED, SUCCESS, fail, log};

include!(concat!(env!("OUT_DIR"), "/functions.rs"));

/// There was nothing to do. Success is 0 in every library.
fn succeed(_: &str) -> Code {
    SUCCESS
}

/// The phantom cannot do this, and the runtime's last error says so.
fn lack_in_runtime(name: &str) -> Code {
    log(name);
    fail(NOT_SUPPORTED)
}

/// The phantom cannot do this. The driver's failures are not the runtime's last error.
fn lack_in_driver(_: &str) -> Code {
    NOT_SUPPORTED
}

/// The phantom does not answer for this library. That is said once for each function; PyTorch raises an error of its
/// own from the library's code for "not supported". Functions about versions and errors are left to the real libraries.
fn refuse(library: &str, code: Code, name: &'static str) -> Code {
    static SAID: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(name) {
        // If even standard error is gone, nothing can be done.
        let _ = writeln!(
            std::io::stderr(),
            "oomph: the program calls {name} of {library}, which the phantom GPU does not have: run this part on the \
             CPU, or measure it on a GPU with `oomph run`"
        );
    }
    code
}

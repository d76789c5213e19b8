//! `oomph._oomph`: what the Python package asks of Rust. Conversions and one error map; the work is that of the crates below, and
//! Python's other threads go on during it.
// What PyO3's macros expand to talks to CPython. Nothing that is written here does.
#![allow(unsafe_code)]

mod plan;
mod status;
mod verdict;

use std::path::PathBuf;

use anyhow::Error;
use oomph_diagnose::message;
use oomph_machine::run_folder;
use oomph_trace::Bytes;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

pyo3::create_exception!(
    oomph,
    OomphError,
    PyException,
    "What was asked for cannot be done; one line says why, and what to do."
);

/// Every error as Python sees it: the line that the command would print.
fn raised(error: &Error) -> PyErr {
    OomphError::new_err(format!("{error:#}"))
}

/// The version of this build, such as `0.1.0`.
#[pyfunction]
const fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The bytes that a text such as `12 GiB` means.
#[pyfunction]
#[pyo3(signature = (text, /))]
fn parse_size(text: &str) -> PyResult<u64> {
    let size: Bytes = text.parse().map_err(|error| raised(&Error::new(error)))?;
    Ok(size.0)
}

/// An amount of bytes for people, as every report writes it: `5.84 GiB`. A difference may be negative.
#[pyfunction]
#[pyo3(signature = (amount, /))]
fn format_size(amount: i64) -> String {
    format!("{}{}", if amount < 0 { "-" } else { "" }, Bytes(amount.unsigned_abs()))
}

/// Whether an exception of these classes, its own first, with this text reports that memory ran out.
#[expect(clippy::needless_pass_by_value, reason = "PyO3 gives lists by value")]
#[pyfunction]
#[pyo3(signature = (classes, text, /))]
fn is_out_of_memory(classes: Vec<String>, text: &str) -> bool {
    message::is_out_of_memory(&classes, text)
}

/// The folder of the last run recorded in the current directory; None where there is none.
#[pyfunction]
fn last_run() -> Option<PathBuf> {
    run_folder::last_run()
}

#[pymodule]
fn _oomph(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("OomphError", module.py().get_type::<OomphError>())?;
    module.add_class::<status::Status>()?;
    module.add_class::<verdict::Verdict>()?;
    module.add_function(wrap_pyfunction!(verdict::explain_file, module)?)?;
    module.add_function(wrap_pyfunction!(verdict::explain_text, module)?)?;
    module.add_function(wrap_pyfunction!(plan::plan, module)?)?;
    module.add_function(wrap_pyfunction!(status::read_status, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(parse_size, module)?)?;
    module.add_function(wrap_pyfunction!(format_size, module)?)?;
    module.add_function(wrap_pyfunction!(is_out_of_memory, module)?)?;
    module.add_function(wrap_pyfunction!(last_run, module)?)
}

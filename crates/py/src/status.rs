//! This machine's memory.

use oomph_machine::status::{self, Roots};
use oomph_report::text::Colour;
use oomph_report::{json, text};
use pyo3::prelude::*;

/// Who holds this machine's memory, at the moment it was asked.
#[pyclass(frozen, module = "oomph._oomph")]
pub(crate) struct Status(status::Status);

#[pymethods]
impl Status {
    /// The screen of `oomph status`, with ANSI escapes where colour is wanted.
    #[pyo3(signature = (*, color = false))]
    fn text(&self, color: bool) -> String {
        text::status::render(&self.0, if color { Colour::On } else { Colour::Off })
    }

    /// The document of `oomph status --json`.
    fn json(&self) -> String {
        json::document(vec![json::status(&self.0)])
    }
}

/// Asks the machine.
#[pyfunction]
pub(crate) fn read_status(py: Python<'_>) -> Status {
    // The environment is read while no other thread of Python can change it.
    let roots = Roots::here();
    Status(py.detach(|| status::gather(&roots)))
}

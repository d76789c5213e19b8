//! Verdicts.

use std::path::PathBuf;

use oomph_engine::recording::Known;
use oomph_host::verdict;
use oomph_trace::Bytes;
use pyo3::prelude::*;

use crate::raised;

/// What `oomph explain` says of one file or text.
#[pyclass(frozen, module = "oomph._oomph")]
pub(crate) struct Verdict(verdict::Verdict);

#[pymethods]
impl Verdict {
    /// The report, with ANSI escapes where colour is wanted.
    #[pyo3(signature = (*, color = false))]
    fn text(&self, color: bool) -> &str {
        if color { &self.0.coloured } else { &self.0.text }
    }

    /// The document of `oomph explain --json`.
    fn json(&self) -> &str {
        &self.0.json
    }

    /// The page of `oomph explain --html`; None for a message, which has nothing to draw.
    fn page(&self) -> Option<&str> {
        self.0.page.as_deref()
    }

    /// A fragment of HTML, to stand under a notebook's cell.
    fn card(&self) -> &str {
        &self.0.card
    }
}

/// The verdict on a file: a snapshot, or a text that may report an error. `limit` is what the job could hold, in bytes,
/// where the file does not show it.
#[pyfunction]
#[pyo3(signature = (path, limit = None))]
pub(crate) fn explain_file(py: Python<'_>, path: PathBuf, limit: Option<u64>) -> PyResult<Verdict> {
    let known = Known { version: None, limit: limit.map(Bytes) };
    let verdict = py.detach(move || verdict::Verdict::of_file(&path, known));
    verdict.map(Verdict).map_err(|error| raised(&error))
}

/// The verdict on a text that may report an error.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn explain_text(py: Python<'_>, text: &str) -> PyResult<Verdict> {
    let verdict = py.detach(|| verdict::Verdict::of_text(text));
    verdict.map(Verdict).map_err(|error| raised(&error))
}

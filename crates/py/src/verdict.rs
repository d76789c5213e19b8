//! Verdicts.

use std::path::PathBuf;

use oomph_diagnose::results::explain::{Explained, FileResult};
use oomph_engine::recording::Known;
use oomph_machine::{cores, explain, source};
use oomph_report::text::{Colour, Section};
use oomph_report::{html, json, text};
use oomph_trace::Bytes;
use pyo3::prelude::*;

use crate::raised;

/// What `oomph explain` says of one file, run or text; each form is made when it is asked for.
#[pyclass(frozen, module = "oomph._oomph")]
pub(crate) struct Verdict(Vec<FileResult>);

#[pymethods]
impl Verdict {
    /// The report, with ANSI escapes where colour is wanted.
    #[pyo3(signature = (*, color = false))]
    fn text(&self, color: bool) -> String {
        text::files(&self.0, Section::ALL, if color { Colour::On } else { Colour::Off })
    }

    /// The verdict on the first failure as one screen, whose last line says how to see `more`; None where a recording has
    /// no verdict, and for a message.
    fn screen(&self, more: &str) -> Option<String> {
        let mut devices = self.0.iter().flat_map(|file| &file.results).filter_map(Explained::device);
        devices.find_map(|device| text::verdict::render(device, more, Colour::Off))
    }

    /// The document of `oomph explain --json`.
    fn json(&self) -> String {
        json::files(&self.0)
    }

    /// The page of `oomph explain --html`; None for a message, which has nothing to draw.
    fn page(&self) -> Option<String> {
        html::page(&self.0)
    }

    /// A fragment of HTML, to stand under a notebook's cell.
    fn card(&self) -> String {
        html::card::card(&self.0, &source::line)
    }

    /// Whether it says that memory ran out.
    fn ran_out(&self) -> bool {
        self.0.iter().flat_map(|file| &file.results).any(Explained::ran_out)
    }
}

/// The verdict on a file, a snapshot or a text that may report an error, or on the folder of a run. `limit` is what the
/// job could hold, in bytes, where the file does not show it.
#[pyfunction]
#[pyo3(signature = (path, limit = None))]
pub(crate) fn explain_file(py: Python<'_>, path: PathBuf, limit: Option<u64>) -> PyResult<Verdict> {
    let known = Known { version: None, limit: limit.map(Bytes) };
    let found = py.detach(move || cores::with_own_threads(|| explain::path(&path, known)).flatten());
    found.map(Verdict).map_err(|error| raised(&error))
}

/// The verdict on a text that may report an error.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn explain_text(py: Python<'_>, text: &str) -> PyResult<Verdict> {
    let found = py.detach(|| explain::text(text));
    let file = |result| FileResult { name: "the text".to_owned(), results: vec![result] };
    found.map(|result| Verdict(vec![file(result)])).map_err(|error| raised(&error))
}

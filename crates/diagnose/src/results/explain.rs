//! What `oomph explain` finds in a file, a text, or what a process of a run left.

use std::sync::Arc;

use oomph_engine::recording::{Known, Recording};
use oomph_trace::{Sidecar, Snapshot};

use crate::explain::{Explanation, explain};
use crate::judge::Culprit;
use crate::message::{self, Log};
use crate::place::Line;
use crate::tune::{Candidate, Search};

/// Replays the settings that most often help, under the limit only. The libraries know no threads, so whoever has cores
/// brings this.
pub type Evaluate = dyn Fn(&Search<'_>) -> Vec<Candidate> + Sync;

/// What was found in one file.
#[derive(Clone, Debug)]
pub struct FileResult {
    /// What the file is called in messages.
    pub name: String,
    /// What is in it: a result for each device, or one for a process or a text.
    pub results: Vec<Explained>,
}

/// One thing explained.
#[derive(Clone, Debug)]
pub enum Explained {
    /// A recording of one device.
    Device(Box<DeviceResult>),
    /// A process that left no memory of a GPU.
    Process(Box<ProcessResult>),
    /// A log, an error, a traceback.
    Text(Log),
}

/// What is known of one device.
#[derive(Clone, Debug)]
pub struct DeviceResult {
    /// The recording.
    pub recording: Arc<Recording>,
    /// The verdict.
    pub explanation: Explanation,
}

/// What is known of a process that left no memory of a GPU.
#[derive(Clone, Debug)]
pub struct ProcessResult {
    /// What the recorder wrote down.
    pub sidecar: Sidecar,
    /// What the exception's text says, if there was one.
    pub log: Option<Log>,
}

impl Explained {
    /// Explains every device of a snapshot; of one without memory of a GPU, the process that wrote it.
    pub fn snapshot(snapshot: Snapshot, known: Known, evaluate: &Evaluate) -> Vec<Explained> {
        let uses_gpu = snapshot.traces.iter().any(|trace| trace.device >= 0);
        match snapshot.sidecar {
            Some(sidecar) if !uses_gpu => vec![Explained::Process(Box::new(ProcessResult::of(sidecar)))],
            _ => {
                let devices = Recording::all(snapshot, known).into_iter();
                devices
                    .map(|recording| Explained::Device(Box::new(DeviceResult::of(recording, evaluate))))
                    .collect()
            }
        }
    }

    /// The result of a device, if it is one.
    pub fn device(&self) -> Option<&DeviceResult> {
        match self {
            Explained::Device(result) => Some(result),
            Explained::Process(_) | Explained::Text(_) => None,
        }
    }

    /// Adds what the lines to blame say: `source` reads files; the recording knows the cells of a notebook.
    pub fn quote(&mut self, source: &dyn Fn(&Line) -> Option<String>) {
        if let Explained::Device(result) = self {
            result.quote(source);
        }
    }

    /// Whether a request for memory failed.
    pub fn ran_out(&self) -> bool {
        match self {
            Explained::Device(result) => !result.explanation.ooms.is_empty(),
            Explained::Process(result) => result.log.as_ref().is_some_and(|log| !log.reports.is_empty()),
            Explained::Text(log) => !log.reports.is_empty(),
        }
    }
}

impl DeviceResult {
    /// Explains one recording.
    pub fn of(recording: impl Into<Arc<Recording>>, evaluate: &Evaluate) -> DeviceResult {
        let recording = recording.into();
        let explanation = explain(&recording, evaluate);
        DeviceResult { recording, explanation }
    }

    /// Adds what the lines to blame say.
    pub fn quote(&mut self, source: &dyn Fn(&Line) -> Option<String>) {
        let quotes = Vec::from_iter(self.culprits().map(|culprit| self.code(&culprit.line, source)));
        let culprits = self.explanation.verdict.iter_mut().flat_map(|verdict| &mut verdict.culprits);
        culprits.zip(quotes).for_each(|(culprit, quote)| culprit.code = quote);
    }

    fn culprits(&self) -> impl Iterator<Item = &Culprit> {
        self.explanation.verdict.iter().flat_map(|verdict| &verdict.culprits)
    }

    /// What a line said when it was recorded, where that was noted; else as `source` reads it now.
    pub fn code(&self, line: &Line, source: &dyn Fn(&Line) -> Option<String>) -> Option<String> {
        let sidecar = self.recording.snapshot.sidecar.as_ref();
        let noted = sidecar.and_then(|sidecar| sidecar.text_of(&line.file, line.line));
        noted.map(str::to_owned).or_else(|| source(line))
    }
}

impl ProcessResult {
    /// Reads the exception like any log.
    pub fn of(sidecar: Sidecar) -> ProcessResult {
        let words = sidecar.exception.as_ref().map(|exception| {
            let text = exception.text.as_deref().unwrap_or_default();
            let traceback = exception.traceback.as_deref().unwrap_or_default();
            let class = exception.class.as_deref().unwrap_or("Exception");
            // The traceback ends with the text; where it is missing or cut, the text is not.
            if traceback.contains(text) {
                traceback.to_owned()
            } else {
                format!("{traceback}\n{class}: {text}\n")
            }
        });
        let words = words.filter(|text| !text.trim().is_empty());
        // Reading from memory does not fail.
        let log = words.and_then(|text| message::read(text.as_bytes()).ok());
        ProcessResult { sidecar, log }
    }
}

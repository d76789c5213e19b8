//! What a process under `oomph run` noted of itself every few seconds: NAME.json in the run's folder. It is what remains
//! of one that was killed.

use std::path::{Path, PathBuf};

use oomph_diagnose::message::noted_out_of_memory;
use oomph_trace::sidecar::{Node, Sidecar, Why};
use serde_json::Value;

use crate::trust;

/// The longest notes that are read. A process that is alive notes a few KiB; when it ends, up to 50,000 marks.
const LONGEST: u64 = 16 << 20;

/// The notes of one process.
#[derive(Clone, Debug)]
pub struct Notes {
    /// Its name in the run: `main`, `rank0`, `pid4711`.
    pub name: String,
    /// What it noted.
    pub sidecar: Sidecar,
    /// Its recordings: the one of the moment it ran out, where it went on afterwards, then the one of its end.
    pub recordings: Vec<PathBuf>,
}

impl Notes {
    /// Those of every process of a run, ranks first. What cannot be read is left out.
    pub fn of_run(run: &Path) -> Vec<Notes> {
        super::notes(run).iter().filter_map(|path| Notes::read(path)).collect()
    }

    /// Reads one file.
    pub fn read(path: &Path) -> Option<Notes> {
        Notes::read_up_to(path, LONGEST)
    }

    /// Reads one file, if it has at most so many bytes.
    pub fn read_up_to(path: &Path, longest: u64) -> Option<Notes> {
        let bytes = trust::read_bounded(path, longest)?;
        Some(Notes {
            name: path.file_stem()?.to_string_lossy().into_owned(),
            sidecar: sidecar_of(&bytes)?,
            recordings: super::recordings_of(path),
        })
    }

    /// Whether it ended because a GPU's memory, or the host's, ran out. Of an exception that was not caught the words
    /// decide. Where a launcher or the program itself swallows it, the last thing noted is the flush for it.
    pub fn ran_out(&self) -> bool {
        let uncaught = self.sidecar.exception.as_ref().filter(|error| error.uncaught);
        let ended = uncaught.map_or(self.sidecar.ended_in_oom, noted_out_of_memory);
        ended || self.sidecar.why == Some(Why::Oom)
    }

    /// When it last ran out of memory; without such a note, when it last noted anything.
    pub fn failed_us(&self) -> u64 {
        let last = self.sidecar.ooms.iter().map(|oom| oom.time_us).max();
        last.or(self.sidecar.written_us).unwrap_or(u64::MAX)
    }

    /// Whether it vanished: it noted neither an end nor a signal, and does not exist any more.
    pub fn vanished(&self) -> bool {
        let unfinished = !matches!(self.sidecar.why, Some(Why::Exit | Why::Signal));
        let pid = self.sidecar.identity.pid;
        unfinished && pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
    }

    /// The text of what ended it: a traceback, or the message alone.
    pub fn exception_text(&self) -> Option<String> {
        let error = self.sidecar.exception.as_ref()?;
        error.traceback.clone().or_else(|| {
            let (class, text) = (error.class.as_deref(), error.text.as_deref()?);
            Some(class.map_or_else(|| text.to_owned(), |class| format!("{class}: {text}")))
        })
    }
}

/// What a file of notes says; `None` if it is not JSON.
pub fn sidecar_of(bytes: &[u8]) -> Option<Sidecar> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    Some(Sidecar::read(Json(&value)))
}

/// A value of JSON, as the reader of sidecars asks for it.
#[derive(Clone, Copy)]
struct Json<'a>(&'a Value);

impl Node for Json<'_> {
    fn entry(self, key: &str) -> Option<Self> {
        self.0.get(key).map(Json)
    }

    fn count(self) -> usize {
        self.0.as_array().map_or(0, Vec::len)
    }

    fn item(self, index: usize) -> Option<Self> {
        self.0.get(index).map(Json)
    }

    fn integer(self) -> Option<u64> {
        self.0.as_u64()
    }

    fn number(self) -> Option<f64> {
        self.0.as_f64()
    }

    fn boolean(self) -> Option<bool> {
        self.0.as_bool()
    }

    fn text(&self) -> Option<&str> {
        self.0.as_str()
    }
}

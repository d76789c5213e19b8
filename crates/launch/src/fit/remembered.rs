//! What a search found, kept for the next time: `.oomph/fits/NAME.json`, called after the script, its arguments and the
//! card. A script that was changed is searched again.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use oomph_machine::trust;
use serde::{Deserialize, Serialize};

use super::point::{Point, Space};
use super::request::Request;
use crate::job::Job;

/// The folder beside the runs.
const FOLDER: &str = "fits";
/// The longest file that is read.
const LONGEST: u64 = 1 << 20;

/// A search, as it is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Remembered {
    /// What it is the answer to, in full: names may collide.
    question: String,
    /// What the program leaves open.
    pub(super) space: Space,
    /// Everything that was tried.
    pub(super) trials: Vec<Trial>,
    /// The cheapest, and its rivals.
    pub(super) best: Option<Point>,
    pub(super) rivals: Vec<Point>,
    /// The peaks of the script as it is: requested, allocated, reserved.
    pub(super) peaks: [u64; 3],
    pub(super) offered: Vec<String>,
    pub(super) caveats: Vec<String>,
}

/// One trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Trial {
    pub(super) point: Point,
    pub(super) setting: Option<String>,
    pub(super) peak_reserved: Option<u64>,
    pub(super) fits: bool,
}

/// Where the answer to a question is kept.
pub(super) struct Place {
    question: String,
    path: PathBuf,
}

impl Place {
    /// The place for a request, in the folder that holds the runs.
    pub(super) fn of(request: &Request, job: &Job, runs: &Path) -> Place {
        let script = job.program.args.iter().map(PathBuf::from).find(|word| word.is_file());
        let mut contents = DefaultHasher::new();
        script.and_then(|path| fs::read(path).ok()).hash(&mut contents);
        let question = format!(
            "{} {:?} {:x} {:?} {:?} {} {:?} {:?} {:?}",
            env!("CARGO_PKG_VERSION"),
            job.program.argv().collect::<Vec<_>>(),
            contents.finish(),
            request.gpu,
            request.limit,
            job.settings,
            request.flags,
            request.without,
            request.subject.steps,
        );
        let mut name = DefaultHasher::new();
        question.hash(&mut name);
        let file = format!("{}-{:016x}.json", job.program.stem, name.finish());
        Place { question, path: runs.join(FOLDER).join(file) }
    }

    /// What is kept there; `None` where nothing is, or nothing that can be read.
    pub(super) fn read(&self) -> Option<Remembered> {
        let bytes = trust::read_bounded(&self.path, LONGEST)?;
        let found: Remembered = serde_json::from_slice(&bytes).ok()?;
        (found.question == self.question).then_some(found)
    }

    /// Keeps an answer. Where that fails it is searched again the next time.
    pub(super) fn write(&self, mut found: Remembered) {
        found.question.clone_from(&self.question);
        let folder = self.path.parent().unwrap_or(&self.path);
        if trust::private_folder(folder).is_ok()
            && let Ok(text) = serde_json::to_string(&found)
        {
            let _ = trust::write_whole(&self.path, text.as_bytes());
        }
    }
}

impl Remembered {
    /// A search without its question, which its place knows.
    pub(super) fn new(space: Space, best: Option<Point>, rivals: Vec<Point>) -> Remembered {
        Remembered {
            question: String::new(),
            space,
            trials: Vec::new(),
            best,
            rivals,
            peaks: [0; 3],
            offered: Vec::new(),
            caveats: Vec::new(),
        }
    }
}

//! What a search found, kept for the next time: `.oomph/fits/NAME.json`, called after the script, its arguments and the
//! card. A script that was changed is searched again.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use oomph_machine::trust;
use oomph_trace::Bytes;
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
    /// The program alone, and what it was allowed to hold: another verb may have the same, and not the same question.
    #[serde(default)]
    program: String,
    #[serde(default)]
    allowed: u64,
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
        let question = format!(
            "{} {:?} {:?} {} {:?} {:?} {:?}",
            program(job),
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
        Remembered::read(&self.path).filter(|found| found.question == self.question)
    }

    /// Keeps an answer. Where that fails it is searched again the next time.
    pub(super) fn write(&self, mut found: Remembered, job: &Job, allowed: Bytes) {
        found.question.clone_from(&self.question);
        (found.program, found.allowed) = (program(job), allowed.0);
        let folder = self.path.parent().unwrap_or(&self.path);
        if trust::private_folder(folder).is_ok()
            && let Ok(text) = serde_json::to_string(&found)
        {
            let _ = trust::write_whole(&self.path, text.as_bytes());
        }
    }
}

/// A program: its command line, and what its script says.
fn program(job: &Job) -> String {
    let script = job.program.args.iter().map(PathBuf::from).find(|word| word.is_file());
    let mut contents = DefaultHasher::new();
    script.and_then(|path| fs::read(path).ok()).hash(&mut contents);
    let words = job.program.argv().collect::<Vec<_>>();
    format!("{} {words:?} {:x}", env!("CARGO_PKG_VERSION"), contents.finish())
}

impl Remembered {
    fn read(path: &Path) -> Option<Remembered> {
        serde_json::from_slice(&trust::read_bounded(path, LONGEST)?).ok()
    }

    /// What fits for a program in so much memory, whatever was asked when it was found; of several the answer for most
    /// memory, whose measures cost least. `runs` is the folder that holds the runs.
    pub(super) fn for_program(job: &Job, runs: &Path, had: Bytes) -> Option<Remembered> {
        let wanted = program(job);
        let mut paths: Vec<PathBuf> =
            fs::read_dir(runs.join(FOLDER)).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort_unstable();
        let found = paths.iter().filter_map(|path| Remembered::read(path));
        let answers =
            found.filter(|found| found.program == wanted && found.allowed <= had.0 && found.best.is_some());
        answers.max_by_key(|found| found.allowed)
    }

    /// A search without its question, which its place knows.
    pub(super) fn new(space: Space, best: Option<Point>, rivals: Vec<Point>) -> Remembered {
        Remembered {
            question: String::new(),
            program: String::new(),
            allowed: 0,
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

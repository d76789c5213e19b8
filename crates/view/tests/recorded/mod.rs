//! The fixtures, and a replay of each beside its picture.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use oomph_engine::recording::{Known, Recording};
use oomph_trace::{EventIdx, read_snapshot};
use oomph_view::lives;
use oomph_view::picture::{Picture, Subject};

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// Every recording there is, by name.
pub(crate) fn names() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

pub(crate) fn subject(name: &str) -> Subject {
    let file = std::fs::File::open(folder().join(name).join("snapshot.pickle.gz")).unwrap();
    Subject::of(Arc::new(Recording::understand(read_snapshot(file).unwrap(), 0, Known::default())))
}

pub(crate) fn pictured(name: &str) -> (Subject, Picture) {
    let subject = subject(name);
    let picture = Picture::recorded(&subject, lives::recorded(&subject.recording));
    (subject, picture)
}

/// Ten moments of a recording, from the first event to the last; a failure is one of them.
pub(crate) fn moments(subject: &Subject) -> Vec<EventIdx> {
    let last = subject.events() as u32 - 1;
    let failure = subject.recording.program.failures.first().map(|failed| failed.event);
    let mut moments: Vec<EventIdx> = (0..9).map(|n| EventIdx(last / 8 * n)).collect();
    moments.push(failure.unwrap_or(EventIdx(last)));
    moments.sort_unstable();
    moments
}

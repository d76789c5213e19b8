//! The recordings that the user names: files, folders of runs, folders of files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use oomph_engine::recording::{Draft, Known};
use oomph_report::view::Listed;
use oomph_trace::Snapshot;

use crate::file::{self, Content};
use crate::run_folder;

/// Recordings that one page shows at most: each takes memory.
const MOST: usize = 64;

/// A file's snapshot, and what the file is called.
#[derive(Debug)]
pub struct Input {
    /// The name.
    pub name: String,
    /// The place among the snapshot's traces.
    place: usize,
    snapshot: Arc<Snapshot>,
    known: Known,
}

impl Input {
    /// As it stands in the page's list.
    pub(super) fn listed(&self) -> Listed {
        let snapshot = Arc::clone(&self.snapshot);
        let device = snapshot.traces[self.place].device;
        Listed { name: self.name.clone(), snapshot, device }
    }

    /// Reads the program out of it.
    pub fn draft(&self) -> Draft {
        Draft::read(Arc::clone(&self.snapshot), self.place, self.known)
    }
}

/// One input for each GPU of each file. Those of a run's folder are what its processes left; of another folder, the
/// snapshots in it, by name.
pub fn inputs(paths: &[PathBuf], known: Known) -> Result<Vec<Input>> {
    let mut found = Vec::new();
    for path in paths {
        for (path, content) in contents(path)? {
            found.extend(of(&path, content, known)?);
        }
    }
    if found.len() > MOST {
        bail!("{} recordings are too many for one page: name {MOST} of them", found.len());
    }
    Ok(found)
}

fn contents(path: &Path) -> Result<Vec<(PathBuf, Content)>> {
    if !path.is_dir() {
        return run_folder::contents(path);
    }
    if run_folder::run_in(path).is_some() {
        let left = run_folder::contents(path)?.into_iter();
        let recorded: Vec<_> = left.filter(|(_, content)| has_memory(content)).collect();
        if recorded.is_empty() {
            bail!(
                "{}: no process of this run recorded memory of a GPU: `oomph explain` says what it left",
                path.display()
            );
        }
        return Ok(recorded);
    }
    let name = path.display();
    let entries = fs::read_dir(path).with_context(|| format!("cannot read {name}"))?;
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| is_snapshot(path)).collect();
    files.sort();
    if files.is_empty() {
        bail!("{name} holds no snapshot (.pickle, .pickle.gz, .pickle.zst) and is no run's folder");
    }
    files.into_iter().map(|file| file::read(&file).map(|content| (file, content))).collect()
}

fn is_snapshot(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.is_file() && [".pickle", ".pickle.gz", ".pickle.zst"].iter().any(|end| name.ends_with(end))
}

fn has_memory(content: &Content) -> bool {
    matches!(content, Content::Snapshot(snapshot) if snapshot.traces.iter().any(|trace| trace.device >= 0))
}

fn of(path: &Path, content: Content, known: Known) -> Result<Vec<Input>> {
    let name = file::shown(path);
    if !has_memory(&content) {
        bail!("{name} holds no memory of a GPU to draw: `oomph explain {name}` says what is in it");
    }
    let Content::Snapshot(snapshot) = content else { return Ok(Vec::new()) };
    let snapshot: Arc<Snapshot> = Arc::from(snapshot);
    let gpus = (0..snapshot.traces.len()).filter(|place| snapshot.traces[*place].device >= 0);
    Ok(gpus
        .map(|place| Input { name: name.clone(), place, snapshot: Arc::clone(&snapshot), known })
        .collect())
}

//! A file that the user names: a snapshot, or a text that may report an error.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use oomph_diagnose::message::{self, Log};
use oomph_trace::{Snapshot, begins_as_pickle, read_snapshot, unpacked};

/// How much of a file is looked at to tell what it is.
const HEAD: u64 = 64 << 10;

/// What a file holds.
pub enum Content {
    /// A memory snapshot.
    Snapshot(Box<Snapshot>),
    /// Anything else: a log, an error, a traceback.
    Text(Log),
}

/// The file, or standard input for `-`, as what it turns out to be.
pub fn read(path: &Path) -> Result<Content> {
    let name = shown(path);
    let mut source = open(path)?;
    let mut head = Vec::new();
    (&mut source).take(HEAD).read_to_end(&mut head).with_context(|| format!("cannot read {name}"))?;
    let is_snapshot = begins_as_pickle(&head);
    let whole = Cursor::new(head).chain(source);
    if is_snapshot {
        return snapshot_in(whole, &name).map(Content::Snapshot);
    }
    let text = unpacked(whole).and_then(|text| message::read(BufReader::with_capacity(1 << 20, text)));
    text.map(Content::Text).with_context(|| format!("cannot read {name}"))
}

/// The snapshot in a file, or on standard input for `-`; it holds memory of some device. [`read`] also gives recordings
/// of processes that used none.
pub fn snapshot(path: &Path) -> Result<Snapshot> {
    let name = shown(path);
    let snapshot = snapshot_in(open(path)?, &name)?;
    if snapshot.traces.is_empty() {
        bail!(
            "{name}: the recording holds no memory of a GPU: `oomph explain` says what is known of the process"
        );
    }
    Ok(*snapshot)
}

fn snapshot_in(source: impl Read, name: &str) -> Result<Box<Snapshot>> {
    let snapshot = read_snapshot(source).with_context(|| name.to_owned())?;
    if snapshot.traces.is_empty() && snapshot.sidecar.is_none() {
        bail!(
            "{name}: the snapshot holds no memory and no events: call _record_memory_history() before the job, and dump it after"
        );
    }
    Ok(Box::new(snapshot))
}

/// What a file is called in messages.
pub fn shown(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

fn open(path: &Path) -> Result<Box<dyn Read>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let name = path.display();
    let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
    if file.metadata().is_ok_and(|found| found.is_dir()) {
        bail!("{name} is a directory: name a file in it");
    }
    Ok(Box::new(file))
}

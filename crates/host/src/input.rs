//! Reading what the user names: a snapshot, or a text that may report an error.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use oomph_diagnose::message::{self, Log};
use oomph_engine::recording::{Known, Recording};
use oomph_trace::{Snapshot, begins_as_pickle, read_snapshot, unpacked};

use crate::run::contents;

/// How much of a file is looked at to tell what it is.
const HEAD: u64 = 64 << 10;

/// What a file holds.
pub enum Input {
    /// A memory snapshot.
    Snapshot(Box<Snapshot>),
    /// Anything else: a log, an error, a traceback.
    Text(Log),
}

/// The file, or standard input for `-`, as what it turns out to be.
pub fn read(path: &Path) -> Result<Input> {
    let name = shown(path);
    let mut source = open(path)?;
    let mut head = Vec::new();
    (&mut source).take(HEAD).read_to_end(&mut head).with_context(|| format!("cannot read {name}"))?;
    let is_snapshot = begins_as_pickle(&head);
    let whole = Cursor::new(head).chain(source);
    if is_snapshot {
        return snapshot_in(whole, &name).map(Input::Snapshot);
    }
    let text = unpacked(whole).and_then(|text| message::read(BufReader::with_capacity(1 << 20, text)));
    text.map(Input::Text).with_context(|| format!("cannot read {name}"))
}

/// The snapshot in a file, or on standard input for `-`; it holds memory of some device. [`read`] also gives recordings
/// of processes that used none.
///
/// It is left to the system, which takes it back faster than we could: for a process that reads a few and ends.
pub fn snapshot(path: &Path) -> Result<&'static Snapshot> {
    let name = shown(path);
    let snapshot = snapshot_in(open(path)?, &name)?;
    if snapshot.traces.is_empty() {
        bail!(
            "{name}: the recording holds no memory of a GPU: `oomph explain` says what is known of the process"
        );
    }
    Ok(Box::leak(snapshot))
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
        return open(&contents::only_recording(path)?);
    }
    Ok(Box::new(file))
}

/// Every device's recording, understood in the light of what the user knows.
pub fn recordings(snapshot: &Snapshot, known: Known) -> Vec<Recording<'_>> {
    // Host memory (PyTorch 2.14) is not managed by the CUDA caching allocator.
    let devices = snapshot.traces.iter().filter(|trace| trace.device >= 0);
    devices.map(|trace| Recording::understand(snapshot, trace, known)).collect()
}

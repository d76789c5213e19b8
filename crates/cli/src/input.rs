//! Reading a snapshot from where the user says.

use std::fs::File;
use std::io;
use std::path::Path;

use anyhow::{Context, Result, bail};
use oomph_engine::recording::{Known, Recording};
use oomph_trace::{Bytes, Snapshot, read_snapshot};

use crate::args::Source;

/// The snapshot in a file, or on standard input for `-`.
///
/// A process reads one and ends; it is left to the system, which takes it back faster than we could.
pub(crate) fn snapshot(path: &Path) -> Result<&'static Snapshot> {
    let name = path.display();
    let snapshot = if path == Path::new("-") {
        read_snapshot(io::stdin().lock()).context("standard input")?
    } else {
        let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
        if file.metadata().is_ok_and(|found| found.is_dir()) {
            bail!("{name} is a directory: name a snapshot file in it");
        }
        read_snapshot(file).with_context(|| name.to_string())?
    };
    if snapshot.traces.is_empty() {
        bail!(
            "{name}: the snapshot holds no memory and no events: call _record_memory_history() before the job, and dump it after"
        );
    }
    Ok(Box::leak(Box::new(snapshot)))
}

/// Every device's recording, understood in the light of what the user knows.
pub(crate) fn recordings<'a>(
    snapshot: &'a Snapshot,
    source: &Source,
    limit: Option<Bytes>,
) -> Vec<Recording<'a>> {
    let known = Known { version: source.profile, limit };
    // Host memory (PyTorch 2.14) is not managed by the CUDA caching allocator.
    let devices = snapshot.traces.iter().filter(|trace| trace.device >= 0);
    devices.map(|trace| Recording::understand(snapshot, trace, known)).collect()
}

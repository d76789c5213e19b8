//! How far a job is that `oomph run --resume` may start again: `progress` in the run's folder. It is a few bytes of memory
//! that the process shares with the file, so that they are right even of one that was killed.

use std::path::Path;

use crate::trust;

/// The file.
const NAME: &str = "progress";

/// From where a process went on, and how far it got, in steps of the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The step of the checkpoint that it began with; 0 where it began anew.
    pub from: u64,
    /// The steps that are done, those before the checkpoint included.
    pub reached: u64,
}

impl Progress {
    /// What a run noted; `None` where it noted nothing.
    pub fn of_run(run: &Path) -> Option<Progress> {
        let bytes = trust::read_bounded(&run.join(NAME), 16)?;
        let [from, reached]: [[u8; 8]; 2] =
            [bytes.get(..8)?.try_into().ok()?, bytes.get(8..)?.try_into().ok()?];
        Some(Progress { from: u64::from_le_bytes(from), reached: u64::from_le_bytes(reached) })
    }
}

//! What `oomph diff` finds: what two jobs need, compared device by device.

use std::collections::BTreeSet;

use oomph_engine::recording::Recording;
use oomph_trace::FrameId;

use crate::diff::{self, Comparison, Texts};
use crate::place::Line;

/// The result for one device of two recordings.
#[derive(Clone, Debug)]
pub struct DiffResult {
    /// What the first recording is called in messages.
    pub a: String,
    /// What the second is called.
    pub b: String,
    /// The device, as PyTorch numbers it, in the second.
    pub device: i32,
    /// The comparison.
    pub comparison: Comparison,
}

impl DiffResult {
    /// Compares two recordings of one device; each comes with its name.
    ///
    /// What lines say is taken from the recordings. Where they do not tell, `source` is asked, which reads files as they
    /// are now. A file that both jobs ran may have been edited in between, so it tells nothing about the first.
    pub fn of(a: (&Recording, &str), b: (&Recording, &str), source: &Texts<'_>) -> DiffResult {
        let of_b = files(b.0);
        let text_a = |line: &Line| {
            let now = || Some(line).filter(|line| !of_b.contains(line.file.as_str())).and_then(source);
            noted(a.0, line).or_else(now)
        };
        let text_b = |line: &Line| noted(b.0, line).or_else(|| source(line));
        DiffResult {
            a: a.1.to_owned(),
            b: b.1.to_owned(),
            device: b.0.trace().device,
            comparison: diff::compare(a.0, b.0, &text_a, &text_b),
        }
    }
}

/// What a line said when it was recorded, where the recorder noted it.
fn noted(recording: &Recording, line: &Line) -> Option<String> {
    let sidecar = recording.snapshot.sidecar.as_ref()?;
    sidecar.line_of_cell(&line.file, line.line).map(str::to_owned)
}

/// The files in a recording's stacks.
fn files(recording: &Recording) -> BTreeSet<&str> {
    let snapshot = &recording.snapshot;
    let frames = (0..snapshot.stacks.frame_count() as u32).map(|id| snapshot.stacks.frame(FrameId(id)));
    frames.map(|frame| snapshot.texts.get(frame.file)).collect()
}

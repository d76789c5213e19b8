//! What `oomph diff` finds: what two jobs need, compared device by device.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use oomph_engine::recording::Recording;
use oomph_trace::{Bytes, FrameId, named};

use crate::diff::{self, Change, Comparison, Texts};
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

/// How much more a job may need than the one before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowance {
    /// A share of what the job before needs.
    Share(f64),
    /// An amount.
    Size(Bytes),
}

impl Allowance {
    /// Whether it grew by more than that.
    pub fn is_exceeded(self, change: Change) -> bool {
        match self {
            Allowance::Share(share) => change.share().is_none_or(|grown| grown > share),
            Allowance::Size(size) => change.more() > size,
        }
    }
}

/// As it is written: `2%`, `200.00 MiB`.
impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allowance::Share(share) => write!(f, "{}%", (share * 1e6).round() / 1e4),
            Allowance::Size(size) => size.fmt(f),
        }
    }
}

/// A text that is no allowance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither a share nor a size: write 2% or 200MiB")]
pub struct NoAllowance(String);

impl FromStr for Allowance {
    type Err = NoAllowance;

    /// Reads `2%`, `0.5 %` or a size.
    fn from_str(text: &str) -> Result<Allowance, NoAllowance> {
        let error = || NoAllowance(text.to_owned());
        match text.trim().strip_suffix('%') {
            Some(number) => {
                let share = number.trim().parse::<f64>().map_err(|_| error())? / 100.0;
                Some(share).filter(|share| (0.0..1e6).contains(share)).map(Allowance::Share).ok_or_else(error)
            }
            None => text.parse().map(Allowance::Size).map_err(|_| error()),
        }
    }
}

named! {
    /// What of a job's need grew by more than was allowed.
    Over {
        /// What it asks for at its peak.
        Requested = "requested",
        /// What it holds from the driver at its peak.
        Reserved = "reserved",
    }
}

/// What is held may differ by this much without a reason: PyTorch takes small pieces of 2 MiB and large ones of 20 MiB from
/// the driver, and one more request may take one more of each.
const PIECES: Bytes = Bytes::mib(22);

impl DiffResult {
    /// What grew by more than is allowed.
    pub fn over(&self, allowed: Allowance) -> Vec<Over> {
        let (requested, reserved) = (self.comparison.requested(), self.comparison.reserved());
        let is_over = |over: &Over| match over {
            Over::Requested => allowed.is_exceeded(requested),
            Over::Reserved => allowed.is_exceeded(reserved) && reserved.more() > PIECES,
        };
        Over::ALL.iter().copied().filter(is_over).collect()
    }
}

/// What a line said when it was recorded, where the recorder noted it.
fn noted(recording: &Recording, line: &Line) -> Option<String> {
    let sidecar = recording.snapshot.sidecar.as_ref()?;
    sidecar.text_of(&line.file, line.line).map(str::to_owned)
}

/// The files in a recording's stacks.
fn files(recording: &Recording) -> BTreeSet<&str> {
    let snapshot = &recording.snapshot;
    let frames = (0..snapshot.stacks.frame_count() as u32).map(|id| snapshot.stacks.frame(FrameId(id)));
    frames.map(|frame| snapshot.texts.get(frame.file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_is_a_share_or_a_size() {
        let read = |text: &str| text.parse::<Allowance>().map_err(|error| error.to_string());
        assert_eq!(read("2%"), Ok(Allowance::Share(0.02)));
        assert_eq!(read(" 0.5 % "), Ok(Allowance::Share(0.005)));
        assert_eq!(read("200MiB"), Ok(Allowance::Size(Bytes::mib(200))));
        assert_eq!(read("0"), Ok(Allowance::Size(Bytes::ZERO)));
        for text in ["", "%", "-2%", "nan%", "two", "2 percent"] {
            assert_eq!(
                read(text),
                Err(format!("`{text}` is neither a share nor a size: write 2% or 200MiB"))
            );
        }
        let shown =
            ["2%", "0.5%", "12.25%", "200MiB"].map(|text| text.parse::<Allowance>().unwrap().to_string());
        assert_eq!(shown, ["2%", "0.5%", "12.25%", "200.00 MiB"]);
    }

    #[test]
    fn as_much_as_is_allowed_is_allowed() {
        let grown = |a, b| Change { a: Bytes::mib(a), b: Bytes::mib(b) };
        let share = Allowance::Share(0.02);
        assert!(!share.is_exceeded(grown(100, 102)) && share.is_exceeded(grown(100, 103)));
        assert!(!share.is_exceeded(grown(100, 50)) && !share.is_exceeded(grown(0, 0)));
        assert!(share.is_exceeded(grown(0, 1)));
        let size = Allowance::Size(Bytes::mib(8));
        assert!(!size.is_exceeded(grown(100, 108)) && size.is_exceeded(grown(100, 109)));
    }
}

//! What every text report says first about the recording it is of.

use oomph_engine::recording::Recording;

use super::style::paragraph;
use crate::words;

/// The device and the size of the recording, and what nothing in it tells.
pub(super) fn recording(out: &mut String, of: &Recording) {
    paragraph(out, "Run", &words::run(of));
    for unknown in &of.program.unknown {
        paragraph(out, "Unknown", &words::unknown(*unknown));
    }
}

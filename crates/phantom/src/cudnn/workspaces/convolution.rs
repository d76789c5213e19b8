//! What convolutions work in.

use crate::cudnn::problem::Convolution;

/// The workspace of the engine that cuDNN would choose.
pub(crate) fn workspace(asked: &Convolution) -> u64 {
    let bytes = 0;
    if logs() {
        use std::io::Write;
        // Nothing is left to do where even standard error is gone.
        let _ = writeln!(std::io::stderr(), "oomph conv: {asked} bytes={bytes}");
    }
    bytes
}

/// Whether each question about a convolution is to be shown.
fn logs() -> bool {
    std::env::var("OOMPH_PHANTOM_LOG").is_ok_and(|what| what == "conv")
}

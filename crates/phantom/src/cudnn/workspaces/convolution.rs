//! What convolutions work in.

use super::measured::{Shape, nearest};
use super::parts::Operands;
use crate::cudnn::problem::{Convolution, Direction};

/// The workspace of the engine that cuDNN would choose.
pub(crate) fn workspace(asked: &Convolution) -> u64 {
    let bytes = estimate(asked);
    if logs() {
        use std::io::Write;
        // Nothing is left to do where even standard error is gone.
        let _ = writeln!(std::io::stderr(), "oomph conv: {asked} bytes={bytes}");
    }
    bytes
}

/// What the nearest measured convolution would work in if it had these operands; nothing where none is comparable.
fn estimate(asked: &Convolution) -> u64 {
    let (shape, batch) = (Shape::of(asked), asked.input.dim(0));
    let Some(measured) = nearest(&shape, batch) else { return 0 };
    let bytes = match asked.direction {
        Direction::Forward => measured.bytes[0],
        Direction::Data => measured.bytes[1],
        Direction::Filter => measured.bytes[2],
    };
    let parts = Operands::of(&measured.shape, measured.batch).explain(bytes);
    Operands::of(&shape, batch).compose(parts)
}

/// Whether each question about a convolution is to be shown.
fn logs() -> bool {
    std::env::var("OOMPH_PHANTOM_LOG").is_ok_and(|what| what == "conv")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cudnn::problem::tests::dense;

    /// 64 filters of 3 × 3 over 64 channels of 56 × 56.
    fn layer(direction: Direction, batch: i64) -> Convolution {
        Convolution {
            direction,
            input: dense(0, &[batch, 64, 56, 56]),
            filter: dense(0, &[64, 64, 3, 3]),
            output: dense(0, &[batch, 64, 56, 56]),
            pads: vec![1, 1],
            strides: vec![1, 1],
            dilations: vec![1, 1],
        }
    }

    #[test]
    fn a_convolution_of_single_precision_copies_its_operands() {
        let operands = |batch: u64| 2 * 4 * batch * 64 * 56 * 56 + 4 * 64 * 64 * 9;
        assert_eq!(workspace(&layer(Direction::Forward, 64)), operands(64) + 147);
        assert_eq!(workspace(&layer(Direction::Forward, 65)), operands(65) + 147);
        assert!(workspace(&layer(Direction::Filter, 64)) >= operands(64));
    }
}

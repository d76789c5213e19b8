//! The workspaces of convolutions.

use std::sync::atomic::{AtomicU64, Ordering};

use super::measured::{Shape, nearest};
use super::parts::{Operands, Parts};
use crate::cudnn::problem::{Convolution, Direction};

/// The workspace of the engine that cuDNN would choose.
pub(crate) fn workspace(asked: &Convolution) -> u64 {
    let what = std::env::var("OOMPH_PHANTOM_LOG").unwrap_or_default();
    let bytes = if what == "conv-marks" { mark() } else { estimate(asked) };
    if what.starts_with("conv") {
        use std::io::Write;
        // If even standard error is gone, nothing can be done.
        let _ = writeln!(std::io::stderr(), "oomph conv: {asked} bytes={bytes}");
    }
    bytes
}

/// How many measured convolutions vote on the engine.
const VOTERS: usize = 5;

/// The workspace of the engine that the nearest measured convolutions vote for; the weight of a vote falls with the
/// distance. A convolution that was measured gets what was measured; one that compares with none gets nothing.
fn estimate(asked: &Convolution) -> u64 {
    let (shape, batch) = (Shape::of(asked), asked.input.dim(0));
    let direction = match asked.direction {
        Direction::Forward => 0,
        Direction::Data => 1,
        Direction::Filter => 2,
    };
    let near = nearest(&shape, batch, direction, VOTERS);
    if let Some((0.0, bytes, _)) = near.first() {
        return *bytes;
    }
    let engines: Vec<(f64, Parts)> = near
        .iter()
        .map(|(distance, bytes, measured)| {
            (1.0 / (0.1 + distance), Operands::of(&measured.shape, measured.batch).explain(*bytes))
        })
        .collect();
    let votes = |parts: Parts| -> f64 {
        engines.iter().filter(|(_, other)| parts.is_like(*other)).map(|(weight, _)| weight).sum()
    };
    // Of equal votes the nearest engine wins. `max_by` takes the last of equals, so the order is reversed.
    let chosen = engines.iter().rev().max_by(|one, other| votes(one.1).total_cmp(&votes(other.1)));
    chosen.map_or(0, |(_, parts)| Operands::of(&shape, batch).compose(*parts))
}

/// A size that no other convolution gets, so that a workspace can be recognised in a recording by its size.
fn mark() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new((1 << 20) + 7);
    NEXT.fetch_add(1024, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cudnn::descriptors::Movement;
    use crate::cudnn::problem::tests::dense;

    /// 64 filters of 3 × 3 over 64 channels of 56 × 56.
    fn layer(direction: Direction, batch: i64) -> Convolution {
        Convolution {
            direction,
            input: dense(0, &[batch, 64, 56, 56]),
            filter: dense(0, &[64, 64, 3, 3]),
            output: dense(0, &[batch, 64, 56, 56]),
            moves: Movement { pads: vec![1, 1], strides: vec![1, 1], dilations: vec![1, 1] },
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

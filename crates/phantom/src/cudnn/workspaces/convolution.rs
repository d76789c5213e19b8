//! What convolutions work in.

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
        // Nothing is left to do where even standard error is gone.
        let _ = writeln!(std::io::stderr(), "oomph conv: {asked} bytes={bytes}");
    }
    bytes
}

/// How many measured convolutions are heard.
const HEARD: usize = 5;

/// What an engine works in with these operands: the engine that the nearest measured convolutions agree on, each with a
/// weight that falls with its distance. One that was measured itself is answered as measured; where none is comparable,
/// with nothing.
fn estimate(asked: &Convolution) -> u64 {
    let (shape, batch) = (Shape::of(asked), asked.input.dim(0));
    let direction = match asked.direction {
        Direction::Forward => 0,
        Direction::Data => 1,
        Direction::Filter => 2,
    };
    let near = nearest(&shape, batch, direction, HEARD);
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
    // Of engines that are equally likely the nearest is taken, which `max_by` finds last when read backwards.
    let chosen = engines.iter().rev().max_by(|one, other| votes(one.1).total_cmp(&votes(other.1)));
    chosen.map_or(0, |(_, parts)| Operands::of(&shape, batch).compose(*parts))
}

/// A size that no other convolution is answered with: allocations can be told by it, which is how workspaces are found in
/// the recording of a real run.
fn mark() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new((1 << 20) + 7);
    NEXT.fetch_add(1024, Ordering::Relaxed)
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

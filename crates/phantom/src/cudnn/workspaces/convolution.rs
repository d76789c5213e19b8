//! The workspaces of convolutions.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::measured::{Shape, nearest};
use super::parts::{Operands, Parts};
use crate::card::card;
use crate::cudnn::asking;
use crate::cudnn::bytes_of;
use crate::cudnn::engines::Engine;
use crate::cudnn::problem::{Convolution, Direction};

/// An engine that was offered: its number, what it works in, and by how much that may be wrong where it was counted here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offered {
    pub(crate) number: i64,
    pub(crate) bytes: u64,
    pub(crate) doubt: Option<u64>,
}

/// The workspace of the engine that cuDNN would choose, or of the one that was `offered`.
pub(crate) fn workspace(asked: &Convolution, offered: Option<Offered>) -> u64 {
    let what = std::env::var("OOMPH_PHANTOM_LOG").unwrap_or_default();
    let bytes = match offered {
        _ if what == "conv-marks" => mark(),
        Some(Offered { bytes, doubt: Some(doubt), .. }) => doubted(bytes, doubt),
        Some(Offered { number, bytes, .. }) if is_unsure(asked, number) => doubted(bytes, bytes),
        Some(Offered { bytes, .. }) => bytes,
        None => match estimate(asked) {
            Estimate::Measured(bytes) if card().capability == MEASURED => bytes,
            Estimate::Measured(bytes) | Estimate::Voted(bytes) => doubted(bytes, bytes),
        },
    };
    if what.starts_with("conv") {
        use std::io::Write;
        // If even standard error is gone, nothing can be done.
        let _ = writeln!(std::io::stderr(), "oomph conv: {asked} bytes={bytes}");
    }
    bytes
}

/// The engines that cuDNN would offer, the best first; `None` where only the table knows. A convolution that was measured
/// on a card of this kind has what was measured.
pub(crate) fn offers(mode: c_int, asked: &Convolution) -> Option<Vec<Engine>> {
    let is_measured_kind = card().capability == MEASURED;
    if is_measured_kind && matches!(estimate(asked), Estimate::Measured(_)) {
        return None;
    }
    let choice = asking::choice(mode, asked)?;
    let mut engines = choice.engines;
    IS_MEASURED.store(is_measured_kind && choice.version == MEASURED_VERSION, Ordering::Relaxed);
    let is_narrow = bytes_of(asked.input.data_type) < 4;
    // By itself PyTorch does not take what computes in less than it was given.
    let first = engines.iter_mut().find(|engine| is_narrow || !engine.notes.contains(&DOWN_CONVERTS));
    if let Some(first) = first.filter(|first| first.doubt.is_none() && is_unsure(asked, first.number)) {
        first.bytes = refined(asked, first.bytes);
    }
    (!engines.is_empty()).then_some(engines)
}

/// Whether cuDNN answers for the kind of card that was measured, in the version that was.
static IS_MEASURED: AtomicBool = AtomicBool::new(false);

/// Workspaces that are known only nearly, and by how much each may be wrong.
static DOUBTS: Mutex<BTreeMap<u64, u64>> = Mutex::new(BTreeMap::new());

/// Notes that this workspace is known only nearly.
fn doubted(bytes: u64, by: u64) -> u64 {
    if by > 0 {
        let mut doubts = DOUBTS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = doubts.entry(bytes).or_default();
        *known = by.max(*known);
    }
    bytes
}

/// Tells workspaces of convolutions that are known only nearly: of an engine of which cuDNN is unsure, or on a card on
/// which nothing was measured. Of each its bytes, then by how many it may be wrong; as many as there is room for. Returns how
/// many there are.
///
/// # Safety
/// `at` points to room for twice `most` numbers, or is null and `most` is 0.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn oomph_phantom_doubts(at: *mut u64, most: usize) -> usize {
    let doubts = DOUBTS.lock().unwrap_or_else(PoisonError::into_inner);
    for (place, (bytes, by)) in doubts.iter().take(most).enumerate() {
        // SAFETY: the caller has given room for `most` pairs, and `place` is below that.
        unsafe {
            at.add(2 * place).write_unaligned(*bytes);
            at.add(2 * place + 1).write_unaligned(*by);
        }
    }
    doubts.len()
}

/// The capability of the card that the table was measured on, and the version of cuDNN.
const MEASURED: (u8, u8) = (9, 0);
const MEASURED_VERSION: usize = 91_900;
/// `CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS`.
const DOWN_CONVERTS: c_int = 1;

/// Whether what an engine works in depends on more than cuDNN is told of a card: how its processors are grouped, and what
/// cuBLASLt chooses. Of the measured workspaces, those of all other engines that PyTorch asks for are told to the byte. Of
/// cards that were not measured nothing is sure.
fn is_unsure(asked: &Convolution, engine: i64) -> bool {
    if !IS_MEASURED.load(Ordering::Relaxed) {
        return true;
    }
    let is_narrow = bytes_of(asked.input.data_type) < 4;
    let unsure: &[i64] = match (asked.direction, is_narrow) {
        (Direction::Forward, true) => &[58, 62, 67],
        (Direction::Forward, false) => &[58, 67],
        (Direction::Data, true) => &[63, 67],
        (Direction::Data, false) => &[63, 71, 74],
        (Direction::Filter, true) => &[61, 62, 65],
        (Direction::Filter, false) => &[23, 30, 61, 62, 68],
    };
    unsure.contains(&engine)
}

/// What an engine works in of which cuDNN is unsure: as the nearest measured convolutions have it, if that is near to what
/// cuDNN says.
fn refined(asked: &Convolution, told: u64) -> u64 {
    if !IS_MEASURED.load(Ordering::Relaxed) {
        return told;
    }
    /// What counts as near: so many bytes, or this part of what is told.
    const NEAR: (u64, u64) = (1 << 20, 10);
    let is_flat = asked.moves.strides.len() == 2;
    let voted = estimate(asked).bytes();
    let is_near = voted.abs_diff(told) <= NEAR.0.max(told / NEAR.1);
    if is_flat && is_near { voted } else { told }
}

/// How many measured convolutions vote on the engine.
const VOTERS: usize = 5;

/// With `OOMPH_PHANTOM_UNSEEN`, what was measured of a shape is not told of that shape: to see how plans are without it.
fn leaves_out() -> bool {
    static LEAVES_OUT: OnceLock<bool> = OnceLock::new();
    *LEAVES_OUT.get_or_init(|| std::env::var_os("OOMPH_PHANTOM_UNSEEN").is_some())
}

/// What the table says of a convolution.
#[derive(Clone, Copy, Debug)]
enum Estimate {
    /// It was measured.
    Measured(u64),
    /// Those that are near to it were.
    Voted(u64),
}

impl Estimate {
    fn bytes(self) -> u64 {
        match self {
            Self::Measured(bytes) | Self::Voted(bytes) => bytes,
        }
    }
}

/// The workspace of the engine that the nearest measured convolutions vote for; the weight of a vote falls with the
/// distance. A convolution that was measured gets what was measured; one that compares with none gets nothing.
fn estimate(asked: &Convolution) -> Estimate {
    let (shape, batch) = (Shape::of(asked), asked.input.dim(0));
    let near = nearest(&shape, batch, asked.direction as usize, VOTERS, leaves_out());
    // Of three dimensions all but the last count as height, so they are never those that were measured.
    if let Some((0.0, bytes, _)) = near.first()
        && asked.moves.strides.len() <= 2
    {
        return Estimate::Measured(*bytes);
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
    Estimate::Voted(chosen.map_or(0, |(_, parts)| Operands::of(&shape, batch).compose(*parts)))
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
        let workspace = |direction, batch| workspace(&layer(direction, batch), None);
        assert_eq!(workspace(Direction::Forward, 64), operands(64) + 147);
        assert_eq!(workspace(Direction::Forward, 65), operands(65) + 147);
        assert!(workspace(Direction::Filter, 64) >= operands(64));
    }
}

//! Convolutions through the older interface: one algorithm is found for each, with the workspace it needs.

use std::ffi::{c_int, c_void};

use super::descriptors::{FILTERS, MOVEMENTS, TENSORS, Tensor};
use super::problem::{Convolution, Direction};
use super::workspaces::convolution::workspace;
use super::{BAD_PARAM, put, size};
use crate::code::{Code, SUCCESS};
use crate::store::Handle;

/// `cudnnConvolutionFwdAlgoPerf_t`, and the same for both backward directions.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Algorithm {
    number: c_int,
    status: c_int,
    time: f32,
    memory: usize,
    determinism: c_int,
    mathematics: c_int,
    reserved: [c_int; 3],
}

/// The algorithm that stands for the one that cuDNN would choose; 1 exists in every direction and is deterministic.
const ALGORITHM: c_int = 1;

/// The descriptors of a convolution.
struct Descriptors {
    x: Handle,
    w: Handle,
    moves: Handle,
    y: Handle,
}

impl Descriptors {
    /// The workspace of the convolution that they describe; `None` where one of them is unknown.
    fn workspace(&self, direction: Direction) -> Option<usize> {
        let filter = FILTERS.get(self.w)?;
        let convolution = Convolution {
            direction,
            input: TENSORS.get(self.x)?,
            filter: Tensor { data_type: filter.data_type, dims: filter.dims, strides: Vec::new() },
            output: TENSORS.get(self.y)?,
            moves: MOVEMENTS.get(self.moves)?,
        };
        Some(size(workspace(&convolution, None)))
    }
}

/// Answers with the one algorithm there is.
///
/// # Safety
/// `results` is null or has room for `wanted` results; `count` is null or the caller's.
unsafe fn find(memory: Option<usize>, wanted: c_int, count: *mut c_int, results: *mut Algorithm) -> Code {
    let Some(memory) = memory else { return BAD_PARAM };
    if wanted < 1 || results.is_null() {
        return BAD_PARAM;
    }
    let algorithm =
        Algorithm { number: ALGORITHM, status: SUCCESS, memory, determinism: 1, ..Algorithm::default() };
    // SAFETY: room for at least one result, and the caller's pointer.
    unsafe { put(results, algorithm).max(put(count, 1)) }
}

/// The three questions about one direction: which algorithm, which algorithm after timing all, and its workspace.
/// Each direction has its own order of the descriptors.
macro_rules! questions {
    ($(
        $direction:ident($first:ident, $second:ident, moves, $third:ident): $get:ident $time:ident $measure:ident;
    )*) => { $(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $get(
            _: Handle,
            $first: Handle,
            $second: Handle,
            moves: Handle,
            $third: Handle,
            wanted: c_int,
            count: *mut c_int,
            results: *mut Algorithm,
        ) -> Code {
            let memory = Descriptors { $first, $second, moves, $third }.workspace(Direction::$direction);
            // SAFETY: the caller's array of `wanted` results, and its pointer.
            unsafe { find(memory, wanted, count, results) }
        }

        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $time(
            _: Handle,
            $first: Handle,
            _: *const c_void,
            $second: Handle,
            _: *const c_void,
            moves: Handle,
            $third: Handle,
            _: *mut c_void,
            wanted: c_int,
            count: *mut c_int,
            results: *mut Algorithm,
            _: *mut c_void,
            _: usize,
        ) -> Code {
            let memory = Descriptors { $first, $second, moves, $third }.workspace(Direction::$direction);
            // SAFETY: the caller's array of `wanted` results, and its pointer.
            unsafe { find(memory, wanted, count, results) }
        }

        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $measure(
            _: Handle,
            $first: Handle,
            $second: Handle,
            moves: Handle,
            $third: Handle,
            _: c_int,
            at: *mut usize,
        ) -> Code {
            let memory = Descriptors { $first, $second, moves, $third }.workspace(Direction::$direction);
            // SAFETY: the caller's pointer.
            memory.map_or(BAD_PARAM, |memory| unsafe { put(at, memory) })
        }
    )* };
}

questions! {
    Forward(x, w, moves, y):
        cudnnGetConvolutionForwardAlgorithm_v7
        cudnnFindConvolutionForwardAlgorithmEx
        cudnnGetConvolutionForwardWorkspaceSize;
    Data(w, y, moves, x):
        cudnnGetConvolutionBackwardDataAlgorithm_v7
        cudnnFindConvolutionBackwardDataAlgorithmEx
        cudnnGetConvolutionBackwardDataWorkspaceSize;
    Filter(x, y, moves, w):
        cudnnGetConvolutionBackwardFilterAlgorithm_v7
        cudnnFindConvolutionBackwardFilterAlgorithmEx
        cudnnGetConvolutionBackwardFilterWorkspaceSize;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_that_were_never_made_are_refused() {
        assert_eq!(size_of::<Algorithm>(), 48);
        let none = std::ptr::null_mut();
        let (mut count, mut found) = (7, Algorithm::default());
        let (at, results) = (&raw mut count, &raw mut found);
        // SAFETY: pointers to variables of this function.
        let code =
            unsafe { cudnnGetConvolutionForwardAlgorithm_v7(none, none, none, none, none, 1, at, results) };
        assert_eq!((code, count, found), (BAD_PARAM, 7, Algorithm::default()));
    }
}

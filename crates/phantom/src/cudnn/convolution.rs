//! Convolutions through the older interface: one algorithm is found for each, with the workspace it needs.

use std::ffi::{c_int, c_void};

use super::descriptors::{Tensor, filter, movement, tensor};
use super::problem::{Convolution, Direction};
use super::workspaces::convolution::workspace;
use super::{BAD_PARAM, Handle, put, size};
use crate::code::{Code, SUCCESS};

/// `cudnnConvolutionFwdAlgoPerf_t` and its two likes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Found {
    algorithm: c_int,
    status: c_int,
    time: f32,
    memory: usize,
    determinism: c_int,
    mathematics: c_int,
    reserved: [c_int; 3],
}

/// The algorithm that stands for whatever cuDNN would choose; 1 exists in every direction and is deterministic.
const ALGORITHM: c_int = 1;

/// What is asked about, from the descriptors of the older interface.
fn problem(
    direction: Direction,
    input: Handle,
    weights: Handle,
    moves: Handle,
    output: Handle,
) -> Option<Convolution> {
    let (input, weights, moves, output) =
        (tensor(input)?, filter(weights)?, movement(moves)?, tensor(output)?);
    let weights = Tensor { data_type: weights.data_type, dims: weights.dims, strides: Vec::new() };
    Some(Convolution {
        direction,
        input,
        filter: weights,
        output,
        pads: moves.pads,
        strides: moves.strides,
        dilations: moves.dilations,
    })
}

/// Answers a question about algorithms.
fn find(asked: Option<Convolution>, wanted: c_int, count: *mut c_int, results: *mut Found) -> Code {
    let Some(asked) = asked else { return BAD_PARAM };
    if wanted < 1 || results.is_null() {
        return BAD_PARAM;
    }
    let found = Found {
        algorithm: ALGORITHM,
        status: SUCCESS,
        memory: size(workspace(&asked)),
        determinism: 1,
        ..Found::default()
    };
    // SAFETY: the array of at least one result and the pointer that the caller of the functions below gave.
    unsafe { put(results, found).max(put(count, 1)) }
}

/// Answers a question about a workspace.
fn measure(asked: Option<Convolution>, at: *mut usize) -> Code {
    let Some(asked) = asked else { return BAD_PARAM };
    // SAFETY: the pointer that the caller of the functions below gave for its answer.
    unsafe { put(at, size(workspace(&asked))) }
}

/// The algorithm for an output.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudnnGetConvolutionForwardAlgorithm_v7(
    _: Handle,
    x: Handle,
    w: Handle,
    moves: Handle,
    y: Handle,
    wanted: c_int,
    count: *mut c_int,
    results: *mut Found,
) -> Code {
    find(problem(Direction::Forward, x, w, moves, y), wanted, count, results)
}

/// The algorithm for an input's gradient.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudnnGetConvolutionBackwardDataAlgorithm_v7(
    _: Handle,
    w: Handle,
    y: Handle,
    moves: Handle,
    x: Handle,
    wanted: c_int,
    count: *mut c_int,
    results: *mut Found,
) -> Code {
    find(problem(Direction::Data, x, w, moves, y), wanted, count, results)
}

/// The algorithm for a filter's gradient.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    _: Handle,
    x: Handle,
    y: Handle,
    moves: Handle,
    w: Handle,
    wanted: c_int,
    count: *mut c_int,
    results: *mut Found,
) -> Code {
    find(problem(Direction::Filter, x, w, moves, y), wanted, count, results)
}

/// The same, where it would be timed.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudnnFindConvolutionForwardAlgorithmEx(
    _: Handle,
    x: Handle,
    _: *const c_void,
    w: Handle,
    _: *const c_void,
    moves: Handle,
    y: Handle,
    _: *mut c_void,
    wanted: c_int,
    count: *mut c_int,
    results: *mut Found,
    _: *mut c_void,
    _: usize,
) -> Code {
    find(problem(Direction::Forward, x, w, moves, y), wanted, count, results)
}

/// The same for an input's gradient.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudnnFindConvolutionBackwardDataAlgorithmEx(
    _: Handle,
    w: Handle,
    _: *const c_void,
    y: Handle,
    _: *const c_void,
    moves: Handle,
    x: Handle,
    _: *mut c_void,
    wanted: c_int,
    count: *mut c_int,
    results: *mut Found,
    _: *mut c_void,
    _: usize,
) -> Code {
    find(problem(Direction::Data, x, w, moves, y), wanted, count, results)
}

/// The same for a filter's gradient.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudnnFindConvolutionBackwardFilterAlgorithmEx(
    _: Handle,
    x: Handle,
    _: *const c_void,
    y: Handle,
    _: *const c_void,
    moves: Handle,
    w: Handle,
    _: *mut c_void,
    wanted: c_int,
    count: *mut c_int,
    results: *mut Found,
    _: *mut c_void,
    _: usize,
) -> Code {
    find(problem(Direction::Filter, x, w, moves, y), wanted, count, results)
}

/// What an output's algorithm works in.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudnnGetConvolutionForwardWorkspaceSize(
    _: Handle,
    x: Handle,
    w: Handle,
    moves: Handle,
    y: Handle,
    _: c_int,
    at: *mut usize,
) -> Code {
    measure(problem(Direction::Forward, x, w, moves, y), at)
}

/// What the algorithm of an input's gradient works in.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudnnGetConvolutionBackwardDataWorkspaceSize(
    _: Handle,
    w: Handle,
    y: Handle,
    moves: Handle,
    x: Handle,
    _: c_int,
    at: *mut usize,
) -> Code {
    measure(problem(Direction::Data, x, w, moves, y), at)
}

/// What the algorithm of a filter's gradient works in.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudnnGetConvolutionBackwardFilterWorkspaceSize(
    _: Handle,
    x: Handle,
    y: Handle,
    moves: Handle,
    w: Handle,
    _: c_int,
    at: *mut usize,
) -> Code {
    measure(problem(Direction::Filter, x, w, moves, y), at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_that_were_never_made_are_refused() {
        assert_eq!(size_of::<Found>(), 48);
        let none = std::ptr::null_mut();
        let (mut count, mut found) = (7, Found::default());
        let code = cudnnGetConvolutionForwardAlgorithm_v7(
            none,
            none,
            none,
            none,
            none,
            1,
            &raw mut count,
            &raw mut found,
        );
        assert_eq!((code, count, found), (BAD_PARAM, 7, Found::default()));
    }
}

//! The descriptors of cuDNN's older interface, which remember what is set in them.

use std::ffi::c_int;

use super::{BAD_PARAM, NOT_SUPPORTED, found, put};
use crate::answer::{answer, offer};
use crate::code::{Code, SUCCESS};
use crate::store::{Handle, Store, handle, lifetime, remember};

/// The shape of a tensor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tensor {
    /// `cudnnDataType_t`.
    pub(crate) data_type: c_int,
    pub(crate) dims: Vec<i64>,
    pub(crate) strides: Vec<i64>,
}

/// The shape of a filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) data_type: c_int,
    /// `cudnnTensorFormat_t`: 0 channels first, 1 channels last.
    pub(crate) format: c_int,
    pub(crate) dims: Vec<i64>,
}

/// How a filter moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Movement {
    pub(crate) pads: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    pub(crate) dilations: Vec<i64>,
}

pub(crate) static TENSORS: Store<Tensor> = Store::new();
pub(crate) static FILTERS: Store<Filter> = Store::new();
pub(crate) static MOVEMENTS: Store<Movement> = Store::new();

/// The dimensions that C gives as a count and an array of ints; cuDNN has at most eight.
///
/// # Safety
/// `values` is null or points to `count` ints.
pub(crate) unsafe fn ints(count: c_int, values: *const c_int) -> Vec<i64> {
    let count = usize::try_from(count).unwrap_or(0).min(8);
    if values.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller vouches for `count` ints, of which no more than that are read.
    (0..count).map(|at| i64::from(unsafe { values.add(at).read_unaligned() })).collect()
}

/// Writes at most `room` dimensions where C wants them.
///
/// # Safety
/// `at` is null or has room for `room` ints.
unsafe fn write(at: *mut c_int, room: c_int, values: &[i64]) {
    let room = usize::try_from(room).unwrap_or(0);
    if at.is_null() {
        return;
    }
    for (index, value) in values.iter().take(room).enumerate() {
        // SAFETY: `index` is below `room`, for which the caller vouches.
        unsafe { at.add(index).write_unaligned(c_int::try_from(*value).unwrap_or(c_int::MAX)) };
    }
}

lifetime! {
    cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor, TENSORS;
    cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor, FILTERS;
    cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor, MOVEMENTS;
}

// Nothing is ever read from these descriptors, so a handle is enough.
answer! {
    fn cudnnCreateActivationDescriptor(at: *mut Handle) { *at = handle(); }

    fn cudnnCreateCTCLossDescriptor(at: *mut Handle) { *at = handle(); }

    fn cudnnCreatePoolingDescriptor(at: *mut Handle) { *at = handle(); }

    fn cudnnCreateSpatialTransformerDescriptor(at: *mut Handle) { *at = handle(); }
}

remember! {
    /// A tensor's shape.
    fn cudnnSetTensorNdDescriptor(
        tensor: Handle, data_type: c_int, count: c_int, dims: *const c_int, strides: *const c_int,
    ) {
        // SAFETY: the caller's arrays of `count` ints.
        *TENSORS[tensor] = unsafe { Tensor { data_type, dims: ints(count, dims), strides: ints(count, strides) } };
    }

    /// A filter's shape.
    fn cudnnSetFilterNdDescriptor(
        filter: Handle, data_type: c_int, format: c_int, count: c_int, dims: *const c_int,
    ) {
        // SAFETY: the caller's array of `count` ints.
        *FILTERS[filter] = Filter { data_type, format, dims: unsafe { ints(count, dims) } };
    }

    /// How a filter moves.
    fn cudnnSetConvolutionNdDescriptor(
        movement: Handle, count: c_int, pads: *const c_int, strides: *const c_int, dilations: *const c_int,
        mode: c_int, _: c_int,
    ) {
        *MOVEMENTS[movement] = match mode {
            // SAFETY: the caller's arrays of `count` ints.
            0 | 1 => unsafe {
                Movement { pads: ints(count, pads), strides: ints(count, strides), dilations: ints(count, dilations) }
            },
            _ => return NOT_SUPPORTED,
        };
    }
}

/// The shape as it was set.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudnnGetTensorNdDescriptor(
    handle: Handle,
    room: c_int,
    data_type: *mut c_int,
    count: *mut c_int,
    dims: *mut c_int,
    strides: *mut c_int,
) -> Code {
    let Some(shape) = TENSORS.get(handle) else { return BAD_PARAM };
    // SAFETY: the caller's pointers, and its arrays of `room` ints.
    unsafe {
        write(dims, room, &shape.dims);
        write(strides, room, &shape.strides);
        offer(data_type, shape.data_type);
        offer(count, c_int::try_from(shape.dims.len()).unwrap_or(0));
    }
    SUCCESS
}

/// The shape as it was set.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudnnGetFilterNdDescriptor(
    handle: Handle,
    room: c_int,
    data_type: *mut c_int,
    format: *mut c_int,
    count: *mut c_int,
    dims: *mut c_int,
) -> Code {
    let Some(shape) = FILTERS.get(handle) else { return BAD_PARAM };
    // SAFETY: the caller's pointers, and its array of `room` ints.
    unsafe {
        write(dims, room, &shape.dims);
        offer(data_type, shape.data_type);
        offer(format, shape.format);
        offer(count, c_int::try_from(shape.dims.len()).unwrap_or(0));
    }
    SUCCESS
}

/// The number of groups follows from the shapes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudnnSetConvolutionGroupCount(handle: Handle, _: c_int) -> Code {
    found(MOVEMENTS.get(handle).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_remembers_its_shape() {
        let mut handle = std::ptr::null_mut();
        let (dims, strides) = ([2, 3, 4, 5], [60, 1, 15, 3]);
        let (mut data_type, mut count, mut seen) = (9, 9, [0; 3]);
        // SAFETY: pointers to variables and arrays of this function, with their lengths.
        let codes = unsafe {
            [
                cudnnCreateTensorDescriptor(&raw mut handle),
                cudnnSetTensorNdDescriptor(handle, 2, 4, dims.as_ptr(), strides.as_ptr()),
                cudnnGetTensorNdDescriptor(
                    handle,
                    3,
                    &raw mut data_type,
                    &raw mut count,
                    seen.as_mut_ptr(),
                    std::ptr::null_mut(),
                ),
            ]
        };
        assert_eq!((codes, data_type, count, seen), ([SUCCESS; 3], 2, 4, [2, 3, 4]));
        assert_eq!(
            TENSORS.get(handle),
            Some(Tensor { data_type: 2, dims: vec![2, 3, 4, 5], strides: vec![60, 1, 15, 3] })
        );
        assert_eq!(cudnnDestroyTensorDescriptor(handle), SUCCESS);
        // SAFETY: as above; the handle stands for nothing any more.
        let code = unsafe { cudnnSetTensorNdDescriptor(handle, 0, 4, dims.as_ptr(), strides.as_ptr()) };
        assert_eq!(code, BAD_PARAM);
    }
}

//! Errors that hide that memory ran out: a library could not start, an assertion failed on the way to the report.

use super::facts::Framework::{Cuda, PyTorch, TensorFlow};
use super::phrases::Phrase;
use super::verdict::Confidence::{High, Low, Medium};
use crate::cause::Cause::{Disguised, Unknown};

const LIBRARY: &str =
    "the library makes its own buffers outside the framework's cache when it starts; it found no room";
const CUDNN: &str = "cuDNN could not start: no room for its buffers, or a version that does not fit the driver; \
                     the text is the same";
const WORKSPACE: &str = "no method of the library fitted into the memory that was left";
const REPORT: &str =
    "the allocator ran out of memory, and asking the driver for the report's numbers failed as well";

pub(super) const PHRASES: &[Phrase] = &[
    // TensorFlow's own words first: the status behind them is the same in every framework.
    Phrase::of(TensorFlow, Disguised, High, "failed to create cublas handle", LIBRARY),
    Phrase::of(TensorFlow, Disguised, High, "Could not create cudnn handle", LIBRARY),
    Phrase::of(TensorFlow, Disguised, Medium, "because cuDNN failed to initialize", LIBRARY),
    Phrase::of(PyTorch, Disguised, High, "CUBLAS_STATUS_ALLOC_FAILED", LIBRARY),
    Phrase::of(PyTorch, Disguised, Medium, "CUBLAS_STATUS_NOT_INITIALIZED", LIBRARY),
    Phrase::of(PyTorch, Disguised, High, "CUDNN_STATUS_ALLOC_FAILED", LIBRARY),
    Phrase::of(PyTorch, Disguised, Low, "cuDNN error: CUDNN_STATUS_NOT_INITIALIZED", CUDNN),
    Phrase::of(PyTorch, Unknown, Medium, "CUDNN_STATUS_NOT_INITIALIZED", CUDNN).bare(),
    Phrase::of(PyTorch, Disguised, Medium, "Unable to find a valid cuDNN algorithm", WORKSPACE),
    Phrase::of(PyTorch, Disguised, Low, "unable to find an engine to execute this computation", WORKSPACE),
    Phrase::of(PyTorch, Disguised, High, "NVML_SUCCESS == ", REPORT).near("INTERNAL ASSERT FAILED"),
    Phrase::of(PyTorch, Disguised, High, "CUSOLVER_STATUS_ALLOC_FAILED", LIBRARY),
    Phrase::of(PyTorch, Disguised, Medium, "when calling `cusolverDnCreate(handle)`", LIBRARY),
    Phrase::of(PyTorch, Disguised, High, "CUSPARSE_STATUS_ALLOC_FAILED", LIBRARY),
    Phrase::of(PyTorch, Disguised, High, "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", LIBRARY),
    Phrase::of(PyTorch, Disguised, High, "CUFFT_ALLOC_FAILED", LIBRARY),
    Phrase::of(PyTorch, Disguised, Medium, "Cuda failure 'out of memory'", LIBRARY),
    Phrase::of(PyTorch, Disguised, Medium, "Cuda failure 2 'out of memory'", LIBRARY),
    Phrase::of(Cuda, Disguised, Medium, "CURAND_STATUS_ALLOCATION_FAILED", LIBRARY),
];

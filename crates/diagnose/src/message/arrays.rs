//! Other frameworks: CuPy, RMM, Numba, XGBoost, ONNX Runtime, Paddle, MXNet, and errors of the driver as such.

use super::facts::Framework::{CuPy, Cuda, MxNet, Numba, OnnxRuntime, Paddle, PyTorchXpu, Rmm, XgBoost};
use super::phrases::Number::{Allocated, Device, Free, Total, Tried};
use super::phrases::Phrase;
use super::size;
use super::text::{after, around};
use super::verdict::Confidence::{Low, Medium};
use super::wording::Message;
use crate::cause::Cause::{Capacity, Unknown};

const FULL: &str = "the pool grows as long as the device has room; it had none for this";
const SILENT: &str = "the driver refused; how much was free and who held the rest is not printed";
const USUAL: &str = "no numbers are printed; most often the work does not fit";

pub(super) const PHRASES: &[Phrase] = &[
    Phrase::of(CuPy, Capacity, Low, "Out of memory allocating ", FULL).counted().with(&[
        (Tried, "Out of memory allocating "),
        (Allocated, "allocated so far: "),
        (Total, "limit set to: "),
    ]),
    Phrase::of(Rmm, Capacity, Medium, "Maximum pool size exceeded", "RMM's pool has reached its limit")
        .with(&[(Tried, "failed to allocate ")]),
    Phrase::of(Rmm, Capacity, Low, "std::bad_alloc", FULL)
        .near("rmm")
        .with(&[(Tried, "failed to allocate ")]),
    Phrase::of(Rmm, Capacity, Low, "std::bad_alloc: out_of_memory", FULL)
        .with(&[(Tried, "failed to allocate ")]),
    Phrase::of(Numba, Unknown, Medium, "Call to cuMemAlloc results in", SILENT).near("OUT_OF_MEMORY"),
    Phrase::of(XgBoost, Capacity, Low, "Memory allocation error on worker", FULL)
        .counted()
        .with(&[(Tried, "Requested memory: "), (Free, "Free memory: ")]),
    Phrase::of(
        OnnxRuntime,
        Capacity,
        Low,
        "requested buffer of size ",
        "the arena asks the device for more, doubling each time, until it has no room",
    )
    .counted()
    .with(&[(Tried, "requested buffer of size ")]),
    Phrase::of(
        OnnxRuntime,
        Capacity,
        Medium,
        "is smaller than requested bytes of ",
        "the arena has reached its limit",
    )
    .counted()
    .with(&[(Tried, "requested bytes of "), (Free, "Available memory of ")]),
    Phrase::of(Paddle, Capacity, Medium, "Out of memory error on GPU ", FULL).counted().with(&[
        (Tried, "Cannot allocate "),
        (Free, "available memory is only "),
        (Device, "error on GPU "),
    ]),
    Phrase::of(MxNet, Capacity, Low, "cudaMalloc retry failed: out of memory", USUAL),
    Phrase::of(MxNet, Capacity, Low, "cudaMalloc failed: out of memory", USUAL).near("mxnet"),
    Phrase::of(PyTorchXpu, Unknown, Medium, "RESULT_ERROR_OUT_OF_DEVICE_MEMORY", SILENT),
    Phrase::of(PyTorchXpu, Unknown, Medium, "RESULT_ERROR_OUT_OF_RESOURCES", SILENT),
    Phrase::of(Cuda, Unknown, Medium, "cudaErrorMemoryAllocation", SILENT).bare(),
    Phrase::of(Cuda, Unknown, Medium, "CUDA_ERROR_OUT_OF_MEMORY", SILENT).bare(),
    Phrase::of(Cuda, Unknown, Medium, "hipErrorOutOfMemory", SILENT).bare(),
    Phrase::of(PyTorchXpu, Unknown, Medium, "PI_ERROR_OUT_OF_RESOURCES", SILENT),
    Phrase::of(OnnxRuntime, Capacity, Low, "CUDA failure 2: out of memory", USUAL).bare(),
    Phrase::of(Cuda, Capacity, Low, "Triton Error [CUDA]: out of memory", USUAL).bare(),
];

/// Paddle names what it holds after the number: `on GPU 0, 6.000000GB memory has been allocated and available …`.
pub(super) fn complete(text: &str, found: &mut [Message]) {
    for report in found.iter_mut().filter(|report| report.framework == Paddle) {
        let message = &text[report.span.start..around(text, &report.span, 0, 320).end];
        let held = after(message, "memory on GPU ").and_then(size::leading_number).map(|(_, rest)| rest);
        let held = held.and_then(|rest| rest.strip_prefix(',')).and_then(size::leading);
        report.facts.allocated =
            held.filter(|(_, rest)| after(rest, "has been allocated").is_some()).map(|(bytes, _)| bytes);
    }
}

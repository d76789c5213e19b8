//! cuFFT: how much a transform works in depends on its plan, which only the real library makes.

use crate::library::refuse_library;

refuse_library!(
    "cuFFT",
    16,
    [
        cufftCreate,
        cufftDestroy,
        cufftSetAutoAllocation,
        cufftSetStream,
        cufftSetWorkArea,
        cufftXtExec,
        cufftXtMakePlanMany,
    ]
);

//! The CUDA runtime, as far as PyTorch's libraries call it. Signatures are CUDA's.
//!
//! Every function here is called by C with the arguments that CUDA's headers promise; that is what each `SAFETY` note
//! means by "the caller".

use std::ffi::c_void;

use crate::code::{self, Code};
use crate::library::succeed;

mod device;
mod queue;
mod storage;

pub(crate) use device::{cudaDriverGetVersion, write_text};

type Handle = *mut c_void;

/// Functions that a phantom cannot serve.
macro_rules! refuse {
    ($($name:ident),* $(,)?) => { $(
        /// Not supported.
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name() -> Code { code::refuse(stringify!($name)) }
    )* };
}

succeed!(
    cudaDeviceEnablePeerAccess,
    cudaDeviceSynchronize,
    cudaEventDestroy,
    cudaEventQuery,
    cudaEventRecord,
    cudaEventRecordWithFlags,
    cudaEventSynchronize,
    cudaFreeAsync,
    cudaFuncSetAttribute,
    cudaHostRegister,
    cudaHostUnregister,
    cudaLaunchKernel,
    cudaLaunchKernelExC,
    cudaMemcpyToSymbol,
    cudaMemset,
    cudaMemsetAsync,
    cudaProfilerStart,
    cudaProfilerStop,
    cudaStreamDestroy,
    cudaStreamQuery,
    cudaStreamSynchronize,
    cudaStreamWaitEvent,
    cudaThreadExchangeStreamCaptureMode,
);

refuse!(
    cudaDeviceGetDefaultMemPool,
    cudaDeviceGetGraphMemAttribute,
    cudaDeviceSetGraphMemAttribute,
    cudaGetSymbolAddress,
    cudaGraphAddNode,
    cudaGraphConditionalHandleCreate,
    cudaGraphDebugDotPrint,
    cudaGraphDestroy,
    cudaGraphExecDestroy,
    cudaGraphGetNodes,
    cudaGraphInstantiate,
    cudaGraphInstantiateWithFlags,
    cudaGraphLaunch,
    cudaGraphNodeGetDependencies,
    cudaGraphRetainUserObject,
    cudaIpcCloseMemHandle,
    cudaIpcGetEventHandle,
    cudaIpcGetMemHandle,
    cudaIpcOpenEventHandle,
    cudaIpcOpenMemHandle,
    cudaKernelSetAttributeForDevice,
    cudaLaunchHostFunc,
    cudaLibraryGetGlobal,
    cudaLibraryGetKernel,
    cudaLibraryGetKernelCount,
    cudaLibraryGetManaged,
    cudaLibraryGetUnifiedFunction,
    cudaLibraryLoadData,
    cudaLibraryLoadFromFile,
    cudaLibraryUnload,
    cudaMallocAsync,
    cudaMallocManaged,
    cudaMemPoolGetAttribute,
    cudaMemPoolSetAccess,
    cudaMemPoolSetAttribute,
    cudaMemPoolTrimTo,
    cudaMemcpy2DAsync,
    cudaStreamAddCallback,
    cudaStreamBeginCapture,
    cudaStreamBeginCaptureToGraph,
    cudaStreamEndCapture,
    cudaStreamUpdateCaptureDependencies,
    cudaUserObjectCreate,
    cudaUserObjectRelease,
);

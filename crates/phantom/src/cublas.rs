//! cuBLAS. Products are not computed; their workspaces are PyTorch's own allocations, so nothing is lost by that.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::code::{Code, SUCCESS, put};
use crate::library::succeed;
use crate::order;

type Handle = *mut c_void;

/// What a handle remembers: where scalars are read from (host or card), and which mathematics is allowed.
#[derive(Clone, Copy, Default)]
struct Modes {
    pointer: c_int,
    math: c_int,
}

fn modes() -> MutexGuard<'static, BTreeMap<usize, Modes>> {
    static MODES: Mutex<BTreeMap<usize, Modes>> = Mutex::new(BTreeMap::new());
    // Each change is one assignment; what a dead thread left is whole.
    MODES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A handle that no other has.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasCreate_v2(at: *mut Handle) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, order::handle() as Handle) }
}

/// Forgets a handle.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasDestroy_v2(handle: Handle) -> Code {
    modes().remove(&(handle as usize));
    SUCCESS
}

/// The mathematics that was chosen.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasGetMathMode(handle: Handle, at: *mut c_int) -> Code {
    let mode = modes().get(&(handle as usize)).copied().unwrap_or_default().math;
    // SAFETY: the caller's pointer.
    unsafe { put(at, mode) }
}

/// Chooses the mathematics.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasSetMathMode(handle: Handle, mode: c_int) -> Code {
    modes().entry(handle as usize).or_default().math = mode;
    SUCCESS
}

/// Where scalars are read from.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasGetPointerMode_v2(handle: Handle, at: *mut c_int) -> Code {
    let mode = modes().get(&(handle as usize)).copied().unwrap_or_default().pointer;
    // SAFETY: the caller's pointer.
    unsafe { put(at, mode) }
}

/// Chooses where scalars are read from.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasSetPointerMode_v2(handle: Handle, mode: c_int) -> Code {
    modes().entry(handle as usize).or_default().pointer = mode;
    SUCCESS
}

succeed!(
    cublasCaxpy_v2,
    cublasCcopy_v2,
    cublasCdotc_v2,
    cublasCdotu_v2,
    cublasCgelsBatched,
    cublasCgemmBatched,
    cublasCgemmStridedBatched,
    cublasCgemm_v2,
    cublasCgemv_v2,
    cublasCgeqrfBatched,
    cublasCgerc_v2,
    cublasCgeru_v2,
    cublasCgetrfBatched,
    cublasCgetrsBatched,
    cublasChemm_v2,
    cublasChemv_v2,
    cublasCher2_v2,
    cublasCher2k_v2,
    cublasCher_v2,
    cublasCherk_v2,
    cublasCrot_v2,
    cublasCrotg_v2,
    cublasCscal_v2,
    cublasCsrot_v2,
    cublasCsscal_v2,
    cublasCswap_v2,
    cublasCsymm_v2,
    cublasCsymv_v2,
    cublasCsyr2_v2,
    cublasCsyr2k_v2,
    cublasCsyr_v2,
    cublasCsyrk_v2,
    cublasCtrmm_v2,
    cublasCtrmv_v2,
    cublasCtrsmBatched,
    cublasCtrsm_v2,
    cublasCtrsv_v2,
    cublasDasum_v2,
    cublasDaxpy_v2,
    cublasDcopy_v2,
    cublasDdot_v2,
    cublasDgelsBatched,
    cublasDgemmBatched,
    cublasDgemmStridedBatched,
    cublasDgemm_v2,
    cublasDgemv_v2,
    cublasDgeqrfBatched,
    cublasDger_v2,
    cublasDgetrfBatched,
    cublasDgetrsBatched,
    cublasDnrm2_v2,
    cublasDotEx,
    cublasDrot_v2,
    cublasDrotg_v2,
    cublasDrotm_v2,
    cublasDrotmg_v2,
    cublasDscal_v2,
    cublasDswap_v2,
    cublasDsymm_v2,
    cublasDsymv_v2,
    cublasDsyr2_v2,
    cublasDsyr2k_v2,
    cublasDsyr_v2,
    cublasDsyrk_v2,
    cublasDtrmm_v2,
    cublasDtrmv_v2,
    cublasDtrsmBatched,
    cublasDtrsm_v2,
    cublasDtrsv_v2,
    cublasDzasum_v2,
    cublasDznrm2_v2,
    cublasGemmEx,
    cublasGemmStridedBatchedEx,
    cublasGetMatrixAsync,
    cublasGetVectorAsync,
    cublasIcamax_v2,
    cublasIcamin_v2,
    cublasIdamax_v2,
    cublasIdamin_v2,
    cublasIsamax_v2,
    cublasIsamin_v2,
    cublasIzamax_v2,
    cublasIzamin_v2,
    cublasSasum_v2,
    cublasSaxpy_v2,
    cublasScasum_v2,
    cublasScnrm2_v2,
    cublasScopy_v2,
    cublasSdot_v2,
    cublasSetMatrixAsync,
    cublasSetSmCountTarget,
    cublasSetStream_v2,
    cublasSetVectorAsync,
    cublasSetWorkspace_v2,
    cublasSgelsBatched,
    cublasSgemmBatched,
    cublasSgemmEx,
    cublasSgemmStridedBatched,
    cublasSgemm_v2,
    cublasSgemv_v2,
    cublasSgeqrfBatched,
    cublasSger_v2,
    cublasSgetrfBatched,
    cublasSgetrsBatched,
    cublasSnrm2_v2,
    cublasSrot_v2,
    cublasSrotg_v2,
    cublasSrotm_v2,
    cublasSrotmg_v2,
    cublasSscal_v2,
    cublasSswap_v2,
    cublasSsymm_v2,
    cublasSsymv_v2,
    cublasSsyr2_v2,
    cublasSsyr2k_v2,
    cublasSsyr_v2,
    cublasSsyrk_v2,
    cublasStrmm_v2,
    cublasStrmv_v2,
    cublasStrsmBatched,
    cublasStrsm_v2,
    cublasStrsv_v2,
    cublasZaxpy_v2,
    cublasZcopy_v2,
    cublasZdotc_v2,
    cublasZdotu_v2,
    cublasZdrot_v2,
    cublasZdscal_v2,
    cublasZgelsBatched,
    cublasZgemmBatched,
    cublasZgemmStridedBatched,
    cublasZgemm_v2,
    cublasZgemv_v2,
    cublasZgeqrfBatched,
    cublasZgerc_v2,
    cublasZgeru_v2,
    cublasZgetrfBatched,
    cublasZgetrsBatched,
    cublasZhemm_v2,
    cublasZhemv_v2,
    cublasZher2_v2,
    cublasZher2k_v2,
    cublasZher_v2,
    cublasZherk_v2,
    cublasZrot_v2,
    cublasZrotg_v2,
    cublasZscal_v2,
    cublasZswap_v2,
    cublasZsymm_v2,
    cublasZsymv_v2,
    cublasZsyr2_v2,
    cublasZsyr2k_v2,
    cublasZsyr_v2,
    cublasZsyrk_v2,
    cublasZtrmm_v2,
    cublasZtrmv_v2,
    cublasZtrsmBatched,
    cublasZtrsm_v2,
    cublasZtrsv_v2,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_distinct_and_remember_their_modes() {
        let (mut first, mut second) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: pointers to variables of this function.
        unsafe {
            assert_eq!(cublasCreate_v2(&raw mut first), SUCCESS);
            assert_eq!(cublasCreate_v2(&raw mut second), SUCCESS);
        }
        assert_ne!(first, second);
        cublasSetMathMode(first, 3);
        cublasSetPointerMode_v2(second, 1);
        let mut seen = [9; 4];
        // SAFETY: pointers to elements of an array of this function.
        unsafe {
            cublasGetMathMode(first, &raw mut seen[0]);
            cublasGetMathMode(second, &raw mut seen[1]);
            cublasGetPointerMode_v2(first, &raw mut seen[2]);
            cublasGetPointerMode_v2(second, &raw mut seen[3]);
        }
        assert_eq!(seen, [3, 0, 0, 1]);
        assert_eq!(cublasDestroy_v2(first), SUCCESS);
    }
}

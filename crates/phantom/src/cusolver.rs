//! cuSOLVER. Nothing is decomposed. What a decomposition works in was measured on an H200 for square matrices of single
//! precision (`gpu/measure_libraries.py`); between two sizes it is taken to grow as the number of elements does. What was not
//! measured is refused (functions.txt).

use std::ffi::{c_int, c_void};

use crate::answer::{answer, offer};
use crate::code::{Code, SUCCESS};
use crate::store::{Handle, handle};

/// `CUSOLVER_STATUS_INVALID_VALUE`.
const INVALID_VALUE: Code = 3;

/// Writes an answer that the caller must want.
///
/// # Safety
/// As for [`offer`].
unsafe fn put<T>(at: *mut T, value: T) -> Code {
    // SAFETY: as for `offer`.
    if unsafe { offer(at, value) } { SUCCESS } else { INVALID_VALUE }
}

/// Memory of the card, or a descriptor that is not looked at.
type Ignored = *const c_void;
/// Bytes by the side of a matrix of single precision.
type Measured = &'static [(u64, u64)];

const LU: Measured =
    &[(32, 768), (64, 1280), (128, 2304), (256, 4352), (512, 8448), (1024, 12_544), (2048, 52_480)];
const CHOLESKY: Measured = &[(64, 160), (128, 192), (256, 384), (512, 1152), (1024, 4224), (2048, 16_512)];
const QR: Measured = &[(256, 3_145_856), (512, 4_194_432), (1024, 6_291_584), (2048, 10_485_888)];
const MAKE_Q: Measured = &[
    (8, 132_352),
    (16, 133_120),
    (32, 136_192),
    (64, 148_480),
    (128, 263_168),
    (256, 459_776),
    (512, 852_992),
    (1024, 1_639_424),
    (2048, 3_212_288),
];
const EIGEN: Measured = &[(8, 287_820), (16, 314_636), (1024, 17_429_388), (2048, 68_281_228)];
const EIGEN_JACOBI: Measured = &[(32, 12_436), (64, 29_000), (128, 86_800), (256, 301_088), (512, 1_124_416)];
/// For each matrix.
const EIGEN_BATCHED: Measured = &[(8, 287_476), (16, 314_324), (32, 372_628)];
const SINGULAR_JACOBI: Measured = &[
    (32, 3968),
    (64, 53_632),
    (128, 168_832),
    (256, 596_096),
    (512, 2_238_592),
    (1024, 8_675_456),
    (2048, 34_156_800),
];
const SINGULAR_BATCHED: Measured = &[(32, 3968)];

/// The bytes for a side of this length.
fn bytes(measured: Measured, side: u64) -> u64 {
    let above = measured.iter().position(|(known, _)| side <= *known);
    match (above.map(|at| (at, measured[at])), measured.last()) {
        (Some((0, (_, bytes))), _) => bytes,
        (Some((at, (high, most))), _) => {
            let (low, least) = measured[at - 1];
            let (span, part) = (high * high - low * low, side * side - low * low);
            least + (most - least) * part / span
        }
        (None, Some((high, most))) => most * (side * side) / (high * high),
        (None, None) => 0,
    }
}

fn longest(sides: &[i64]) -> u64 {
    sides.iter().map(|side| u64::try_from(*side).unwrap_or(0)).max().unwrap_or(0)
}

/// The same in elements, of whatever type they are.
fn elements(measured: Measured, sides: &[c_int]) -> c_int {
    let sides: Vec<i64> = sides.iter().map(|side| i64::from(*side)).collect();
    c_int::try_from(bytes(measured, longest(&sides)).div_ceil(4)).unwrap_or(c_int::MAX)
}

/// The same in bytes, for elements of a `cudaDataType`.
fn sized(measured: Measured, sides: &[i64], kind: c_int) -> usize {
    let width = match kind {
        // Double precision, or complex of single.
        1 | 4 => 2,
        5 => 4,
        _ => 1,
    };
    usize::try_from(bytes(measured, longest(sides)) * width).unwrap_or(usize::MAX)
}

/// Functions that are there for each type of elements, and answer alike.
macro_rules! sizes {
    ($( [$($name:ident)*] $arguments:tt = $value:expr; )*) => { $( sizes!(@each [$($name)*] $arguments $value); )* };
    (@each [$($name:ident)*] $arguments:tt $value:expr) => { $( sizes!(@one $name $arguments $value); )* };
    (@one $name:ident ($($argument:tt: $type:ty),*) $value:expr) => {
        answer! { fn $name($($argument: $type,)* at: *mut c_int) { *at = $value; } }
    };
}

answer! {
    fn cusolverDnCreate(at: *mut Handle) { *at = handle(); }

    fn cusolverDnCreateParams(at: *mut Handle) { *at = handle(); }

    fn cusolverDnCreateGesvdjInfo(at: *mut Handle) { *at = handle(); }

    fn cusolverDnCreateSyevjInfo(at: *mut Handle) { *at = handle(); }

    fn cusolverDnXpotrf_bufferSize(
        _: Handle, _: Handle, _: c_int, side: i64, kind: c_int, _: Ignored, _: i64, _: c_int, at: *mut usize, host: *mut usize,
    ) {
        *at = sized(CHOLESKY, &[side], kind);
        *host = 0;
    }

    fn cusolverDnXgeqrf_bufferSize(
        _: Handle, _: Handle, rows: i64, columns: i64, kind: c_int, _: Ignored, _: i64, _: c_int, _: Ignored, _: c_int,
        at: *mut usize, host: *mut usize,
    ) {
        *at = sized(QR, &[rows, columns], kind);
        *host = 0;
    }

    fn cusolverDnXsyevd_bufferSize(
        _: Handle, _: Handle, _: c_int, _: c_int, side: i64, kind: c_int, _: Ignored, _: i64, _: c_int, _: Ignored, _: c_int,
        at: *mut usize, host: *mut usize,
    ) {
        *at = sized(EIGEN, &[side], kind);
        *host = 0;
    }

    fn cusolverDnXsyevBatched_bufferSize(
        _: Handle, _: Handle, _: c_int, _: c_int, side: i64, kind: c_int, _: Ignored, _: i64, _: c_int, _: Ignored, _: c_int,
        at: *mut usize, host: *mut usize, batch: i64,
    ) {
        *at = sized(EIGEN_BATCHED, &[side], kind).saturating_mul(usize::try_from(batch).unwrap_or(0));
        *host = 0;
    }
}

sizes! {
    [cusolverDnSgetrf_bufferSize cusolverDnDgetrf_bufferSize cusolverDnCgetrf_bufferSize cusolverDnZgetrf_bufferSize]
        (_: Handle, rows: c_int, columns: c_int, _: Ignored, _: c_int) = elements(LU, &[rows, columns]);

    [cusolverDnSorgqr_bufferSize cusolverDnDorgqr_bufferSize cusolverDnCungqr_bufferSize cusolverDnZungqr_bufferSize]
        (_: Handle, rows: c_int, columns: c_int, _: c_int, _: Ignored, _: c_int, _: Ignored)
        = elements(MAKE_Q, &[rows, columns]);

    [cusolverDnSsyevj_bufferSize cusolverDnDsyevj_bufferSize cusolverDnCheevj_bufferSize cusolverDnZheevj_bufferSize]
        (_: Handle, _: c_int, _: c_int, side: c_int, _: Ignored, _: c_int, _: Ignored) = elements(EIGEN_JACOBI, &[side]);

    [cusolverDnSsyevjBatched_bufferSize cusolverDnDsyevjBatched_bufferSize cusolverDnCheevjBatched_bufferSize
     cusolverDnZheevjBatched_bufferSize]
        (_: Handle, _: c_int, _: c_int, side: c_int, _: Ignored, _: c_int, _: Ignored) = elements(EIGEN_JACOBI, &[side]);

    [cusolverDnSgesvdj_bufferSize cusolverDnDgesvdj_bufferSize cusolverDnCgesvdj_bufferSize cusolverDnZgesvdj_bufferSize]
        (_: Handle, _: c_int, _: c_int, rows: c_int, columns: c_int, _: Ignored, _: c_int, _: Ignored, _: Ignored, _: c_int,
         _: Ignored, _: c_int) = elements(SINGULAR_JACOBI, &[rows, columns]);

    [cusolverDnSgesvdjBatched_bufferSize cusolverDnDgesvdjBatched_bufferSize cusolverDnCgesvdjBatched_bufferSize
     cusolverDnZgesvdjBatched_bufferSize]
        (_: Handle, _: c_int, rows: c_int, columns: c_int, _: Ignored, _: c_int, _: Ignored, _: Ignored, _: c_int, _: Ignored,
         _: c_int) = elements(SINGULAR_BATCHED, &[rows, columns]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_sizes_it_grows_as_the_elements_do() {
        assert_eq!([8, 32, 64, 2048].map(|side| bytes(LU, side)), [768, 768, 1280, 52_480]);
        let (low, high) = (bytes(SINGULAR_JACOBI, 1024), bytes(SINGULAR_JACOBI, 2048));
        assert_eq!(
            bytes(SINGULAR_JACOBI, 1619),
            low + (high - low) * (1619 * 1619 - 1024 * 1024) / (3 * 1024 * 1024)
        );
        assert_eq!(bytes(SINGULAR_JACOBI, 4096), 4 * high);
    }

    #[test]
    fn the_type_of_elements_counts_where_bytes_are_told() {
        assert_eq!((sized(EIGEN, &[1024], 0), sized(EIGEN, &[1024], 5)), (17_429_388, 4 * 17_429_388));
        assert_eq!(elements(LU, &[16, 64]), 320);
    }
}

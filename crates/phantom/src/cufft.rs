//! cuFFT. Nothing is transformed. What a transform works in is told by a rule that was found in 387 transforms of an H200, of
//! one, two and three dimensions (`gpu/measure_libraries.py`). It has all of them to a KiB, but for lengths with large
//! prime factors, where it is within a tenth.

use std::ffi::{c_int, c_longlong};

use crate::answer::{answer, offer};
use crate::code::{Code, SUCCESS};
use crate::store::handle;

/// `CUFFT_INVALID_VALUE`.
const INVALID_VALUE: Code = 4;

/// Writes an answer that the caller must want.
///
/// # Safety
/// As for [`offer`].
unsafe fn put<T>(at: *mut T, value: T) -> Code {
    // SAFETY: as for `offer`.
    if unsafe { offer(at, value) } { SUCCESS } else { INVALID_VALUE }
}

answer! {
    /// Plans are numbers; nothing is kept of them.
    fn cufftCreate(at: *mut c_int) { *at = handle() as usize as c_int; }
}

/// Makes a plan for a number of transforms of some dimensions, and tells what it works in.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cufftXtMakePlanMany(
    _: c_int,
    rank: c_int,
    dims: *const c_longlong,
    _: *const c_longlong,
    _: c_longlong,
    _: c_longlong,
    input: c_int,
    _: *const c_longlong,
    _: c_longlong,
    _: c_longlong,
    output: c_int,
    batch: c_longlong,
    at: *mut usize,
    _: c_int,
) -> Code {
    let rank = usize::try_from(rank).ok().filter(|rank| (1..=3).contains(rank));
    let Some(rank) = rank.filter(|_| !dims.is_null()) else { return INVALID_VALUE };
    let natural = |number: c_longlong| u64::try_from(number).unwrap_or(0);
    // SAFETY: the caller's array of `rank` dimensions.
    let dims: Vec<u64> = (0..rank).map(|at| natural(unsafe { dims.add(at).read_unaligned() })).collect();
    let is_real = [input, output].iter().any(|kind| matches!(kind, 0..=2));
    let bytes = works_in(&dims, natural(batch), is_real, width(input).max(width(output)));
    // SAFETY: the caller's pointer.
    unsafe { put(at, usize::try_from(bytes).unwrap_or(usize::MAX)) }
}

/// Bytes of a complex number of a `cudaDataType`, or of a pair of real ones.
fn width(kind: c_int) -> u64 {
    match kind {
        // Double precision.
        1 | 5 => 16,
        // Half.
        2 | 6 => 4,
        _ => 8,
    }
}

/// The longest transform that one kernel makes, and the longest real one whose result needs no row of its own.
const ONE_KERNEL: u64 = 16_384;
const IN_PLACE: u64 = 32_768;
/// Of so many transforms at once, one kernel makes longer ones: all processors have one to make.
const MANY: u64 = 132;
const ONE_KERNEL_OF_MANY: u64 = 32_768;
/// The longest real transforms whose length is no power of two that one kernel makes: of an even length, of an odd one.
const ONE_KERNEL_EVEN: u64 = 1024;
const ONE_KERNEL_ODD: u64 = 512;
/// Lengths with a larger prime factor become a convolution, unless they are short.
const LARGEST_FACTOR: u64 = 127;

/// What transforms of these dimensions work in; `width` is that of a complex number.
fn works_in(dims: &[u64], batch: u64, is_real: bool, width: u64) -> u64 {
    let (Some(last), Some(longest)) = (dims.last().copied(), dims.iter().max().copied()) else { return 0 };
    let all: u64 = dims.iter().product();
    let rows = batch * all / last.max(1);
    // Two transforms of an odd length are made as one.
    let pairs = if last % 2 == 1 { rows.max(2) } else { rows };
    if longest > ONE_KERNEL && largest_factor(longest) > LARGEST_FACTOR {
        // A convolution of the next power of two.
        let convolved = (2 * longest - 1).next_power_of_two() * width;
        return if is_real {
            pairs * (convolved / 2 + (last / 2 + 1) * width)
        } else {
            batch * all / longest * convolved
        };
    }
    let complex = if is_real { longest / 2 } else { longest };
    if rows >= MANY && dims.iter().all(|dim| dim.is_power_of_two()) && complex <= ONE_KERNEL_OF_MANY {
        return 0;
    }
    if !is_real {
        return if longest > ONE_KERNEL { batch * all * width } else { 0 };
    }
    if last % 2 == 1 {
        let is_short = dims.len() == 1 && last <= ONE_KERNEL_ODD;
        return if is_short { 0 } else { batch.max(2) * all * width };
    }
    if last > IN_PLACE {
        return rows * (last / 2 + 1) * width;
    }
    let most = if last.is_power_of_two() { ONE_KERNEL } else { ONE_KERNEL_EVEN };
    if last > most { batch * all * width / 2 } else { 0 }
}

fn largest_factor(number: u64) -> u64 {
    let (mut left, mut factor, mut largest) = (number, 2, 1);
    while factor * factor <= left {
        if left.is_multiple_of(factor) {
            left /= factor;
            largest = factor;
        } else {
            factor += 1;
        }
    }
    largest.max(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How far the rule is from what an H200 said, in bytes.
    fn off(dims: &[u64], batch: u64, is_real: bool, measured: u64) -> u64 {
        works_in(dims, batch, is_real, 8).abs_diff(measured)
    }

    #[test]
    fn transforms_work_in_what_was_measured() {
        let exact: [(&[u64], u64, bool, u64); 17] = [
            (&[1024], 500, true, 0),
            (&[1000], 500, true, 0),
            (&[1200], 500, true, 2_400_000),
            (&[1200], 500, false, 0),
            (&[16_000], 8, true, 512_000),
            (&[16_384], 8, true, 0),
            (&[32_768], 8, true, 1_048_576),
            (&[32_768], 500, false, 0),
            (&[65_536], 8, true, 2_097_216),
            (&[65_536], 500, true, 0),
            (&[44_100], 8, true, 1_411_264),
            (&[44_100], 8, false, 2_822_400),
            (&[65_536], 500, false, 262_144_000),
            (&[1_048_576], 1, true, 4_194_312),
            (&[441], 500, true, 0),
            (&[421, 421], 16, false, 0),
            (&[20, 100, 100], 8, true, 0),
        ];
        for (dims, batch, is_real, measured) in exact {
            assert_eq!(off(dims, batch, is_real, measured), 0, "{dims:?} {batch} {is_real}");
        }
    }

    #[test]
    fn odd_lengths_are_known_to_a_kib_and_large_primes_to_a_tenth() {
        let odd: [(&[u64], u64, u64); 5] = [
            (&[1001], 1, 16_200),
            (&[1155], 500, 4_620_144),
            (&[33, 65], 1, 34_568),
            (&[33, 65], 640, 10_982_912),
            (&[421, 421], 640, 907_474_432),
        ];
        for (dims, batch, measured) in odd {
            assert!(off(dims, batch, true, measured) <= 1024, "{dims:?} {batch}");
        }
        for (batch, is_real, measured) in
            [(8, false, 16_797_696), (500, true, 655_960_016), (1, true, 2_625_544)]
        {
            assert!(off(&[65_537], batch, is_real, measured) <= measured / 10, "{batch} {is_real}");
        }
    }
}

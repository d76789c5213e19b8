//! NCCL. There is one rank of each communicator: the others are taken to do what it does, so that every collective is over
//! at once. PyTorch's own streams, events and buffers around them are the real ones.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::answer::{answer, offer, put};
use crate::code::{Code, SUCCESS};
use crate::known;
use crate::runtime::{cudaFree, cudaMalloc};
use crate::store::{Handle, Store};

/// `ncclInvalidArgument`.
const INVALID_ARGUMENT: Code = 4;

/// `ncclUniqueId`. It is passed by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct UniqueId([u8; 128]);

/// A communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ranks {
    /// How many there are.
    count: c_int,
    /// Which one this is.
    own: c_int,
}

static COMMUNICATORS: Store<Ranks> = Store::new();
static MADE: AtomicI32 = AtomicI32::new(0);

fn ranks(communicator: Handle) -> Ranks {
    COMMUNICATORS.get(communicator).unwrap_or(Ranks { count: 1, own: 0 })
}

/// Makes a communicator.
///
/// # Safety
/// As for [`put`].
unsafe fn join(at: *mut Handle, count: c_int, own: c_int) -> Code {
    if at.is_null() || count < 1 || !(0..count).contains(&own) {
        return INVALID_ARGUMENT;
    }
    MADE.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the caller of this function vouches for it.
    unsafe { put(at, COMMUNICATORS.create(Ranks { count, own })) }
}

/// How many communicators this process has made: each takes memory of a real card.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn oomph_phantom_communicators() -> c_int {
    MADE.load(Ordering::Relaxed)
}

/// Bytes of an element, by its kind's number.
fn width(kind: c_int) -> usize {
    match kind {
        2 | 3 | 7 => 4,
        4 | 5 | 8 => 8,
        6 | 9 => 2,
        _ => 1,
    }
}

answer! {
    /// All worlds have one name: nobody else joins them.
    fn ncclGetUniqueId(at: *mut UniqueId) { *at = UniqueId([0; 128]); }

    fn ncclCommCount(communicator: Handle, at: *mut c_int) { *at = ranks(communicator).count; }

    fn ncclCommUserRank(communicator: Handle, at: *mut c_int) { *at = ranks(communicator).own; }

    /// Nothing goes wrong.
    fn ncclCommGetAsyncError(_: Handle, at: *mut Code) { *at = SUCCESS; }

    /// An operator behind NCCL's own five.
    fn ncclRedOpCreatePreMulSum(at: *mut c_int) { *at = 5; }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommInitRank(
    at: *mut Handle,
    count: c_int,
    _: UniqueId,
    own: c_int,
) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { join(at, count, own) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommInitRankConfig(
    at: *mut Handle,
    count: c_int,
    _: UniqueId,
    own: c_int,
    _: *const c_void,
) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { join(at, count, own) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommInitRankScalable(
    at: *mut Handle,
    count: c_int,
    own: c_int,
    _: c_int,
    _: *const UniqueId,
    _: *const c_void,
) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { join(at, count, own) }
}

/// A part of a communicator. How many ranks it has only the others could tell: PyTorch knows it by itself. A rank without
/// a colour is in no part.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommSplit(
    from: Handle,
    colour: c_int,
    _: c_int,
    at: *mut Handle,
    _: *const c_void,
) -> Code {
    let Ranks { count, own } = ranks(from);
    if colour < 0 {
        // SAFETY: the caller's pointer.
        unsafe { offer(at, std::ptr::null_mut()) };
        return SUCCESS;
    }
    // SAFETY: the caller's pointer.
    unsafe { join(at, count, own) }
}

/// Memory that NCCL would register with the network.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclMemAlloc(at: *mut Handle, size: usize) -> Code {
    // SAFETY: passed on as it came.
    unsafe { cudaMalloc(at, size) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclMemFree(address: Handle) -> Code {
    cudaFree(address)
}

/// The handle of a buffer that is registered.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ncclCommRegister(
    _: Handle,
    buffer: Handle,
    _: usize,
    at: *mut Handle,
) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, buffer) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommDestroy(communicator: Handle) -> Code {
    COMMUNICATORS.destroy(communicator);
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclCommAbort(communicator: Handle) -> Code {
    ncclCommDestroy(communicator)
}

/// Everyone has what the root has, which is what this rank has.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclBroadcast(from: Handle, to: Handle, count: usize, kind: c_int) -> Code {
    known::share(to as u64, from as u64, count.saturating_mul(width(kind)), 1);
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclBcast(at: Handle, count: usize, kind: c_int) -> Code {
    ncclBroadcast(at, at, count, kind)
}

/// A sum is taken to be what this rank has of it.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclAllReduce(from: Handle, to: Handle, count: usize, kind: c_int) -> Code {
    ncclBroadcast(from, to, count, kind)
}

/// From every rank what this one has.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclAllGather(
    from: Handle,
    to: Handle,
    count: usize,
    kind: c_int,
    communicator: Handle,
) -> Code {
    let times = usize::try_from(ranks(communicator).count).unwrap_or(1);
    known::share(to as u64, from as u64, count.saturating_mul(width(kind)), times);
    SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_joins_a_world_that_is_not_there() {
        let mut world = std::ptr::null_mut();
        let (mut count, mut own) = (0, 0);
        let name = UniqueId([0; 128]);
        // SAFETY: pointers to variables of this function.
        unsafe {
            assert_eq!(ncclCommInitRankConfig(&raw mut world, 64, name, 63, std::ptr::null()), SUCCESS);
            assert_eq!(ncclCommCount(world, &raw mut count), SUCCESS);
            assert_eq!(ncclCommUserRank(world, &raw mut own), SUCCESS);
            assert_eq!(ncclCommInitRank(&raw mut world, 8, name, 8), INVALID_ARGUMENT);
        }
        assert_eq!((count, own), (64, 63));
    }
}

//! Small contents of the card that can be known: what was copied there from the host and then went through a collective, and
//! what this process is told that it will read.
//!
//! A rank asks others what they have (DDP: the sizes of parameters, the order of buckets) and reads the answer back. The
//! other ranks are not there. They run the same program, so each is taken to answer what this one has.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The longest piece that is kept.
const LONGEST: usize = 64 << 10;
/// The most pieces that are kept; the lowest addresses go first.
const MOST: usize = 4096;

/// A piece of the card's memory.
struct Piece {
    bytes: Vec<u8>,
    /// Whether a collective wrote it: only then is it read back.
    is_shared: bool,
}

fn pieces() -> MutexGuard<'static, BTreeMap<u64, Piece>> {
    static PIECES: Mutex<BTreeMap<u64, Piece>> = Mutex::new(BTreeMap::new());
    // Each change is one insertion or removal, so the map is whole even if a thread died while it held the lock.
    PIECES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep(pieces: &mut BTreeMap<u64, Piece>, at: u64, piece: Piece) {
    pieces.insert(at, piece);
    if pieces.len() > MOST {
        pieces.pop_first();
    }
}

fn part(pieces: &BTreeMap<u64, Piece>, at: u64, count: usize) -> Option<(&[u8], bool)> {
    let (first, piece) = pieces.range(..=at).next_back()?;
    let from = usize::try_from(at - first).ok()?;
    let bytes = piece.bytes.get(from..from.checked_add(count)?)?;
    Some((bytes, piece.is_shared))
}

/// Something was copied to the card. Only what is short is looked at: large tensors may have no contents at all.
///
/// # Safety
/// `from` points to `count` bytes that the caller may read.
pub(crate) unsafe fn write(at: u64, from: *const u8, count: usize) {
    let mut pieces = pieces();
    if count <= LONGEST {
        let mut bytes = vec![0; count];
        // SAFETY: the caller vouches for the source; the copy is as long.
        unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping(from, count) };
        keep(&mut pieces, at, Piece { bytes, is_shared: false });
    } else {
        pieces.remove(&at);
    }
}

/// Something was copied within the card.
pub(crate) fn copy(to: u64, from: u64, count: usize) {
    let mut pieces = pieces();
    let found = part(&pieces, from, count).map(|(bytes, is_shared)| (bytes.to_vec(), is_shared));
    match found {
        Some((bytes, is_shared)) => keep(&mut pieces, to, Piece { bytes, is_shared }),
        None => drop(pieces.remove(&to)),
    }
}

/// A collective wrote to `to`, from each of `ranks` what this rank has at `from`, one after the other.
pub(crate) fn share(to: u64, from: u64, count: usize, ranks: usize) {
    let mut pieces = pieces();
    let found = part(&pieces, from, count).map(|(bytes, _)| bytes.repeat(ranks));
    match found {
        Some(bytes) if bytes.len() <= LONGEST => keep(&mut pieces, to, Piece { bytes, is_shared: true }),
        _ => drop(pieces.remove(&to)),
    }
}

/// What is read now, where that is known.
static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// From now on, whatever piece of so many bytes is read from the card is this. Of eight bytes the first four will do: a number,
/// of whichever size. With a length of 0, none is known any more.
///
/// # Safety
/// `bytes` points to `count` bytes that the caller may read.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn oomph_phantom_answer(bytes: *const u8, count: usize) {
    let mut answer = vec![0; count];
    if count > 0 {
        // SAFETY: the caller vouches for the source; the copy is as long.
        unsafe { answer.as_mut_ptr().copy_from_nonoverlapping(bytes, count) };
    }
    *ANSWER.lock().unwrap_or_else(PoisonError::into_inner) = answer;
}

/// The answer to a question of so many bytes, if it was told.
fn answered(count: usize) -> Option<Vec<u8>> {
    let answer = ANSWER.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = count > 0 && (answer.len() == count || (answer.len() == 8 && count == 4));
    is_it.then(|| answer[..count].to_vec())
}

/// What is read back from the card, where it was told; once, where a collective wrote it.
pub(crate) fn read(at: u64, count: usize) -> Option<Vec<u8>> {
    let answer = answered(count);
    if answer.is_some() {
        return answer;
    }
    let mut pieces = pieces();
    let bytes = part(&pieces, at, count).filter(|(_, is_shared)| *is_shared).map(|(bytes, _)| bytes.to_vec());
    if bytes.is_some() {
        // Whatever is there later may be another program's.
        pieces.remove(&at);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_through_a_collective_is_read_back_once() {
        let (own, all, one) = (0x2000_0000_1000, 0x2000_0000_2000, 0x2000_0000_3000);
        let (short, long) = ([1, 2], vec![0; LONGEST + 1]);
        // SAFETY: an array of this function, and its length.
        unsafe { write(own, short.as_ptr(), 2) };
        assert_eq!(read(own, 2), None, "no collective wrote it");
        share(all, own, 2, 3);
        copy(one, all + 2, 2);
        assert_eq!(read(all, 6), Some(vec![1, 2, 1, 2, 1, 2]));
        assert_eq!((read(all, 6), read(one, 2), read(one, 2)), (None, Some(vec![1, 2]), None));
        // SAFETY: a vector of this function, and its length.
        unsafe { write(own, long.as_ptr(), long.len()) };
        share(all, own, 2, 1);
        assert_eq!(read(all, 2), None, "too long to be kept");
    }

    #[test]
    fn what_was_told_is_read_by_whoever_reads_as_much() {
        let at = 0x2000_0001_0000;
        // SAFETY: eight bytes of a number of this function.
        unsafe { oomph_phantom_answer(7_u64.to_ne_bytes().as_ptr(), 8) };
        assert_eq!((read(at, 16), read(at, 4)), (None, Some(vec![7, 0, 0, 0])));
        assert_eq!(read(at, 8), Some(vec![7, 0, 0, 0, 0, 0, 0, 0]));
        // SAFETY: nothing is read.
        unsafe { oomph_phantom_answer(std::ptr::null(), 0) };
        assert_eq!(read(at, 8), None);
    }
}

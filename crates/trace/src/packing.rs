//! Files as people keep them: plain, or packed with gzip or zstd.

use std::io::{self, Read};

use crate::pickle::Source;

/// The input, unpacked if its first bytes say that it is packed.
pub fn unpacked<R: Read>(input: R) -> io::Result<impl Read> {
    Source::open(input)
}

/// Whether a file that begins with `head`, plain or packed, is a pickle. A few hundred bytes are enough.
pub fn begins_as_pickle(head: &[u8]) -> bool {
    const PROTO: u8 = 0x80;
    const LATEST: u8 = 5;
    let mut start = [0; 2];
    // A file that is cut off is fine here: only the first two bytes matter.
    let read = Source::open(head).and_then(|mut unpacked| unpacked.read_exact(&mut start));
    read.is_ok() && start[0] == PROTO && start[1] <= LATEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pickle_is_known_by_its_first_bytes_however_it_is_packed() {
        let plain = b"\x80\x04]\x94.".repeat(300);
        let mut gzip = flate2::read::GzEncoder::new(plain.as_slice(), flate2::Compression::default());
        let mut packed = Vec::new();
        gzip.read_to_end(&mut packed).unwrap();
        let zstd = zstd::encode_all(plain.as_slice(), 1).unwrap();
        for bytes in [&plain, &packed, &zstd] {
            assert!(begins_as_pickle(bytes));
        }
        for bytes in [&b""[..], b"\x80", b"RuntimeError: CUDA out of memory", b"\x1f\x8b", b"\x80\x07"] {
            assert!(!begins_as_pickle(bytes), "{bytes:?}");
        }
    }
}

//! Files that people give by mistake, recognised by their first bytes.

use crate::error::ReadError;

const KINDS: [(&[u8], &str); 10] = [
    (
        b"PK\x03\x04",
        "the file is a zip archive, as torch.save writes (a checkpoint): \
         give the file written by torch.cuda.memory._dump_snapshot, or unzip it first",
    ),
    (b"{", JSON),
    (b"[", JSON),
    (b"<", "the file is HTML, perhaps a viewer page or a failed download: give the .pickle it was made from"),
    (
        b"version https://git-lfs",
        "the file is a Git LFS pointer, not the snapshot itself: run `git lfs pull`",
    ),
    (b"\xfd7zXZ\0", "the file is packed with xz: unpack it first (gzip and zstd are read as they are)"),
    (b"BZh", "the file is packed with bzip2: unpack it first (gzip and zstd are read as they are)"),
    (
        b"\x04\x22\x4d\x18",
        "the file is packed with lz4: unpack it first (gzip and zstd are read as they are)",
    ),
    (b"\x1f\x8b", "the file is packed twice: unpack it once first"),
    (b"\x28\xb5\x2f\xfd", "the file is packed twice: unpack it once first"),
];

const JSON: &str = "the file is JSON, perhaps a profiler's trace: \
    give the .pickle written by torch.cuda.memory._dump_snapshot";

/// What an unpacked file is that does not begin like a pickle.
pub(super) fn explain(start: &[u8]) -> ReadError {
    let text = start.trim_ascii_start();
    match KINDS.iter().find(|(magic, _)| start.starts_with(magic) || text.starts_with(magic)) {
        Some((_, hint)) => ReadError::Foreign { hint },
        None => start.first().map_or(ReadError::Empty, |&byte| ReadError::NotPickle { byte }),
    }
}

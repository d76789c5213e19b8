//! The space of a file system, for `/dev/shm`.

use std::path::Path;

use oomph_diagnose::results::status::Space;
use oomph_trace::Bytes;

/// The space of the file system that holds `path`; `None` where it cannot be asked.
pub fn space(path: &Path) -> Option<Space> {
    let found = rustix::fs::statvfs(path).ok()?;
    let bytes = |blocks: u64| Bytes(blocks.saturating_mul(found.f_frsize));
    Some(Space { total: bytes(found.f_blocks), free: bytes(found.f_bavail) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_has_space_and_a_missing_path_has_none() {
        let here = space(Path::new(".")).expect("the current folder is on a file system");
        assert!(here.free <= here.total && here.total.0 > 0, "{here:?}");
        assert_eq!(space(Path::new("/no/such/folder")), None);
    }
}

//! The folder that brings the recorder into every Python process below `oomph run`: it is put in front of PYTHONPATH,
//! and Python runs the `sitecustomize` in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}

/// The phantom's library, where this program carries one; it is written beside the recorder.
pub(crate) fn phantom(hook: &Path, name: &str) -> io::Result<Option<PathBuf>> {
    let Some(library) = embedded::PHANTOM else { return Ok(None) };
    let path = hook.join(name);
    write_if_different(&path, library)?;
    Ok(Some(path))
}

/// Writes what is missing or different, each file whole or not at all: other runs may be starting from the same folder.
pub(crate) fn install(oomph: &Path) -> io::Result<PathBuf> {
    let folder = oomph.join(concat!("hook-", env!("CARGO_PKG_VERSION")));
    for (name, text) in embedded::FILES {
        write_if_different(&folder.join(name), text.as_bytes())?;
    }
    Ok(folder)
}

fn write_if_different(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    crate::folder::write_atomically(path, bytes)
}

#[cfg(test)]
mod tests {
    use super::embedded::FILES;

    #[test]
    fn the_recorder_and_its_entrance_are_embedded() {
        let names: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        for needed in ["sitecustomize.py", "_oomph_recorder/__init__.py", "_oomph_plan/__init__.py"] {
            assert!(names.contains(&needed), "{needed} is not among {names:?}");
        }
    }
}

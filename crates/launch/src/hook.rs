//! The folder that brings the recorder into every Python process below `oomph run`: it is put in front of PYTHONPATH,
//! and Python runs the `sitecustomize` in it. Python would also import any other file that lies there, so it lies where
//! nobody else can put one: never in the directory of the run.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use oomph_machine::trust;
use rustix::process::geteuid;

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
pub(crate) fn install() -> io::Result<PathBuf> {
    let mut names = DefaultHasher::new();
    embedded::FILES.hash(&mut names);
    // Builds that differ have folders that differ, whatever version they say they are.
    let folder = cache()?.join(format!("hook-{}-{:08x}", env!("CARGO_PKG_VERSION"), names.finish() as u32));
    for (name, text) in embedded::FILES {
        write_if_different(&folder.join(name), text.as_bytes())?;
    }
    Ok(folder)
}

/// A folder of this user's, out of everybody's reach. Where the home cannot be written, or is another's because `sudo`
/// has kept the variable, one among the temporary files.
fn cache() -> io::Result<PathBuf> {
    let variable = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let places = [
        variable("XDG_CACHE_HOME").map(|cache| cache.join("oomph")),
        variable("HOME").map(|home| home.join(".cache").join("oomph")),
        Some(env::temp_dir().join(format!("oomph-{}", geteuid().as_raw()))),
        Some(PathBuf::from(format!("/tmp/oomph-{}", geteuid().as_raw()))),
    ];
    let mut why = io::Error::from(io::ErrorKind::NotFound);
    for place in places.into_iter().flatten() {
        match private(&place) {
            Ok(()) => return place.canonicalize(),
            Err(error) => why = error,
        }
    }
    Err(io::Error::new(why.kind(), format!("no folder for the recorder: {why}")))
}

fn private(place: &Path) -> io::Result<()> {
    // A colon ends a folder in PYTHONPATH.
    if place.as_os_str().as_encoded_bytes().contains(&b':') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "its name has a colon"));
    }
    let above = place.parent().unwrap_or(place);
    fs::create_dir_all(above)?;
    if !trust::is_out_of_reach(above) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "others may write there"));
    }
    trust::private_folder(place)
}

fn write_if_different(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    // Within a folder that is ours alone.
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    trust::write_whole(path, bytes)
}

#[cfg(test)]
mod tests {
    use super::embedded::FILES;

    #[test]
    fn the_recorder_and_its_entrance_are_embedded() {
        let names: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        for needed in [
            "sitecustomize.py",
            "_oomph_recorder/__init__.py",
            "_oomph_plan/__init__.py",
            "_oomph_measures/__init__.py",
        ] {
            assert!(names.contains(&needed), "{needed} is not among {names:?}");
        }
    }
}

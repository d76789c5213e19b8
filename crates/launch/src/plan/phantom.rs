//! Where the library of the phantom GPU is.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use super::cards::CardSpec;

/// Its name.
pub const LIBRARY: &str = "liboomph_phantom.so";

/// The variable that names it.
pub const VARIABLE: &str = "OOMPH_PHANTOM_LIB";

/// The library is nowhere to be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{LIBRARY} is not beside this program: install the package again, or name it with {VARIABLE}")]
pub struct NoPhantom;

/// The library: what the variable names, else beside this program (a build), else in the Python package that was
/// installed with it.
pub fn find() -> Result<PathBuf, NoPhantom> {
    if let Some(named) = env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        return if named.is_file() { Ok(named) } else { Err(NoPhantom) };
    }
    let program = env::current_exe().and_then(|path| path.canonicalize()).map_err(|_| NoPhantom)?;
    let beside = program.parent().ok_or(NoPhantom)?;
    let mut places = vec![beside.join(LIBRARY)];
    if let Some(root) = beside.parent() {
        let versions = std::fs::read_dir(root.join("lib")).into_iter().flatten().flatten();
        let packages =
            versions.map(|version| version.path().join("site-packages").join("oomph").join(LIBRARY));
        places.extend(packages);
    }
    places.into_iter().find(|path| path.is_file()).ok_or(NoPhantom)
}

/// What a process needs to see this card instead of a real one.
pub fn variables(library: &std::path::Path, card: &CardSpec) -> Vec<(&'static str, OsString)> {
    let mut preload = OsString::from(library);
    if let Some(had) = env::var_os("LD_PRELOAD").filter(|had| !had.is_empty()) {
        preload.push(":");
        preload.push(had);
    }
    vec![
        ("LD_PRELOAD", preload),
        ("OOMPH_PHANTOM", card.described().into()),
        // One card, whatever the machine has and the shell hides.
        ("CUDA_VISIBLE_DEVICES", "0".into()),
    ]
}

//! Where the library of the phantom GPU is.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use oomph_machine::trust;
use oomph_trace::phantom::{self, PhantomCard};

use crate::hook;

/// Its name.
pub const LIBRARY: &str = "liboomph_phantom.so";

/// The variable that names it.
pub const VARIABLE: &str = "OOMPH_PHANTOM_LIB";

/// The library is nowhere to be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{LIBRARY} is not beside this program: install the package again, or name it with {VARIABLE}")]
pub struct NoPhantom;

/// The library: what the variable names, else `packaged`, where the caller is a package that has one; else beside this
/// program (a build), else in the Python package that was installed with it, else the one that this program carries,
/// written into the folder of the recorder.
pub fn find(packaged: Option<&Path>, hook: &Path) -> Result<PathBuf, NoPhantom> {
    if let Some(named) = env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        // It is loaded into the program.
        return if trust::is_believed(&named) { Ok(named) } else { Err(NoPhantom) };
    }
    let mut places = packaged.map(Path::to_owned).into_iter().chain(installed());
    places
        .find(|path| path.is_file())
        .or_else(|| hook::phantom(hook, LIBRARY).ok().flatten())
        .ok_or(NoPhantom)
}

/// Where an installation puts it.
fn installed() -> Vec<PathBuf> {
    let program = env::current_exe().and_then(|path| path.canonicalize()).unwrap_or_default();
    let Some(beside) = program.parent() else { return Vec::new() };
    let root = beside.parent().map(|root| root.join("lib")).unwrap_or_default();
    let versions = std::fs::read_dir(root).into_iter().flatten().flatten();
    let packages = versions.map(|version| version.path().join("site-packages").join("oomph").join(LIBRARY));
    std::iter::once(beside.join(LIBRARY)).chain(packages).collect()
}

/// What a process needs to see this card instead of a real one.
pub fn variables(library: &Path, card: &PhantomCard) -> Vec<(&'static str, OsString)> {
    let numbers: Vec<String> = (0..card.devices).map(|number| number.to_string()).collect();
    let mut preload = OsString::from(library);
    if let Some(had) = env::var_os("LD_PRELOAD").filter(|had| !had.is_empty()) {
        preload.push(":");
        preload.push(had);
    }
    vec![
        ("LD_PRELOAD", preload),
        (phantom::VARIABLE, card.to_string().into()),
        // These cards, whatever the machine has and the shell hides.
        ("CUDA_VISIBLE_DEVICES", numbers.join(",").into()),
    ]
}

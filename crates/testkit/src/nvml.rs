//! NVML for a test: a copy of the fake library with a scenario written into it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use oomph_fake_nvml::{MARK, ROOM};

/// Writes a library into `folder` that answers as the scenario says ([`oomph_fake_nvml::Scenario`]) and lacks the
/// `hidden` functions. Returns its path.
pub fn library(folder: &Path, scenario: &str, hidden: &[&str]) -> io::Result<PathBuf> {
    let mut bytes = fs::read(built()?)?;
    let mut room = MARK.to_vec();
    room.resize(ROOM, 0);
    let at = bytes.windows(ROOM).position(|window| window == room).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, "the fake library has no room for a scenario")
    })?;
    let text = scenario.as_bytes();
    if text.len() >= ROOM - MARK.len() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the scenario is longer than the room for it",
        ));
    }
    bytes[at + MARK.len()..][..text.len()].copy_from_slice(text);
    for name in hidden {
        hide(&mut bytes, name);
    }
    let path = folder.join("libfake-nvml.so");
    fs::write(&path, bytes)?;
    Ok(path)
}

/// Where cargo puts the library that this crate depends on: beside the test that runs.
fn built() -> io::Result<PathBuf> {
    let test = std::env::current_exe()?;
    let folder = test.parent().unwrap_or(Path::new("."));
    let name = format!("{}oomph_fake_nvml{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    Ok(folder.join(name))
}

/// Renames a symbol in the library's tables, so that it cannot be found.
fn hide(bytes: &mut [u8], name: &str) {
    let wanted: Vec<u8> = [b"\0", name.as_bytes(), b"\0"].concat();
    let places: Vec<usize> = bytes
        .windows(wanted.len())
        .enumerate()
        .filter(|(_, window)| *window == wanted)
        .map(|(at, _)| at)
        .collect();
    for at in places {
        bytes[at + 1] = b'_';
    }
}

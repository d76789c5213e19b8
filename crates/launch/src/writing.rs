//! Files that are there whole or not at all.

use std::fs;
use std::io;
use std::path::Path;

/// Writes a file beside its place and moves it there: who reads it sees all of it, or what was there before.
pub(crate) fn whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}", std::process::id()));
    fs::write(&fresh, bytes)?;
    fs::rename(&fresh, path)
}

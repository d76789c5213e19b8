//! The user's browser, where there is one.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Whether a browser can be opened here: there is a screen, and somebody at it.
pub fn has_browser() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let has_screen = is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
    has_screen && !is_set("SSH_CONNECTION") && opener().is_some()
}

fn opener() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join("xdg-open")).find(|file| file.is_file())
}

/// Opens the address by way of a file that only this user can read, which leads on to it: what is on a command line can be
/// read by everybody. Gives the file, which may be removed once the browser has read it.
pub fn open(address: &str) -> io::Result<PathBuf> {
    let folder = env::var_os("XDG_RUNTIME_DIR").map_or_else(env::temp_dir, PathBuf::from);
    let path = folder.join(format!("oomph-view-{}.html", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    write!(file, "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=\"0;url={address}\">")?;
    let opener = opener().ok_or(io::ErrorKind::NotFound)?;
    let quiet = Stdio::null;
    Command::new(opener).arg(&path).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn()?;
    Ok(path)
}

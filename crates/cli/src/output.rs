//! Writing the result where the user says, and complaints to standard error.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use oomph_machine::trust;
use oomph_report::json;
use oomph_report::text::Colour;

use crate::args::{Common, When};

/// The most of a line that the next one takes the place of: one that is wrapped could not be taken back.
const COLUMNS: usize = 79;
/// How long the line is that stands there.
static SHOWN: AtomicUsize = AtomicUsize::new(0);

/// Writes the result to standard output, or to the file named with `-o`.
pub(crate) fn write(text: &str, common: &Common) -> Result<()> {
    if let Some(path) = &common.output {
        return write_file(path, text, common.force);
    }
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Writes results, one for each device, as text or as one document of JSON.
pub(crate) fn results<T, D: json::Serialize>(
    results: &[T],
    common: &Common,
    json: impl Fn(&T) -> D,
    text: impl Fn(&T, Colour) -> String,
) -> Result<()> {
    let shown = if common.json {
        json::document(results.iter().map(json))
    } else {
        let colour = colour(common);
        results.iter().map(|result| text(result, colour)).collect::<Vec<String>>().join("\n")
    };
    write(&shown, common)
}

/// Writes a file, which must not exist unless `force` is given.
pub(crate) fn write_file(path: &Path, text: &str, force: bool) -> Result<()> {
    write_bytes(path, text.as_bytes(), force)
}

/// Writes a file, whole or not at all: beside its place first, then it is moved there. It must not exist unless `force` is
/// given. What is no plain file, such as a pipe, is written as it is.
pub(crate) fn write_bytes(path: &Path, bytes: &[u8], force: bool) -> Result<()> {
    check_free(path, force)?;
    let name = path.display();
    let written = if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        fs::write(path, bytes)
    } else {
        // A link stays a link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        trust::write_for_user(&path, bytes, force)
    };
    written.map_err(|error| anyhow::anyhow!("cannot write {name}: {error}"))
}

/// Complains about a place where nothing can be written, or not without `force`.
pub(crate) fn check_free(path: &Path, force: bool) -> Result<()> {
    let name = path.display();
    if path.is_dir() {
        anyhow::bail!("{name} is a directory: name a file to write to");
    }
    if !force && path.symlink_metadata().is_ok() {
        anyhow::bail!("{name} exists: pass --force to overwrite it");
    }
    Ok(())
}

/// Whether the text is coloured: never in a file, and as `--color`, NO_COLOR and TERM say.
pub(crate) fn colour(common: &Common) -> Colour {
    colour_for(common, common.output.is_none() && io::stdout().is_terminal())
}

/// The same for what goes to standard error.
pub(crate) fn colour_of_errors(common: &Common) -> Colour {
    colour_for(common, io::stderr().is_terminal())
}

fn colour_for(common: &Common, is_terminal: bool) -> Colour {
    let on = match common.color {
        When::Always => true,
        When::Never => false,
        When::Auto => {
            let silenced = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
            is_terminal && !silenced && !dumb
        }
    };
    if on { Colour::On } else { Colour::Off }
}

/// Whether somebody pipes something into us, or redirects a file: a terminal and /dev/null are neither.
pub(crate) fn is_piped_into() -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata("/dev/stdin").is_ok_and(|given| given.is_file() || given.file_type().is_fifo())
}

/// One line on standard error.
pub(crate) fn complain(line: &str) {
    // Nothing is left to do where even standard error is gone.
    let _ = writeln!(io::stderr().lock(), "{}", Colour::Off.printable(line));
}

/// A text of whole lines on standard error.
pub(crate) fn complain_text(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// A remark on standard error, with `--verbose`.
pub(crate) fn remark(common: &Common, line: &str) {
    if common.verbose {
        complain(line);
    }
}

/// What is being done, on standard error: on a terminal one line that the next one takes the place of, with `--verbose` a
/// line for each, and nothing otherwise.
pub(crate) fn progress(common: &Common, line: &str) {
    if common.verbose {
        complain(&format!("oomph: {line}"));
    } else if shows_progress(common) {
        let line: String = Colour::Off.printable(&format!("oomph: {line}")).chars().take(COLUMNS).collect();
        show_over(&line);
    }
}

/// Takes the line away.
pub(crate) fn end_progress(common: &Common) {
    if shows_progress(common) {
        show_over("");
        let _ = write!(io::stderr().lock(), "\r");
    }
}

/// Writes a line over the one that stands there. What is left of that is covered by spaces: a notebook's cell shows what a
/// command writes as a terminal would, but knows no codes that erase.
fn show_over(line: &str) {
    let length = line.chars().count();
    let covered = SHOWN.swap(length, Ordering::Relaxed).max(length);
    let _ = write!(io::stderr().lock(), "\r{line:covered$}");
}

fn shows_progress(common: &Common) -> bool {
    !common.quiet
        && !common.verbose
        && io::stderr().is_terminal()
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether an error is that the reader of our output went away.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

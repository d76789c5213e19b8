//! Python files and notebooks under paths, and what a linter says of each, on all cores.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use oomph_lint::{FileResult, Kind, Rule, Unreadable, fixed, lint};
use rayon::prelude::*;

use crate::trust;

/// Folders that hold other people's code, or none.
const OTHERS: [&str; 8] =
    ["node_modules", "__pycache__", "site-packages", "build", "dist", "venv", "env", "_build"];
/// The longest file that is read.
const LONGEST: u64 = 64 << 20;

/// What is asked of the files.
pub struct Request<'a> {
    /// Rules that count.
    pub is_wanted: &'a (dyn Fn(Rule) -> bool + Sync),
    /// Folders and files that are left out, by the end of their path.
    pub exclude: &'a [String],
    /// Mend what can be mended safely.
    pub fix: bool,
}

/// Everything found in these files, and in those under these folders, in order of their paths.
pub fn read(paths: &[PathBuf], request: &Request<'_>) -> Result<Vec<FileResult>> {
    let mut files = Vec::new();
    for path in paths {
        let kind = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
        if kind.is_dir() { below(path, request.exclude, &mut files) } else { files.push(path.clone()) }
    }
    files.sort();
    files.dedup();
    crate::cores::with_own_threads(|| {
        files.par_iter().with_max_len(8).map(|path| one(path, request)).collect::<Result<Vec<_>>>()
    })?
}

/// What is found in a text, called by a name.
pub fn of_text(name: &str, text: &str, request: &Request<'_>) -> FileResult {
    let kind = if name.ends_with(".ipynb") { Kind::Notebook } else { Kind::Python };
    let found = lint(text, kind)
        .map(|found| found.into_iter().filter(|each| (request.is_wanted)(each.rule)).collect());
    FileResult { path: name.to_owned(), found, fixed: 0, proof: None }
}

fn below(folder: &Path, exclude: &[String], files: &mut Vec<PathBuf>) {
    // A folder that cannot be read has nothing for us.
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        // Links are not followed: they may lead in a circle.
        let Ok(kind) = entry.file_type() else { continue };
        let is_left_out = name.starts_with('.') || exclude.iter().any(|each| path.ends_with(each));
        if is_left_out {
            continue;
        }
        if kind.is_dir() && !OTHERS.contains(&&*name) {
            below(&path, exclude, files);
        } else if kind.is_file() && (name.ends_with(".py") || name.ends_with(".ipynb")) {
            files.push(path);
        }
    }
}

fn one(path: &Path, request: &Request<'_>) -> Result<FileResult> {
    let name = path.display().to_string();
    let unreadable = |message: &str| Unreadable { line: 1, message: message.to_owned() };
    let bytes = trust::read_at_once(path, LONGEST);
    let Some(text) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) else {
        let found = Err(unreadable("this is not a text that can be read"));
        return Ok(FileResult { path: name, found, fixed: 0, proof: None });
    };
    if request.fix
        && !name.ends_with(".ipynb")
        && let Ok((mended, count)) = fixed(&text, request.is_wanted)
        && count > 0
    {
        fs::write(path, &mended).with_context(|| format!("cannot write {name}"))?;
        return Ok(FileResult { fixed: count, ..of_text(&name, &mended, request) });
    }
    Ok(of_text(&name, &text, request))
}

//! The rules of the design that can be checked by reading the repository's files.

mod code;
mod order;
mod rules;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use code::code_only;
pub use order::*;
pub use rules::*;

/// A file of the repository.
#[derive(Clone, Debug)]
pub struct File {
    /// From the repository's root, with `/`.
    pub path: String,
    /// What it says.
    pub text: String,
}

/// The text files of a repository.
#[derive(Clone, Debug, Default)]
pub struct Repository {
    files: Vec<File>,
    /// Every path there is, folders and files that are no text included.
    paths: Vec<String>,
}

/// A rule is broken here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub path: String,
    /// The line, from 1; 0 where it is about the whole file.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

impl Problem {
    /// In this line of the file, from 1; 0 for the whole file.
    fn at(file: &File, line: usize, what: impl Into<String>) -> Problem {
        Problem { path: file.path.clone(), line, what: what.into() }
    }
}

impl Repository {
    /// The repository this crate was built in.
    pub fn here() -> io::Result<Repository> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        let mut repository = Repository::default();
        repository.read(&root, &PathBuf::new())?;
        repository.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(repository)
    }

    /// One made of these paths and texts.
    pub fn of(files: &[(&str, &str)]) -> Repository {
        let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: (*text).to_owned() };
        Repository {
            files: files.iter().map(file).collect(),
            paths: files.iter().map(|(path, _)| (*path).to_owned()).collect(),
        }
    }

    /// The files whose path ends so.
    pub fn with_suffix<'a>(&'a self, suffix: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |file| file.path.ends_with(suffix))
    }

    /// The Rust files.
    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.with_suffix(".rs")
    }

    /// Whether there is a file or a folder at this path.
    pub fn has(&self, path: &str) -> bool {
        let inside = |known: &String| {
            known.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        path.is_empty() || self.paths.iter().any(inside)
    }

    fn read(&mut self, root: &Path, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(root.join(folder))? {
            let entry = entry?;
            let name = entry.file_name();
            let path = folder.join(&name);
            // Built, fetched or kept by tools: not what people wrote.
            let foreign = name.to_str().is_none_or(|name| {
                matches!(name, "target" | "node_modules" | "__pycache__")
                    || (name.starts_with('.') && name != ".ci")
            });
            if foreign || entry.file_type()?.is_symlink() {
                continue;
            }
            let shown = path.to_string_lossy().replace('\\', "/");
            self.paths.push(shown.clone());
            if entry.file_type()?.is_dir() {
                self.read(root, &path)?;
            } else if let Some("rs" | "md" | "toml" | "sh" | "py" | "js") =
                path.extension().and_then(|e| e.to_str())
            {
                let text = String::from_utf8_lossy(&fs::read(root.join(&path))?).into_owned();
                self.files.push(File { path: shown, text });
            }
        }
        Ok(())
    }
}

impl File {
    /// The crate under `crates/` that it is part of.
    pub fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// Whether it is part of a crate's library or program, rather than of its tests.
    pub fn is_source(&self) -> bool {
        self.path.split('/').nth(2).is_some_and(|folder| folder == "src" || folder == "examples")
    }

    /// Its Rust code, line by line, without comments and without what literals say.
    pub fn code(&self) -> Vec<String> {
        code_only(&self.text).lines().map(str::to_owned).collect()
    }

    /// The same without the tests at its end.
    pub fn code_without_tests(&self) -> Vec<String> {
        self.code().into_iter().take_while(|line| !line.starts_with("#[cfg(test)]")).collect()
    }
}

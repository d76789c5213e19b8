//! pyproject.toml: the one that counts, its table `[tool.oomph]`, and what can be wrong with what it asks for.

use std::path::{Path, PathBuf};

use oomph_machine::trust;
use toml::{Table, Value};

/// The longest pyproject.toml that is read.
const LONGEST: u64 = 16 << 20;

/// What is wrong with what variables or pyproject.toml ask for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigurationError {
    /// The file is not valid TOML; it may have nothing for oomph.
    #[error("{path}: cannot be read: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// The first line of what the reader said.
        reason: String,
    },
    /// No such key.
    #[error("{path}: [tool.oomph{table}] has no key `{key}`{hint}")]
    UnknownKey {
        /// The file.
        path: String,
        /// `.run`, or nothing.
        table: &'static str,
        /// As written.
        key: String,
        /// What was meant, or nothing.
        hint: String,
    },
    /// A variable that is most likely misspelt.
    #[error("no setting is called {name}, did you mean {near}?")]
    UnknownVariable {
        /// As it is set.
        name: String,
        /// What was meant.
        near: String,
    },
    /// Another user's file names a program.
    #[error(
        "{path} can be written by another user, so the `python` that it names is not run: say --python yourself, in another directory"
    )]
    Foreign {
        /// The file.
        path: String,
    },
    /// Not a value of the right kind.
    #[error("{setting}: {expected}")]
    BadValue {
        /// A variable with its value, or the file and the key in it.
        setting: String,
        /// What it has to be.
        expected: String,
    },
}

/// The nearest pyproject.toml, the directory's own or that of a folder above it; and its text, where it is one that is read.
pub(crate) fn nearest_project(directory: &Path) -> Option<(PathBuf, Option<String>)> {
    let mut files = directory.ancestors().map(|folder| folder.join("pyproject.toml"));
    let file = files.find(|file| file.is_file())?;
    let text = trust::read_at_once(&file, LONGEST).and_then(|bytes| String::from_utf8(bytes).ok());
    Some((file, text))
}

/// The table `[tool.oomph]` of a pyproject.toml's text.
pub(crate) fn tables(text: &str, path: &str) -> Result<Option<Table>, ConfigurationError> {
    let mut project: Table =
        text.parse().map_err(|error: toml::de::Error| ConfigurationError::Unreadable {
            path: path.to_owned(),
            reason: error.message().lines().next().unwrap_or_default().to_owned(),
        })?;
    let ours = project.get_mut("tool").and_then(|tool| tool.get_mut("oomph")).and_then(Value::as_table_mut);
    Ok(ours.map(std::mem::take))
}

//! What `[tool.oomph.lint]` of pyproject.toml asks for: `select`, `ignore`, `exclude`.

use std::path::Path;

use oomph_machine::trust;
use toml::{Table, Value};

use crate::configuration::ConfigurationError;

/// The longest pyproject.toml that is read.
const LONGEST: u64 = 16 << 20;

/// What is asked of the linter beside its flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LintOptions {
    /// Only these rules; all where none is named.
    pub select: Vec<String>,
    /// Not these.
    pub ignore: Vec<String>,
    /// Files and folders that are left out.
    pub exclude: Vec<String>,
}

impl LintOptions {
    /// What the nearest pyproject.toml asks for: the directory's own or that of a folder above it.
    pub fn of_project(directory: &Path) -> Result<LintOptions, ConfigurationError> {
        let file =
            directory.ancestors().map(|folder| folder.join("pyproject.toml")).find(|file| file.is_file());
        let text = file.as_ref().and_then(|file| trust::read_at_once(file, LONGEST));
        let Some((file, text)) = file.zip(text.and_then(|bytes| String::from_utf8(bytes).ok())) else {
            return Ok(LintOptions::default());
        };
        LintOptions::read(&text, &file.display().to_string())
    }

    fn read(text: &str, path: &str) -> Result<LintOptions, ConfigurationError> {
        let project: Table =
            text.parse().map_err(|error: toml::de::Error| ConfigurationError::Unreadable {
                path: path.to_owned(),
                reason: error.message().lines().next().unwrap_or_default().to_owned(),
            })?;
        let ours = project.get("tool").and_then(|tool| tool.get("oomph")).and_then(|ours| ours.get("lint"));
        let mut options = LintOptions::default();
        for (key, value) in ours.and_then(Value::as_table).into_iter().flatten() {
            let to = match key.as_str() {
                "select" => &mut options.select,
                "ignore" => &mut options.ignore,
                "exclude" => &mut options.exclude,
                _ => {
                    let hint = ": it has `select`, `ignore` and `exclude`".to_owned();
                    return Err(ConfigurationError::UnknownKey {
                        path: path.to_owned(),
                        table: ".lint",
                        key: key.clone(),
                        hint,
                    });
                }
            };
            let texts = value
                .as_array()
                .and_then(|list| list.iter().map(|each| each.as_str().map(str::to_owned)).collect());
            *to = texts.ok_or_else(|| ConfigurationError::BadValue {
                setting: format!("{path}: [tool.oomph.lint] {key}"),
                expected: "write a list of texts".to_owned(),
            })?;
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_chooses_rules_and_leaves_folders_out() {
        let text = "[tool.oomph.lint]\nignore = [\"OOL010\"]\nexclude = [\"old\"]\n";
        let options =
            LintOptions { ignore: vec!["OOL010".into()], exclude: vec!["old".into()], select: vec![] };
        assert_eq!(LintOptions::read(text, "pyproject.toml"), Ok(options));
        let error = LintOptions::read("[tool.oomph.lint]\nignored = []\n", "pyproject.toml")
            .expect_err("no such key");
        assert_eq!(
            error.to_string(),
            "pyproject.toml: [tool.oomph.lint] has no key `ignored`: it has `select`, `ignore` and `exclude`"
        );
        let error =
            LintOptions::read("[tool.oomph.lint]\nignore = 1\n", "pyproject.toml").expect_err("no list");
        assert_eq!(error.to_string(), "pyproject.toml: [tool.oomph.lint] ignore: write a list of texts");
    }
}

//! What `[tool.oomph.lint]` of pyproject.toml asks for: `select`, `ignore`, `exclude`.

use std::path::Path;

use toml::Value;

use crate::project::{ConfigurationError, nearest_project, tables};

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
        match nearest_project(directory) {
            Some((file, Some(text))) => LintOptions::read(&text, &file.display().to_string()),
            _ => Ok(LintOptions::default()),
        }
    }

    fn read(text: &str, path: &str) -> Result<LintOptions, ConfigurationError> {
        let ours = tables(text, path)?;
        let ours = ours.as_ref().and_then(|ours| ours.get("lint"));
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

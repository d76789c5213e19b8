//! `oomph lint --json`.

use oomph_lint::{Diagnostic, FileResult};

use super::SCHEMA;

document! {
    /// Code that will run out of memory, found by reading it.
    pub fn lint(files: &[FileResult]) -> Lint {
        /// The schema's number: 1.
        schema: u32 = SCHEMA,
        /// How many files were read.
        files: usize = files.len(),
        /// How many places were mended (`--fix`).
        fixed: usize = files.iter().map(|file| file.fixed).sum(),
        /// What was found, in order of paths and lines.
        findings: Vec<Finding> = files.iter().flat_map(findings).collect(),
        /// Files that are not Python, or cannot be read.
        unreadable: Vec<Unreadable> = files.iter().filter_map(unreadable).collect(),
    }

    /// One place.
    fn finding(path: &str, found: &Diagnostic) -> Finding {
        /// The rule's number, such as `OOL001`.
        rule: String = found.rule.id(),
        /// Its name.
        name: &'static str = found.rule.words().0,
        /// The file.
        path: String = path.to_owned(),
        /// The notebook's cell, from 1.
        cell: Option<usize> = found.cell,
        /// The first line, from 1; in a notebook, of the cell.
        line: usize = found.line,
        /// The first column, from 1, in characters.
        column: usize = found.column,
        /// The last line.
        end_line: usize = found.end_line,
        /// The column behind the last character.
        end_column: usize = found.end_column,
        /// What happens there, and what to do.
        message: String = found.message.clone(),
        /// The text of the first line.
        source: String = found.source.clone(),
        /// Whether `--fix` mends it.
        fixable: bool = found.is_fixable,
    }

    /// A file that was not read to its end.
    fn unread(path: &str, error: &oomph_lint::Unreadable) -> Unreadable {
        /// The file.
        path: String = path.to_owned(),
        /// The line.
        line: usize = error.line,
        /// What is wrong.
        message: String = error.message.clone(),
    }
}

fn findings(file: &FileResult) -> Vec<Finding> {
    file.found.iter().flatten().map(|found| finding(&file.path, found)).collect()
}

fn unreadable(file: &FileResult) -> Option<Unreadable> {
    file.found.as_ref().err().map(|error| unread(&file.path, error))
}

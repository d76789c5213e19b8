//! `oomph lint --json`.

use oomph_lint::{Diagnostic, FileResult, Measured};
use oomph_trace::Bytes;

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
        /// All changes together, measured (`--prove`), or why the script could not be measured.
        proof: Option<Proof> = files.iter().find_map(|file| file.proof.as_ref()).map(proof),
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
        /// What it costs, measured (`--prove`); null where that was not asked for.
        proof: Option<Proof> = found.proof.as_ref().map(proof),
    }

    /// Two runs on a phantom GPU: of the program as it is, and of a copy with a change.
    fn proof(proof: &oomph_lint::Proof) -> Proof {
        /// Whether the change was seen to need less.
        proved: bool = proof.is_proved(),
        /// Why not.
        why_not: Option<String> = proof.why_not.clone(),
        /// The program as it is; null where it was not run, or failed.
        before: Option<Run> = proof.before.map(run),
        /// The copy with the change.
        after: Option<Run> = proof.after.map(run),
        /// Whether the change is what `--fix` does. Otherwise it was made for the copy alone, and need not keep what the
        /// program computes.
        fix: bool = proof.is_fix,
        /// The lines that differ: `-` as they are, `+` as they were tried.
        diff: Vec<String> = proof.diff.clone(),
    }

    /// What one run showed.
    fn run(measured: Measured) -> Run {
        /// What stays in memory with every step, where the two runs differ in that.
        keeps_bytes_per_step: Option<Bytes> = measured.keeps,
        /// The most that was in use at once.
        needs_bytes: Bytes = measured.needs,
        /// Whether it ran out of the memory that it was given (`--limit`).
        runs_out: bool = measured.runs_out,
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

//! `oomph lint` as text: what, where, with the line shown.

use oomph_lint::{Diagnostic, FileResult, Rule};

use super::proof;
use super::report::{Align, Colour, Report, row, wrapped};

/// Every finding with its line, and how many there are.
pub fn render(files: &[FileResult], colour: Colour) -> String {
    let mut text = String::new();
    for file in files {
        let path = colour.printable(&file.path);
        match &file.found {
            Ok(found) => found.iter().for_each(|each| text.push_str(&one(&path, each, colour))),
            Err(error) => {
                text.push_str(&format!("{path}:{}: {}\n\n", error.line, colour.printable(&error.message)));
            }
        }
    }
    for paragraph in proof::summary(files) {
        text.push_str(&format!("{}\n\n", wrapped(&colour.printable(&paragraph), 78).join("\n")));
    }
    text + &summary(files)
}

fn one(path: &str, found: &Diagnostic, colour: Colour) -> String {
    let cell = found.cell.map(|cell| format!("cell {cell}:")).unwrap_or_default();
    let place = format!("{path}:{cell}{}:{}", found.line, found.column);
    let (name, _) = found.rule.words();
    let source = colour.printable(&found.source);
    let number = found.line.to_string();
    let margin = " ".repeat(number.len());
    let before = found.column.saturating_sub(1);
    let shown = found.source.chars().count();
    let end = if found.end_line == found.line { found.end_column.saturating_sub(1) } else { shown };
    let marks = "^".repeat(end.saturating_sub(before).max(1));
    let message = set_in(&found.message);
    let proof = found.proof.as_ref().map(proof::lines).unwrap_or_default().into_iter();
    let proof: String = proof.map(|line| format!("\n{}", below(&colour.printable(&line)))).collect();
    format!(
        "{place}: {} {name}\n{margin} |\n{number} | {source}\n{margin} | {}{marks}\n{message}{proof}\n\n",
        found.rule.id(),
        " ".repeat(before),
    )
}

/// A line of a proof: code as it is, words in lines of 80 columns.
fn below(line: &str) -> String {
    if line.starts_with(' ') { format!("  {line}") } else { set_in(line) }
}

/// Words in lines of 80 columns, each after two spaces.
fn set_in(text: &str) -> String {
    format!("  {}", wrapped(text, 76).join("\n  "))
}

fn summary(files: &[FileResult]) -> String {
    let found = files.iter().flat_map(|file| file.found.iter().flatten());
    let (count, fixable) =
        found.fold((0, 0), |(all, fixable), each| (all + 1, fixable + usize::from(each.is_fixable)));
    let fixed: usize = files.iter().map(|file| file.fixed).sum();
    let many = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let read = many(files.len(), "file");
    let mended = if fixed > 0 { format!("{} mended. ", many(fixed, "place")) } else { String::new() };
    match (count, fixable) {
        (0, _) => format!("{mended}Nothing found in {read}.\n"),
        (count, 0) => format!(
            "{mended}{} in {read}. `oomph rule OOL001` says more of a rule.\n",
            many(count, "finding")
        ),
        (count, fixable) => {
            format!("{mended}{} in {read}; `--fix` mends {fixable}.\n", many(count, "finding"))
        }
    }
}

/// The rules, a line each.
pub fn rules() -> String {
    let mut report =
        Report::new("What `oomph lint` finds in code; `oomph rule OOL001` says more.", Colour::Off);
    report.gap();
    let rows: Vec<_> = Rule::ALL.iter().map(|rule| row![rule.id(), rule.words().1]).collect();
    report.table(2, &[Align::Left, Align::Left], &rows);
    report.finish()
}

/// One rule's page.
pub fn page(rule: Rule) -> String {
    format!("{}\n", rule.page().trim_start_matches("## "))
}

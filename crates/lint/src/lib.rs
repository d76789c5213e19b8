//! Code that will run out of memory, found by reading it: rules over Python source.
//!
//! In reading order: what is written (names, lines, conditions that are known), what a file defines, what is known of a
//! value, rules that the text around a place decides, values followed through the file, and the changes that are tried
//! to measure a finding.

mod rule;

mod finding;

mod proof;

mod diagnostic;

mod lines;

mod notebook;

mod live;

mod names;

mod value;

mod outline;

mod patterns;

mod flow;

mod trials;

use ruff_python_ast::PySourceType;
use ruff_python_parser::parse_unchecked_source;

pub use diagnostic::{Diagnostic, FileResult, Unreadable};
use finding::Finding;
use lines::Lines;
pub use proof::{Measured, Proof};
pub use rule::Rule;
pub use trials::{Change, changed};

/// What a file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Python.
    Python,
    /// A notebook with cells of Python.
    Notebook,
}

/// Everything that the rules have to say of a file, in order.
pub fn lint(source: &str, kind: Kind) -> Result<Vec<Diagnostic>, Unreadable> {
    if kind == Kind::Python {
        return Ok(told(source, &found(source)?, None));
    }
    let unreadable = || Unreadable { line: 1, message: "this is no notebook".to_owned() };
    let code = notebook::code(source).ok_or_else(unreadable)?;
    let found = found(&code.text).map_err(|error| {
        let (cell, line) = code.place(error.line);
        Unreadable { line, message: format!("cell {cell}: {}", error.message) }
    })?;
    Ok(told(&code.text, &found, Some(&code)))
}

/// A Python source with everything mended that can be mended safely, and how many places that were.
pub fn fixed(source: &str, is_wanted: &dyn Fn(Rule) -> bool) -> Result<(String, usize), Unreadable> {
    let lines = Lines::of(source);
    let found = found(source)?;
    let fixes: Vec<_> = found
        .iter()
        .filter(|each| is_wanted(each.rule) && !is_ignored(&lines, each))
        .filter_map(|each| each.fix.as_ref())
        .collect();
    let mut edits: Vec<_> = fixes.iter().flat_map(|fix| fix.edits.iter()).collect();
    edits.sort_by_key(|(range, _)| range.start());
    edits.dedup();
    let mut text = source.to_owned();
    for (range, new) in edits.iter().rev() {
        text.replace_range(usize::from(range.start())..usize::from(range.end()), new);
    }
    Ok((text, fixes.len()))
}

/// For everything that [`lint`] says of a Python source and is wanted, in the same order: the change that shows what it
/// costs, or why there is none. A change is for a copy: it need not keep what the program computes.
pub fn changes(
    source: &str,
    is_wanted: &dyn Fn(Rule) -> bool,
) -> Result<Vec<Result<Change, &'static str>>, Unreadable> {
    let (lines, found) = (Lines::of(source), found(source)?);
    let parsed = parse_unchecked_source(source, PySourceType::Python);
    let wanted = found.iter().filter(|each| !is_ignored(&lines, each) && is_wanted(each.rule));
    Ok(wanted.map(|each| trials::change(source, parsed.syntax(), each)).collect())
}

fn is_ignored(lines: &Lines<'_>, finding: &Finding) -> bool {
    let (first, _) = lines.place(finding.range.start().into());
    let (last, _) = lines.place(finding.range.end().into());
    lines.ignores(finding.rule, first, last)
}

fn found(source: &str) -> Result<Vec<Finding>, Unreadable> {
    let parsed = parse_unchecked_source(source, PySourceType::Python);
    if let Some(error) = parsed.errors().first() {
        let (line, _) = Lines::of(source).place(usize::from(error.location.start()).min(source.len()));
        return Err(Unreadable { line, message: format!("this is not Python: {}", error.error) });
    }
    let module = parsed.syntax();
    let names = names::Names::of(module);
    // What has nothing to do with a framework is not read further.
    if ![
        "torch",
        "tensorflow",
        "keras",
        "lightning",
        "pytorch_lightning",
        "transformers",
        "accelerate",
        "torchmetrics",
    ]
    .iter()
    .any(|package| names.has(package))
    {
        return Ok(Vec::new());
    }
    let outline = outline::Outline::of(module, &names);
    let has = |words: &[&str]| words.iter().any(|word| source.contains(word));
    let has_gpu = has(&["cuda", "device"])
        || ["transformers", "lightning", "pytorch_lightning", "accelerate"]
            .iter()
            .any(|package| names.has(package));
    let has_attention = has(&["sdpa", "eager_attention", "flash_attn", "ALL_ATTENTION_FUNCTIONS"]);
    let mut found = flow::Flow::findings(&names, &outline, has_gpu);
    found.extend(patterns::findings(module, &names, &outline, has_gpu, has_attention));
    found.sort_by_key(|finding| (finding.range.start(), finding.rule));
    found.dedup_by_key(|finding| (finding.range, finding.rule));
    Ok(found)
}

fn told(source: &str, found: &[Finding], notebook: Option<&notebook::Code>) -> Vec<Diagnostic> {
    let lines = Lines::of(source);
    let told = found.iter().filter(|finding| !is_ignored(&lines, finding)).map(|finding| {
        let (line, column) = lines.place(finding.range.start().into());
        let (end_line, end_column) = lines.place(finding.range.end().into());
        let within = |line: usize| {
            notebook.map_or((None, line), |code| {
                let (cell, line) = code.place(line);
                (Some(cell), line)
            })
        };
        Diagnostic {
            rule: finding.rule,
            cell: within(line).0,
            line: within(line).1,
            column,
            end_line: within(end_line).1,
            end_column,
            message: finding.message.clone(),
            source: lines.text(line).to_owned(),
            is_fixable: finding.fix.is_some() && notebook.is_none(),
            proof: None,
        }
    });
    told.collect()
}

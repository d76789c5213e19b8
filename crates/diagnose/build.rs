//! Makes constants of the tables in `src/message`, so that nothing is parsed at run time. A cell has the type of its
//! field in `src/message/tables.rs`; the compiler checks that, and that there is such a field.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use aho_corasick::automaton::Automaton as _;
use aho_corasick::{Anchored, dfa::DFA};
use toml::{Table, Value};

/// Where the tables lie, from this crate.
const FOLDERS: [&str; 2] = ["src/message/signs", "src/message/tables"];
/// What a row is called in the files, its type, the constant, and whether cells may be empty.
const TABLES: [(&str, &str, &str, bool); 7] = [
    ("sign", "Sign", "SIGNS", true),
    ("judgement", "Judgement", "JUDGEMENTS", true),
    ("cure", "Cure", "CURES", true),
    ("phase", "PhaseSign", "PHASES", false),
    ("shape", "Shape", "SHAPES", false),
    ("program", "Program", "PROGRAMS", false),
    ("task", "Task", "TASKS", false),
];
/// Columns whose cells name a variant of an enum.
const VARIANTS: [(&str, &str); 5] = [
    ("cause", "Cause"),
    ("confidence", "Confidence"),
    ("how", "Basis"),
    ("kind", "Kind"),
    ("phase", "Phase"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed={folder}");
        let mut paths =
            fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
        paths.sort();
        for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "toml")) {
            let table = fs::read_to_string(path)?.parse::<Table>();
            files.push(table.map_err(|error| format!("{}: {error}", path.display()))?);
        }
    }
    let mut out = String::new();
    for (row, row_type, constant, may_be_empty) in TABLES {
        // A row without empty cells takes nothing from the empty one.
        writeln!(out, "#[allow(clippy::needless_update)]\npub(super) const {constant}: &[{row_type}] = &[")?;
        let rest = if may_be_empty { format!("..{row_type}::EMPTY") } else { String::new() };
        for file in &files {
            for cells in rows(file, row) {
                let cells =
                    cells.iter().filter(|(column, _)| !["between", "example"].contains(&column.as_str()));
                let cells: String = cells.map(|cell| literal(cell, file)).collect();
                writeln!(out, "    {row_type} {{ {cells}{rest} }},")?;
            }
        }
        writeln!(out, "];")?;
    }
    let (classes, next) = automaton(&words(&files))?;
    writeln!(out, "pub(super) const CLASSES: [u8; 256] = {classes:?};")?;
    // Half a million numbers: as text, each of them would be parsed, checked and linted.
    let next: Vec<u8> = next.into_iter().flat_map(u32::to_le_bytes).collect();
    let folder = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(folder.join("next.bin"), next)?;
    fs::write(folder.join("tables.rs"), out)?;
    Ok(())
}

fn rows<'a>(file: &'a Table, row: &str) -> impl Iterator<Item = &'a Table> {
    file.get(row).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table)
}

/// A cell as a field of a Rust literal. Text that begins with `@` is a name from the file's table of texts.
fn literal((column, value): (&String, &Value), file: &Table) -> String {
    let text = |text: &str| match text.strip_prefix('@') {
        Some(name) => format!("{:?}", file["text"][name].as_str().unwrap_or_default()),
        None => format!("{text:?}"),
    };
    let list = |list: &[Value]| {
        list.iter().map(|item| text(item.as_str().unwrap_or_default()) + ", ").collect::<String>()
    };
    let variant = VARIANTS.iter().find(|(name, _)| name == column);
    let value = match (value, variant) {
        (Value::String(name), Some((_, kind))) => format!("{kind}::{}", camel_case(name)),
        (Value::String(name), None) if column == "framework" => format!("Framework({name:?})"),
        (Value::String(value), None) => text(value),
        (Value::Array(items), None) if items.first().is_some_and(Value::is_array) => {
            let pairs = items.iter().filter_map(Value::as_array).map(|pair| format!("({}), ", list(pair)));
            format!("&[{}]", pairs.collect::<String>())
        }
        (Value::Array(items), None) => format!("&[{}]", list(items)),
        (Value::Integer(number), None) => number.to_string(),
        (Value::Boolean(flag), None) => flag.to_string(),
        (other, _) => format!("compile_error!({:?})", format!("{column} cannot be {other:?}")),
    };
    format!("{column}: {value}, ")
}

/// `OtherProcess` of `other_process`.
fn camel_case(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').map(capital).collect()
}

/// The fixed words of every sign, in lower case. A line with none of them is not looked at. Long ones are cut in two, so
/// that a line wrapped within them leaves one half whole; of words that hold others the others are enough.
fn words(files: &[Table]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for sign in files.iter().flat_map(|file| rows(file, "sign")) {
        let patterns = |column: &str| sign.get(column).and_then(Value::as_array).into_iter().flatten();
        let patterns = ["says", "line", "between"].into_iter().flat_map(patterns);
        for pattern in patterns.filter_map(Value::as_str) {
            let fixed = fixed(pattern);
            let longest = fixed.iter().map(|words| words.len()).max().unwrap_or_default();
            for words in fixed.into_iter().filter(|words| words.len() >= longest.min(8)) {
                let (first, second) = words.split_at(if words.len() < 24 {
                    0
                } else {
                    words.floor_char_boundary(words.len() / 2)
                });
                let halves = [first, second].into_iter().filter(|half| !half.is_empty());
                all.extend(halves.map(|half| half.trim().to_ascii_lowercase()));
            }
        }
    }
    all.sort_by_key(|words| (words.len(), words.clone()));
    let mut kept: Vec<String> = Vec::new();
    for words in all {
        if !kept.iter().any(|shorter| words.contains(shorter.as_str())) {
            kept.push(words);
        }
    }
    kept
}

/// What finds any of these words in a line, in any case: the class of every byte, and where a byte of each class leads
/// from each state. A state is named by its place in the table and the first is 0; the greatest number is "found".
fn automaton(words: &[String]) -> Result<(Vec<u8>, Vec<u32>), Box<dyn Error>> {
    let dfa = DFA::builder().ascii_case_insensitive(true).build(words)?;
    let mut states = vec![dfa.start_state(Anchored::No)?];
    let mut numbers = BTreeMap::from([(states[0], 0)]);
    // One column a byte: the number of the next state, by the number of the state.
    let mut columns: Vec<Vec<u32>> = vec![Vec::new(); 256];
    let mut index = 0;
    while index < states.len() {
        for (byte, column) in (0..=255).zip(&mut columns) {
            let next = dfa.next_state(Anchored::No, states[index], byte);
            if dfa.is_match(next) {
                column.push(u32::MAX);
                continue;
            }
            column.push(*numbers.entry(next).or_insert_with(|| {
                states.push(next);
                states.len() as u32 - 1
            }));
        }
        index += 1;
    }
    let mut distinct = columns.clone();
    distinct.sort();
    distinct.dedup();
    let class = |column| distinct.binary_search(column).unwrap_or_default() as u8;
    let classes = columns.iter().map(class).collect();
    let place = |number: u32| number.saturating_mul(distinct.len() as u32);
    let next = (0..states.len()).flat_map(|state| distinct.iter().map(move |column| place(column[state])));
    Ok((classes, next.collect()))
}

/// What stands between the holes of a pattern.
fn fixed(pattern: &str) -> Vec<&str> {
    let pieces = pattern.split(" ... ").flat_map(|part| part.split('{'));
    let pieces = pieces.map(|piece| piece.split_once('}').map_or(piece, |(_, words)| words));
    let pieces = pieces.flat_map(|piece| piece.split(['*', '#'])).map(|piece| piece.trim_matches(['.', ' ']));
    pieces.filter(|words| !words.is_empty()).collect()
}

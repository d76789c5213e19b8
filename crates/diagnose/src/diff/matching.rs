//! Which lines of two recordings are the same, although the program was edited in between.
//!
//! 1. Files: the same path; else the same name, and of several the one whose path ends alike the longest. The cells of a
//!    notebook count as one file, since running one again gives it another number.
//! 2. Within a function of a file, lines keep their order. Of all ways to pair them in order, the one is taken whose
//!    pairs are most alike: the same text where both texts are known, or words that both have; the same line of a library
//!    below it, the same largest request, the same number of requests, numbers that are near.
//! 3. What is left over in a file is paired by equal text alone: a line that moved to another function.

use std::collections::{BTreeMap, BTreeSet};

use oomph_trace::Bytes;

use crate::place::Line;

/// A line that asked for memory, and what tells it from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asker {
    pub(super) line: Line,
    /// What it says, where that is known.
    pub(super) text: Option<String>,
    /// The line of a library below it.
    pub(super) within: Option<Line>,
    /// How often it asked.
    pub(super) count: usize,
    /// The most it asked for at once.
    pub(super) largest: Bytes,
}

/// Functions with more lines than this on both sides, multiplied, are paired by number alone.
const MOST_PAIRS: usize = 1 << 18;

/// Of so many files with one name none is taken for another.
const MOST_NAMESAKES: usize = 64;

/// The places of the lines that are the same, in both lists. No line has two partners.
pub(super) fn pairs(a: &[Asker], b: &[Asker]) -> Vec<(usize, usize)> {
    let (files_a, files_b) = (by_file(a), by_file(b));
    let (names_a, names_b) = (by_name(&files_a), by_name(&files_b));
    let mut pairs = Vec::new();
    for (file, ours) in &files_a {
        // Each has to be the other's best partner.
        let Some(other) = partner(file, &names_b).filter(|other| partner(other, &names_a) == Some(file))
        else {
            continue;
        };
        let theirs = &files_b[other];
        let functions = by_function(b, theirs);
        let mut of_file = Vec::new();
        for (function, ours) in by_function(a, ours) {
            if let Some(theirs) = functions.get(function) {
                of_file.extend(in_order(a, b, &ours, theirs));
            }
        }
        let moved = moved(a, b, ours, theirs, &of_file);
        pairs.extend(of_file.into_iter().chain(moved));
    }
    pairs.sort_unstable();
    pairs
}

/// The one name for all cells of a notebook.
const CELLS: &str = "In[]";

fn file_of(line: &Line) -> &str {
    if cell(&line.file).is_some() { CELLS } else { &line.file }
}

/// The number of a notebook's cell.
fn cell(file: &str) -> Option<u32> {
    file.strip_prefix("In[")?.strip_suffix(']')?.parse().ok()
}

/// The places of each file's lines, in order of the lines.
fn by_file(askers: &[Asker]) -> BTreeMap<&str, Vec<usize>> {
    let mut files: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, asker) in askers.iter().enumerate() {
        files.entry(file_of(&asker.line)).or_default().push(at);
    }
    let order = |at: &usize| (cell(&askers[*at].line.file), askers[*at].line.line);
    files.values_mut().for_each(|places| places.sort_by_key(order));
    files
}

fn by_function<'a>(askers: &'a [Asker], places: &[usize]) -> BTreeMap<&'a str, Vec<usize>> {
    let mut functions: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for at in places {
        functions.entry(&askers[*at].line.function).or_default().push(*at);
    }
    functions
}

/// The files by the last part of their paths.
fn by_name<'a>(files: &BTreeMap<&'a str, Vec<usize>>) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files.keys() {
        names.entry(parts(file).next().unwrap_or_default()).or_default().push(file);
    }
    names
}

/// The parts of a path, the last first.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit(['/', '\\'])
}

/// The file of these that this one is: the same path; else of those with its name, the one whose path ends alike the
/// longest.
fn partner<'a>(file: &str, names: &BTreeMap<&'a str, Vec<&'a str>>) -> Option<&'a str> {
    let namesakes = names.get(parts(file).next()?)?;
    let alike = |other: &&str| parts(file).zip(parts(other)).take_while(|(a, b)| a == b).count();
    if let Ok(same) = namesakes.binary_search(&file) {
        return Some(namesakes[same]);
    }
    let few = namesakes.iter().copied().filter(|_| namesakes.len() <= MOST_NAMESAKES);
    few.max_by_key(|other| (alike(other), std::cmp::Reverse(*other)))
}

/// The best way to pair lines of one function, each list in order.
fn in_order(a: &[Asker], b: &[Asker], ours: &[usize], theirs: &[usize]) -> Vec<(usize, usize)> {
    let (rows, columns) = (ours.len(), theirs.len());
    if rows.saturating_mul(columns) > MOST_PAIRS {
        let key = |asker: &Asker| (cell(&asker.line.file), asker.line.line);
        let theirs: BTreeMap<_, usize> = theirs.iter().map(|at| (key(&b[*at]), *at)).collect();
        return ours.iter().filter_map(|at| Some((*at, *theirs.get(&key(&a[*at]))?))).collect();
    }
    // What the lines from here on are worth, paired in the best way.
    let mut worth = vec![vec![0u32; columns + 1]; rows + 1];
    let paired = |worth: &[Vec<u32>], row: usize, column: usize| {
        worth[row + 1][column + 1] + likeness(&a[ours[row]], &b[theirs[column]])
    };
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            let skipped = worth[row + 1][column].max(worth[row][column + 1]);
            worth[row][column] = skipped.max(paired(&worth, row, column));
        }
    }
    let (mut row, mut column, mut pairs) = (0, 0, Vec::new());
    while row < rows && column < columns {
        if worth[row][column] == paired(&worth, row, column) {
            pairs.push((ours[row], theirs[column]));
            (row, column) = (row + 1, column + 1);
        } else if worth[row][column] == worth[row + 1][column] {
            row += 1;
        } else {
            column += 1;
        }
    }
    pairs
}

/// How alike two lines are. The same text outweighs everything else; two different texts may be one line that was
/// edited, if nothing better is there for either: then it shares words with what it was.
fn likeness(a: &Asker, b: &Asker) -> u32 {
    let near = 50 - a.line.line.abs_diff(b.line.line).min(50);
    let points = |same: bool, points: u32| if same { points } else { 0 };
    let same_requests = points(a.within == b.within, 100)
        + points(a.largest == b.largest, 150)
        + points(a.count == b.count, 50);
    match (&a.text, &b.text) {
        (Some(a), Some(b)) if a == b => 10_000 + same_requests + near,
        (Some(a), Some(b)) => 100 + shared_words(a, b) + same_requests + near,
        _ => 100 + same_requests + near,
    }
}

/// How many of the words of two texts are in both, of 1,000.
fn shared_words(a: &str, b: &str) -> u32 {
    let words = |text: &str| -> Vec<String> {
        let apart = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        apart.map(str::to_owned).collect()
    };
    let (a, mut b) = (words(a), words(b));
    let all = a.len() + b.len();
    let is_in_both = |word: &String| {
        let found = b.iter().position(|other| other == word);
        found.map(|at| b.swap_remove(at)).is_some()
    };
    let both = a.iter().map(is_in_both).filter(|is_in_both| *is_in_both).count();
    (2000 * both).checked_div(all).unwrap_or(0) as u32
}

/// Lines of a file that have no partner yet and say the same, if there is only one on each side that says so.
fn moved(
    a: &[Asker],
    b: &[Asker],
    ours: &[usize],
    theirs: &[usize],
    pairs: &[(usize, usize)],
) -> Vec<(usize, usize)> {
    let (paired_a, paired_b): (BTreeSet<usize>, BTreeSet<usize>) = pairs.iter().copied().unzip();
    let free_a = by_text(a, ours, &paired_a);
    let free_b = by_text(b, theirs, &paired_b);
    let only = |places: &[usize]| if let [at] = places { Some(*at) } else { None };
    let both =
        free_a.into_iter().filter_map(|(text, places)| Some((only(&places)?, only(free_b.get(text)?)?)));
    both.collect()
}

fn by_text<'a>(
    askers: &'a [Asker],
    places: &[usize],
    paired: &BTreeSet<usize>,
) -> BTreeMap<&'a str, Vec<usize>> {
    let mut texts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for at in places.iter().filter(|at| !paired.contains(at)) {
        if let Some(text) = &askers[*at].text {
            texts.entry(text).or_default().push(*at);
        }
    }
    texts
}

//! The tables that are kept as data. `build.rs` makes constants of the files in `signs/` and `tables/`: a row there is
//! a value of one of these types, a column is a field, and an empty cell is as in `EMPTY`.

use super::framework::Framework;
use super::verdict::Confidence;
use crate::advice::Basis;
use crate::cause::Cause;
use crate::phase::Phase;

type Texts = &'static [&'static str];

/// A message that is known by its words. How words are written, with numbers among them, says `pattern`. Two columns are
/// no fields: `example`, which a test reads, and `between`, words of lines that may stand between the parts of a message.
#[derive(Debug)]
pub(super) struct Sign {
    /// What the message says; any of these patterns.
    pub says: Texts,
    /// Or the whole line, word by word: `*` is any word, `*]x` one that ends so, `#` a number, `...` the rest, and
    /// before the first word whatever stands there.
    pub line: Texts,
    /// Who writes it.
    pub framework: Framework,
    /// What it is worth, and what its numbers allow.
    pub kind: Kind,
    /// What the words alone say of the cause, and how surely.
    pub cause: Cause,
    pub confidence: Confidence,
    /// Why, in a sentence.
    pub why: &'static str,
    /// What would find out, where that does not tell.
    pub ask: &'static str,
    /// What must stand near it: each of these, ` | ` between alternatives. A leading blank: where a word begins.
    pub near: Texts,
    /// What must not stand near it.
    pub unless: Texts,
    /// More numbers: patterns that are looked for behind its words, then before them.
    pub reads: Texts,
    /// The words the message ends with; the first of these that is there. Numbers behind them are not its own.
    pub until: Texts,
    /// Whether it lists processes.
    pub processes: bool,
    /// The versions that write it so, and the words that show it; the first that is there counts.
    pub versions: &'static [(&'static str, &'static str)],
    /// How far "near" is, in bytes before and after its words.
    pub before: usize,
    pub after: usize,
    /// Whether one message may hold several of the patterns: the first that is found stands for those near it.
    pub covers: bool,
    /// What lines have that are left out: a dump lists every piece of memory there is.
    pub skips: Texts,
    /// Whether its numbers belong to the message of the same framework before it.
    pub joins: bool,
}

impl Sign {
    const EMPTY: Sign = Sign {
        says: &[],
        line: &[],
        framework: Framework(""),
        kind: Kind::Wording,
        cause: Cause::Unknown,
        confidence: Confidence::High,
        why: "the message does not print enough to tell",
        ask: "",
        near: &[],
        unless: &[],
        reads: &[],
        until: &[],
        processes: false,
        versions: &[],
        before: 160,
        after: 320,
        covers: false,
        skips: &[],
        joins: false,
    };
}

/// What a message is worth, and which arithmetic its numbers allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// PyTorch's caching allocator, with its books.
    Device,
    /// An allocator of one region, with its books.
    Arena,
    /// PyTorch's cudaMallocAsync backend, whose cache is not in the message.
    Pool,
    /// One limit for everything.
    Limit,
    /// A request, and what was free.
    Free,
    /// A log line with numbers, before the exception that says more.
    Logged,
    /// The wording says all there is.
    Wording,
    /// Other messages explain it better, if there are any near.
    Bare,
    /// Something was tried and done without.
    Warning,
    /// Words that say it whoever writes them: they count where no other row knows the message.
    Any,
}

/// A step from a message to its cause; the first whose conditions hold decides.
#[derive(Debug)]
pub(super) struct Judgement {
    /// Conditions, all of which hold.
    pub when: Texts,
    pub cause: Cause,
    pub confidence: Confidence,
    /// The arithmetic, a line each.
    pub why: Texts,
    /// What would find out, where the message cannot tell.
    pub ask: &'static str,
}

impl Judgement {
    const EMPTY: Judgement =
        Judgement { when: &[], cause: Cause::Unknown, confidence: Confidence::High, why: &[], ask: "" };
}

/// A change that is proposed, or refused, where its conditions hold.
#[derive(Debug)]
pub(super) struct Cure {
    /// Conditions, all of which hold.
    pub when: Texts,
    /// What to do.
    pub title: &'static str,
    /// Why it helps, or why not.
    pub why: &'static str,
    /// How that is known.
    pub how: Basis,
    /// Whether it does not help.
    pub fails: bool,
    /// The claim of docs/folklore.md that is about it.
    pub folklore: &'static str,
}

impl Cure {
    const EMPTY: Cure =
        Cure { when: &[], title: "", why: "", how: Basis::Practice, fails: false, folklore: "" };
}

/// A frame that shows what the job was doing.
#[derive(Debug)]
pub(super) struct PhaseSign {
    pub when: Texts,
    pub phase: Phase,
}

/// What shows what the program is for: training, inference, serving.
#[derive(Debug)]
pub(super) struct Task {
    pub when: Texts,
    pub name: &'static str,
}

/// A failure of a known shape.
#[derive(Debug, PartialEq, Eq)]
pub struct Shape {
    pub(super) when: Texts,
    /// Its name.
    pub name: &'static str,
    /// The shape in a sentence.
    pub sentence: &'static str,
    /// What to do.
    pub(super) cure: &'static str,
}

/// A program that runs another framework, whose words stand in its log, and what shows it.
#[derive(Debug)]
pub(super) struct Program {
    pub when: Texts,
    pub framework: Framework,
    /// Whose words it prints.
    pub prints: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/tables.rs"));

/// Where a byte of each class leads from each state: numbers of four bytes, the lowest first.
pub(super) const NEXT: &[[u8; 4]] = include_bytes!(concat!(env!("OUT_DIR"), "/next.bin")).as_chunks().0;

impl Framework {
    /// Nobody that a row knows.
    pub(super) const UNKNOWN: Framework = Framework("unknown");

    /// Whether PyTorch's allocator is underneath.
    pub fn is_pytorch(self) -> bool {
        matches!(self.0, "pytorch" | "pytorch-xpu" | "pytorch-npu")
            || PROGRAMS.iter().any(|program| program.framework == self && program.prints == "pytorch")
    }
}

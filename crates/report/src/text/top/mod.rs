//! `oomph top`: a screen of lines for a terminal of any size, and the same once, as text.

mod words;
mod graph;
mod columns;
mod list;
mod detail;
mod help;

use oomph_diagnose::results::top::{Sort, Top};

use crate::printable;

pub use help::KEYS;

/// How wide the text of `--once` is.
const ONCE: usize = 80;
/// The least size that a screen is made for; a smaller terminal shows a part of it.
const LEAST: Size = Size { width: 40, height: 8 };

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Of a line.
    pub width: usize,
    /// How many lines.
    pub height: usize,
}

/// What a person looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// What jobs are sorted by.
    pub sort: Sort,
    /// Which screen.
    pub screen: Screen,
    /// The place of the chosen job among the jobs.
    pub chosen: usize,
    /// What the last line says in place of the keys.
    pub message: Option<String>,
    /// Whether the terminal shows no more than ASCII.
    pub ascii: bool,
}

/// Which screen is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// GPUs, jobs, other processes.
    List,
    /// The chosen job alone.
    Job,
    /// The keys.
    Help,
}

/// A line of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// At most as wide as the screen, without anything that a terminal would act on.
    pub text: String,
    /// How it is shown.
    pub tone: Tone,
}

/// How a line is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As any text.
    Plain,
    /// As a heading.
    Strong,
    /// As what is chosen.
    Chosen,
    /// As what needs somebody.
    Warning,
}

impl Line {
    fn plain(text: impl Into<String>) -> Line {
        Line { text: text.into(), tone: Tone::Plain }
    }

    fn strong(text: impl Into<String>) -> Line {
        Line { text: text.into(), tone: Tone::Strong }
    }

    fn warning(text: impl Into<String>) -> Line {
        Line { text: text.into(), tone: Tone::Warning }
    }
}

/// A whole screen: as many lines as it is high, none wider than it. The last is the message or the keys.
pub fn frame(top: &Top<'_>, view: &View, size: Size) -> Vec<Line> {
    let size = Size { width: size.width.max(LEAST.width), height: size.height.max(LEAST.height) };
    let room = size.height - 1;
    let mut lines = match (view.screen, top.jobs.get(view.chosen)) {
        (Screen::Help, _) => help::lines(),
        (Screen::Job, Some(job)) => detail::lines(top, job, view, Size { height: room, ..size }),
        (Screen::List | Screen::Job, _) => list::lines(top, view, Size { height: room, ..size }),
    };
    lines.resize(room, Line::plain(""));
    lines.push(match &view.message {
        Some(message) => Line::warning(message.clone()),
        None => Line::strong(help::shown_below(view.screen, size.width)),
    });
    lines.iter().map(|line| fitted(line, size.width, view.ascii)).collect()
}

/// The list as text of 80 columns, as long as it takes.
pub fn once(top: &Top<'_>, sort: Sort, ascii: bool) -> String {
    let view = View { sort, screen: Screen::List, chosen: usize::MAX, message: None, ascii };
    let lines = list::lines(top, &view, Size { width: ONCE, height: usize::MAX });
    lines.iter().map(|line| fitted(line, ONCE, ascii).text.trim_end().to_owned() + "\n").collect()
}

/// The line cut to its room, and without what a terminal would act on or cannot show.
fn fitted(line: &Line, width: usize, ascii: bool) -> Line {
    let text = printable::shown(&line.text, &[]).replace('\n', " ");
    let text: String = match ascii {
        true => text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect(),
        false => text,
    };
    Line { text: words::cut(&text, width, ascii), tone: line.tone }
}

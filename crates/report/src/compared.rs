//! Words for two recordings compared, in text and in JSON.

use oomph_diagnose::diff::{Change, Doubt, LineChange, Where};

use crate::place::located;

/// What became of a line.
pub(crate) fn fate(line: &LineChange) -> &'static str {
    let change = line.change();
    match (&line.a, &line.b) {
        (None, _) => "new",
        (_, None) => "gone",
        _ if change.is_none() => "same",
        _ if change.b > change.a => "grown",
        _ => "shrunk",
    }
}

/// Whose memory it is.
pub(crate) fn place(place: &Where) -> String {
    match place {
        Where::Line(place) => located(place),
        Where::Phase(Some(phase)) => format!("no line recorded, in {}", phase.name()),
        Where::Phase(None) => "no line recorded".to_owned(),
    }
}

/// A difference with its sign; nothing where there is none.
pub(crate) fn signed(change: Change) -> String {
    match change {
        change if change.is_none() => "0".to_owned(),
        change if change.b > change.a => format!("+{}", change.more()),
        change => format!("-{}", change.less()),
    }
}

/// A difference in percent, without its sign; nothing where it cannot be told.
pub(crate) fn percent(change: Change) -> String {
    change.share().map_or_else(String::new, |share| format!("{:.1}%", (share * 100.0).abs()))
}

/// A doubt as a sentence.
pub(crate) fn doubt(doubt: &Doubt) -> String {
    match doubt {
        Doubt::Settings => "the allocator's settings differ; both are replayed under those of A".to_owned(),
        Doubt::Version => {
            "the versions of PyTorch differ; both are replayed on the allocator of A's".to_owned()
        }
        Doubt::RanOut { a, b } => {
            let who = match (a, b) {
                (true, true) => "A and B ran",
                (true, false) => "A ran",
                _ => "B ran",
            };
            format!("{who} out of memory: what would have been needed after that is not recorded")
        }
        Doubt::Steps => {
            "A and B made different numbers of steps, and what is kept grows with every step".to_owned()
        }
        Doubt::NoLine(change) => {
            format!("no line was recorded for {} of A's peak and {} of B's", change.a, change.b)
        }
    }
}

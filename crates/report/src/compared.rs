//! Words for two recordings compared, in text, in JSON and on the page.

use oomph_diagnose::diff::{Change, Comparison, Doubt, LineChange, Need, Where};
use oomph_trace::Bytes;

use crate::numbers::{count, counted};
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

/// `B needs 512.00 MiB more (8.4%): train.py:31 step, 512.00 MiB more`.
pub(crate) fn answer(found: &Comparison) -> String {
    let need = found.requested();
    let share = Some(percent(need)).filter(|share| !share.is_empty());
    let share = share.map(|share| format!(" ({share})")).unwrap_or_default();
    let first = found.first().map(|line| format!(": {}, {}", place(line.place()), differs(line)));
    match (need, first) {
        _ if found.is_same() => format!("no difference: both need {}", need.b),
        (need, None) if need.is_none() && found.reserved().is_none() => {
            format!("no difference at the peak: both need {}", need.b)
        }
        (need, first) if need.is_none() => {
            format!(
                "B needs as much as A, {}{}",
                need.b,
                first.map(|first| "; but".to_owned() + &first[1..]).unwrap_or_default()
            )
        }
        (need, first) => {
            let (by, word) = if need.b > need.a { (need.more(), "more") } else { (need.less(), "less") };
            format!("B needs {by} {word}{share}{}", first.unwrap_or_default())
        }
    }
}

/// What became of a line, with the amount: `512.00 MiB more`, `96.00 MiB, new`.
fn differs(line: &LineChange) -> String {
    let change = line.change();
    match fate(line) {
        "new" => format!("{}, new", change.b),
        "gone" => format!("{}, gone", change.a),
        _ if change.b > change.a => format!("{} more", change.more()),
        _ => format!("{} less", change.less()),
    }
}

/// Which recording it is, and when its peak was.
pub(crate) fn side(name: &str, need: &Need) -> String {
    let step = need.step.map(|step| format!(", in step {step}")).unwrap_or_default();
    let phase = need.phase.map(|phase| format!(", {}", phase.name())).unwrap_or_default();
    let steps =
        if need.steps > 0 { format!("; {} found", counted(need.steps, "step")) } else { String::new() };
    format!("{name}: peak at event {}{step}{phase}{steps}", count(need.event.0))
}

/// What to know before trusting the figures.
pub(crate) fn minds(found: &Comparison) -> Vec<String> {
    let before = [("A", found.a.before_start), ("B", found.b.before_start)];
    let before = before.iter().filter(|(_, bytes)| *bytes > Bytes::ZERO);
    let before = before.map(|(name, bytes)| {
        format!("{name} began with {bytes} in use that has no line: compared is what is needed beyond that")
    });
    let aside = [("A", "B", found.a.set_aside), ("B", "A", found.b.set_aside)];
    let aside = aside.iter().filter(|(_, _, bytes)| *bytes > Bytes::ZERO);
    let aside = aside.map(|(name, other, bytes)| {
        format!("{bytes} that {name} asks for was there before {other}'s recording began, by its sizes: not counted")
    });
    before.chain(aside).chain(found.doubts.iter().map(doubt)).collect()
}

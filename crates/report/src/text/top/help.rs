//! The keys, as a screen and as the last line.

use super::{Line, Screen};

/// Each key and what it does, in the order of help.
pub const KEYS: &[(&str, &str)] = &[
    ("up down", "choose a job"),
    ("enter", "the chosen job alone; esc goes back"),
    ("m", "sort by memory: what PyTorch holds, the most first"),
    ("g", "sort by growth: the job with the least time left first"),
    ("t", "sort by time: the job that has run longest first"),
    ("p", "sort by pid"),
    ("d", "dump: the chosen job writes its recording and goes on"),
    ("?", "these keys"),
    ("q", "quit"),
];

/// What the words on the screen mean.
const WORDS: &[(&str, &str)] = &[
    ("in use", "by tensors"),
    ("cached", "held by PyTorch and not in use"),
    ("peak", "the most that was in use"),
    ("left", "from what is in use to the limit, or to the end of the card"),
    ("!", "what remains after each step grows, and will reach the limit"),
];

/// The screen of help.
pub(super) fn lines() -> Vec<Line> {
    let row = |(key, what): &(&str, &str)| Line::plain(format!("  {key:<9}{what}"));
    let mut lines = vec![Line::strong("oomph top: keys"), Line::plain("")];
    lines.extend(KEYS.iter().map(row));
    lines.extend([Line::plain(""), Line::strong("words")]);
    lines.extend(WORDS.iter().map(row));
    lines
}

/// The last line of a screen: the keys that do something there.
pub(super) fn shown_below(screen: Screen, width: usize) -> String {
    match screen {
        Screen::List if width >= 76 => {
            "m memory  g growth  t time  p pid   enter one job   d dump   ? help   q quit".to_owned()
        }
        Screen::List => "m g t p sort  enter  d dump  ? help  q".to_owned(),
        Screen::Job => "esc back   up down other job   d dump   ? help   q quit".to_owned(),
        Screen::Help => "esc back   q quit".to_owned(),
    }
}

//! Tracebacks: Python's, IPython's old and recent ones, with whatever stood in front of their lines.

use super::text::{Text, after, around, find};

/// Lines from a message in which its traceback is looked for.
const REACH: usize = 400;
/// Bytes before a message in which the failure it was handling is looked for.
const HANDLED: usize = 32 << 10;

/// A frame of a traceback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub file: String,
    pub line: u32,
    pub function: String,
    /// The line's code, where printed.
    pub code: String,
}

impl Frame {
    /// Its file, line and function.
    pub(super) fn line(&self) -> (&str, u32, &str) {
        (&self.file, self.line, &self.function)
    }
}

/// The frames that lead to a message, outermost first: those of the last traceback above it, or, where there is
/// none, of the first below. Only lines of the message's own stream count.
pub(super) fn frames(text: &Text, message: usize) -> Vec<Frame> {
    let line = text.line_of(message);
    let reach = (line.saturating_sub(REACH)..line).rev().take_while(|index| !ends_above(text, *index, line));
    let above = read(text, line - reach.count()..line, line);
    if above.is_empty() { below(text, message) } else { above }
}

/// The frames of the first traceback below a message.
pub(super) fn below(text: &Text, message: usize) -> Vec<Frame> {
    let line = text.line_of(message);
    read(text, line + 1..text.len().min(line + REACH), line)
}

/// Whether a traceback above cannot reach past this line: another exception ended there.
fn ends_above(text: &Text, index: usize, message: usize) -> bool {
    let line = text.line(index);
    text.prefixes[index] == text.prefixes[message]
        && (line.starts_with("During handling of") || line.starts_with("The above exception was"))
}

fn read(text: &Text, indices: impl Iterator<Item = usize>, message: usize) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    let mut open = false;
    let prefix = &text.prefixes[message];
    for index in indices.filter(|index| text.prefixes[*index] == *prefix) {
        let line = text.line(index);
        if line.contains("Traceback (most recent call last)") {
            frames.clear();
        } else if let Some(frame) = frame(line) {
            frames.push(frame);
            open = true;
        } else if let Some(last) = frames.last_mut() {
            // IPython marks the line; Python prints it right behind the frame.
            let marked =
                line.trim_start().strip_prefix("--").map(|rest| rest.trim_start_matches(['-', '>', ' ']));
            if let Some((number, code)) = marked.and_then(|rest| super::size::leading_number(rest)) {
                last.line = u32::try_from(number).unwrap_or(last.line);
                last.code = code.trim().to_owned();
            } else if open && last.code.is_empty() {
                last.code = line.trim().to_owned();
            }
            open = false;
        }
    }
    frames
}

/// The frame a line announces.
fn frame(line: &str) -> Option<Frame> {
    let line = line.trim();
    let number =
        |rest: &str| super::size::leading_number(rest).and_then(|(number, _)| number.try_into().ok());
    let found = |file: &str, line: u32, function: &str| {
        Some(Frame { file: file.to_owned(), line, function: name(function), code: String::new() })
    };
    // File "train.py", line 61, in main
    if let Some(rest) = line.strip_prefix("File \"").or_else(|| after(line, " File \"")) {
        let (file, rest) = rest.split_once("\", line ")?;
        let function = rest.split_once(", in ").map_or("", |(_, name)| name);
        return found(file, number(rest)?, function);
    }
    // File ~/train.py:61, in main(args)
    if let Some(rest) = line.strip_prefix("File ") {
        let (place, function) = rest.split_once(", in ").unwrap_or((rest, ""));
        let (file, line) = place.rsplit_once(':')?;
        return found(file, number(line)?, function);
    }
    // Cell In[3], line 5 · Input In [3], in <cell line: 1>()
    if line.starts_with("Cell In") || line.starts_with("Input In") {
        let (file, rest) = line.split_at(line.find(']')? + 1);
        let at = after(rest, "line: ").or_else(|| after(rest, "line ")).and_then(number).unwrap_or(0);
        let function = rest.split_once(", in ").map_or("<module>", |(_, name)| name);
        return found(file, at, function);
    }
    // <ipython-input-3-abc> in <module> · /job/train.py in forward(self, x)
    let (file, function) = line.split_once(" in ")?;
    let is_file = file.starts_with("<ipython-input") || file.ends_with(".py") && !file.contains(' ');
    if is_file { found(file, 0, function) } else { None }
}

fn name(function: &str) -> String {
    let function = function.trim().trim_end_matches(['"', '\'']);
    let end = function.find('(').unwrap_or(function.len());
    let end = if function.starts_with('<') { function.find('>').map_or(end, |at| at + 1) } else { end };
    if function.starts_with("<cell line") { "<module>".to_owned() } else { function[..end].to_owned() }
}

/// Whether a message was written while an earlier one was being handled.
pub(super) fn is_within_handler(text: &Text, message: usize) -> bool {
    let before = &text.flat[around(&text.flat, &(message..message), HANDLED, 0)];
    let Some(handling) = before.rfind("During handling of the above exception") else { return false };
    find(&before[..handling], "out of memory").is_some()
}

//! From the bytes of a line to what was said in it: no colours, no escapes, no prefix of a launcher or a logger.

/// A line and what stood in front of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cleaned {
    pub prefix: String,
    pub text: String,
}

/// The lines that a raw line stands for: one, or several where line feeds were escaped into it (JSON, `repr`).
pub(super) fn lines(raw: &[u8]) -> Vec<Cleaned> {
    let plain = without_controls(raw);
    match unescaped(&plain) {
        Some(text) => text.lines().map(split_prefix).collect(),
        None => vec![split_prefix(&plain)],
    }
}

/// Decoded, without terminal sequences and control characters.
fn without_controls(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                Some('[') => while chars.next().is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c)) {},
                Some(']') => while chars.next().is_some_and(|c| c != '\u{7}' && c != '\u{1b}') {},
                _ => {}
            },
            // A colour whose escape character was lost on the way: `[0;31m`.
            '[' if is_bare_colour(&chars) => while chars.next().is_some_and(|c| c != 'm') {},
            '\t' => out.push('\t'),
            '\u{a0}' => out.push(' '),
            c if c.is_control() || c == '\u{feff}' || c == '\u{fffd}' => {}
            c => out.push(c),
        }
    }
    out
}

fn is_bare_colour(rest: &std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    let mut rest = rest.clone();
    rest.next_if(char::is_ascii_digit).is_some()
        && rest.find(|c| !c.is_ascii_digit() && *c != ';').is_some_and(|c| c == 'm')
}

/// The text with `\n`, `\"` and the like resolved, where it looks escaped as a whole. A Windows path alone does not.
fn unescaped(text: &str) -> Option<String> {
    let quoted = text.contains("\\\"") || text.contains("\":") || text.contains("\\u001b");
    let wrapped = ["\\nTraceback", "\\n  File", "\\nRuntimeError", "\\ntorch.", "Error: CUDA"];
    if !text.contains("\\n")
        || !(quoted || wrapped.iter().any(|part| text.contains(part)) || text.starts_with(['\'', '"']))
    {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, false) => out.push(c),
            (_, true) => match chars.next() {
                Some('n' | 'r') => out.push('\n'),
                Some('t') => out.push(' '),
                Some('u') => {
                    let code: String = chars.by_ref().take(4).collect();
                    let decoded = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32);
                    out.extend(decoded.filter(|c| !c.is_control()));
                }
                Some(other) => out.push(other),
                None => {}
            },
        }
    }
    Some(out)
}

/// Launchers, containers and loggers write in front of a line: `[rank3]:`, `web-1  |`, a time, a level, a source line.
fn split_prefix(line: &str) -> Cleaned {
    let mut rest = line;
    while let Some(next) = without_decoration(rest) {
        rest = next;
    }
    let prefix = &line[..line.len() - rest.len()];
    Cleaned { prefix: stream_of(prefix), text: without_frame(rest).to_owned() }
}

/// The line without what says that it goes on, or that a box ends: a backslash, a bar.
fn without_frame(line: &str) -> &str {
    let end = line.trim_end();
    match end.strip_suffix(" \\").or_else(|| end.strip_suffix(" │")) {
        Some(rest) => rest.trim_end(),
        None => line,
    }
}

/// The words of a prefix that name a stream: without what changes from line to line.
fn stream_of(prefix: &str) -> String {
    let is_name = |word: &&str| {
        word.contains(char::is_alphabetic)
            && !is_moment(word)
            && !is_source_line(word)
            && !word.contains(".py:")
    };
    let words: Vec<&str> = prefix.split_whitespace().filter(is_name).filter(|word| !is_level(word)).collect();
    words.join(" ")
}

/// How severe a line is, and which of the two streams it was written to.
const LEVELS: [&str; 13] = [
    "DEBUG", "INFO", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "E", "W", "I", "F", "stdout", "stderr",
];

fn is_level(word: &str) -> bool {
    LEVELS.contains(&word.trim_matches(|c: char| !c.is_ascii_alphabetic()))
}

/// The line without one leading decoration, if it has one.
fn without_decoration(line: &str) -> Option<&str> {
    let start = line.trim_start();
    let word_end = start.find(char::is_whitespace).unwrap_or(start.len());
    let (word, behind) = start.split_at(word_end);
    if word.is_empty() {
        return None;
    }
    if matches!(word, ">" | "|" | ">>" | "│" | "F" | "P") || is_level(word) && behind.starts_with(' ') {
        return Some(after_one_space(behind));
    }
    // Docker compose: a service, spaces, a bar.
    if let Some(bar) = behind.trim_start().strip_prefix("| ") {
        return Some(bar);
    }
    if is_moment(word) || is_source_line(word) {
        return Some(after_one_space(behind));
    }
    let close = match start.as_bytes()[0] {
        b'[' => start.find(']')?,
        b'(' => start.find(')')?,
        _ => return label(start),
    };
    let inside = &start[1..close];
    let rest = start[close + 1..].trim_start_matches("<stderr>").trim_start_matches("<stdout>");
    is_bracket(inside).then(|| after_one_space(rest.strip_prefix(':').unwrap_or(rest)))
}

/// Indentation says where a traceback's code is, so that only the separator goes.
fn after_one_space(text: &str) -> &str {
    text.strip_prefix(' ').unwrap_or(text)
}

/// `3: ` as `srun --label` writes it.
fn label(start: &str) -> Option<&str> {
    let digits = start.find(|c: char| !c.is_ascii_digit()).filter(|end| (1..=4).contains(end))?;
    start[digits..].strip_prefix(": ")
}

/// `2024-01-01`, `00:00:03.000000:`, `01-01`, `2024-01-01T00:00:00.000Z`.
fn is_moment(word: &str) -> bool {
    let body = word.trim_end_matches([':', ',']);
    body.len() >= 5
        && body.starts_with(|c: char| c.is_ascii_digit())
        && body
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '-' | ':' | '.' | ',' | '/' | 'T' | 'Z' | '+'))
        && body.contains(['-', ':', '/'])
}

/// `tensorflow/core/common_runtime/bfc_allocator.cc:246]`, `bfc_allocator.cc:246]`.
fn is_source_line(word: &str) -> bool {
    word.ends_with(']') && [".cc:", ".cpp:", ".h:"].iter().any(|suffix| word.contains(suffix))
}

/// What is inside `[…]` or `(…)` at the start of a line, if it says who or when and not what.
fn is_bracket(inside: &str) -> bool {
    let has_digit = inside.contains(|c: char| c.is_ascii_digit());
    let is_short = inside.len() <= 80;
    let named = ["rank", "pid", "default", "Worker", "EngineCore", "ip=", ".py:", "worker", "node"];
    let is_moment = inside.chars().all(|c| !c.is_ascii_alphabetic()) && has_digit;
    let first = inside.split_whitespace().next().unwrap_or_default();
    is_short
        && (is_moment
            || is_level(inside)
            || self::is_moment(first)
            || has_digit && named.iter().any(|name| inside.contains(name)) && !inside.contains("GiB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: &str, expected: &[(&str, &str)]) {
        let cleaned = lines(raw.as_bytes());
        let shown: Vec<(&str, &str)> =
            cleaned.iter().map(|line| (line.prefix.as_str(), line.text.as_str())).collect();
        assert_eq!(shown, expected, "{raw}");
    }

    #[test]
    fn what_others_put_in_front_of_a_line_goes() {
        check("[rank3]:   File \"a.py\", line 3, in f", &[("[rank3]:", "  File \"a.py\", line 3, in f")]);
        check(
            "(VllmWorker rank=0 pid=47) ERROR 01-01 00:00:01 [multiproc_executor.py:375] torch.E: x",
            &[("(VllmWorker rank=0 pid=47)", "torch.E: x")],
        );
        check(
            "2020-01-01 00:00:03.000000: W tensorflow/core/bfc_allocator.cc:246] Allocator (GPU_0_bfc)",
            &[("", "Allocator (GPU_0_bfc)")],
        );
        check("trainer-1  | RuntimeError: x", &[("trainer-1", "RuntimeError: x")]);
        check("2024-05-01T10:00:00.123456789Z stderr F RuntimeError: x", &[("", "RuntimeError: x")]);
        check(
            "[enforce fail at alloc_cpu.cpp:72] data.",
            &[("", "[enforce fail at alloc_cpu.cpp:72] data.")],
        );
        check("[100000.000001] Out of memory", &[("", "Out of memory")]);
        check("Tried to allocate 2.00 \\", &[("", "Tried to allocate 2.00")]);
        check("│ Tried to allocate 2.00 GiB        │", &[("", "Tried to allocate 2.00 GiB")]);
    }

    #[test]
    fn colours_and_escapes_are_resolved() {
        check("\u{1b}[0;31mRuntimeError\u{1b}[0m: x", &[("", "RuntimeError: x")]);
        check(
            "{\"log\": \"Traceback\\n  File \\\"a.py\\\"\\nKeyError: x\"}",
            &[("", "{\"log\": \"Traceback"), ("", "  File \"a.py\""), ("", "KeyError: x\"}")],
        );
        check("File \"C:\\new\\train.py\"", &[("", "File \"C:\\new\\train.py\"")]);
    }
}

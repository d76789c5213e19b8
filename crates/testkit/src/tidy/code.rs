//! Rust code without its comments and literals, so that rules about code do not trip over prose.

/// The code with comments blanked out and the contents of literals replaced by quotes; lines stay where they are.
pub fn code_only(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let last = out.chars().next_back();
        let (length, fill) = if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), ' ')
        } else if rest.starts_with("/*") {
            (block_comment(rest), ' ')
        } else if let Some(length) = raw_string(rest, last) {
            (length, '"')
        } else if c == '"' {
            (quoted(rest, '"'), '"')
        } else if c == '\'' && is_char_literal(rest) {
            (quoted(rest, '\''), '"')
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        out.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { fill }));
        rest = &rest[length..];
    }
    out
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < text.len() {
        let here = &text.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// The length of a literal from its opening quote to its closing one.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// The length of `r"…"`, `r#"…"#` and `br"…"`, if the text begins with one; `last` is the character before it.
fn raw_string(text: &str, last: Option<char>) -> Option<usize> {
    if last.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let body = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = body.bytes().take_while(|byte| *byte == b'#').count();
    let inside = body[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let before = text.len() - inside.len();
    Some(inside.find(&end).map_or(text.len(), |at| before + at + end.len()))
}

/// `'a'` and `'\n'` are literals, `'a` is a lifetime.
fn is_char_literal(text: &str) -> bool {
    let mut chars = text.chars().skip(1);
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

//! From the bytes that a terminal sends to keys.

/// A key that somebody pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Up,
    Down,
    Enter,
    Escape,
    /// Ctrl-Z.
    Suspend,
    /// Ctrl-C.
    Interrupt,
}

const ESCAPE: u8 = 0x1b;

/// Takes whole keys from the front of `bytes`, and drops what means nothing here. A sequence that is not whole stays,
/// unless the terminal `is_quiet`: then an escape alone is the key of that name.
pub(super) fn decode(bytes: &mut Vec<u8>, is_quiet: bool) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let rest = &bytes[at + 1..];
        let (key, length) = match byte {
            &ESCAPE => match sequence(rest) {
                Some((key, length)) => (key, 1 + length),
                None if is_quiet => (Some(Key::Escape), 1),
                None => break,
            },
            b'\r' | b'\n' => (Some(Key::Enter), 1),
            0x03 => (Some(Key::Interrupt), 1),
            0x1a => (Some(Key::Suspend), 1),
            byte if byte.is_ascii_graphic() || *byte == b' ' => (Some(Key::Char(char::from(*byte))), 1),
            _ => (None, 1),
        };
        keys.extend(key);
        at += length;
    }
    bytes.drain(..at);
    keys
}

/// What follows an escape: the key and how many bytes that is; `None` where it is not whole.
fn sequence(rest: &[u8]) -> Option<(Option<Key>, usize)> {
    match rest {
        [] | [b'[' | b'O'] => None,
        [b'O', letter, ..] => Some((arrow(*letter), 2)),
        [b'[', more @ ..] => {
            // Numbers and semicolons, then one byte that ends it.
            let end = more.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
            Some((arrow(more[end]), end + 2))
        }
        // Somebody pressed escape, and then something else.
        _ => Some((Some(Key::Escape), 0)),
    }
}

fn arrow(letter: u8) -> Option<Key> {
    match letter {
        b'A' => Some(Key::Up),
        b'B' => Some(Key::Down),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], is_quiet: bool, expected: &[Key], left: &[u8]) {
        let mut bytes = bytes.to_vec();
        assert_eq!(decode(&mut bytes, is_quiet), expected);
        assert_eq!(bytes, left);
    }

    #[test]
    fn keys_are_told_apart() {
        use Key::{Char, Down, Enter, Interrupt, Suspend, Up};
        check(b"mq?", false, &[Char('m'), Char('q'), Char('?')], b"");
        check(b"\x1b[A\x1b[B\x1bOA\r\n", false, &[Up, Down, Up, Enter, Enter], b"");
        check(b"\x03\x1a", false, &[Interrupt, Suspend], b"");
        check(b"\x1b[1;5A", false, &[Up], b"");
    }

    #[test]
    fn what_means_nothing_is_dropped_whole() {
        check(b"\x1b[15~\x1b[<0;12;3Mx", false, &[Key::Char('x')], b"");
        check("ü\u{1f600}x\x00".as_bytes(), false, &[Key::Char('x')], b"");
    }

    #[test]
    fn an_escape_is_a_key_once_nothing_follows_it() {
        check(b"\x1b", false, &[], b"\x1b");
        check(b"\x1b", true, &[Key::Escape], b"");
        check(b"a\x1b[", false, &[Key::Char('a')], b"\x1b[");
        check(b"\x1b[", true, &[Key::Escape, Key::Char('[')], b"");
        check(b"\x1b\x1b", true, &[Key::Escape, Key::Escape], b"");
        check(b"\x1bq", false, &[Key::Escape, Key::Char('q')], b"");
        check(b"\x1b[12", false, &[], b"\x1b[12");
    }
}

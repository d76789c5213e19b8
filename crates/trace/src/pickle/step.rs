//! Running the opcodes that lie in the window. This is the hot loop of the reader.

use super::Shapes;
use super::input::MARGIN;
use super::opcode as op;
use super::state::State;
use super::value::{Kind, NO_SLOT, Value};

/// Why the opcodes in the window were not run any further.
pub(super) enum Pause<R> {
    /// The next opcode may not lie in the window as a whole.
    More,
    /// The file ends inside the next opcode.
    Cut,
    /// A text of this length comes next; its opcode has been passed.
    Text(u64),
    /// This many bytes come next that are not needed; their opcode has been passed.
    Bytes(u64),
    /// The pickle ends with this value.
    Stop(Value<R>),
    /// The next opcode makes no sense here.
    Fail(&'static str),
    /// The next byte is not an opcode, or is one that is refused.
    Unknown(u8),
}

/// Runs the opcodes at the start of `bytes` as long as at least `spare` bytes of the file lie ahead. The last
/// [`MARGIN`] of `bytes` do not belong to the file. Returns how many bytes were passed.
pub(super) fn run<S: Shapes>(state: &mut State<S>, bytes: &[u8], spare: usize) -> (usize, Pause<S::Record>) {
    let end = bytes.len() - MARGIN;
    let mut pos = 0;
    loop {
        let Some(ahead) = bytes.get(pos..pos + MARGIN).and_then(|ahead| ahead.first_chunk::<MARGIN>()) else {
            return (pos, Pause::More);
        };
        // If the window's end is far enough, sequences of opcodes that every event has are run as one.
        let roomy = pos + MARGIN <= end;
        if !roomy {
            if pos >= end || end - pos < spare {
                return (pos, Pause::More);
            }
            if pos + op::width(ahead[0]) > end {
                return (pos, Pause::Cut);
            }
        }
        let len = match ahead[0] {
            op::BINGET if roomy => match state.get(u32::from(ahead[1])) {
                Ok(()) if ahead[2] == op::BINGET => state.get(u32::from(ahead[3])).map(|()| 4),
                Ok(()) => match integer(&ahead[2..]) {
                    Some((n, len)) => push(state, Value::Int(n), 2 + len),
                    None => Ok(2),
                },
                Err(what) => Err(what),
            },
            op::BINGET => state.get(u32::from(ahead[1])).map(|()| 2),
            op::LONG_BINGET => state.get(u32_of(ahead)).map(|()| 5),
            op::MEMOIZE => state.memoize().map(|()| 1),
            op::BINPUT => state.put(u32::from(ahead[1])).map(|()| 2),
            op::LONG_BINPUT => state.put(u32_of(ahead)).map(|()| 5),

            op::MARK => Ok(1 + state.mark(&bytes[pos + 1..end])),
            op::SETITEMS => state.unmark().and_then(|start| state.set_items(start)).map(|()| 1),
            op::APPENDS => state.unmark().and_then(|start| state.append(start)).map(|()| 1),
            op::SETITEM => state.top(2).and_then(|start| state.set_items(start)).map(|()| 1),
            op::APPEND => state.top(1).and_then(|start| state.append(start)).map(|()| 1),
            op::EMPTY_DICT if roomy && ahead[1..3] == [op::MEMOIZE, op::MARK] => {
                state.push_memoized(Kind::Dict).map(|()| state.open_mark()).map(|()| 3)
            }
            op::EMPTY_LIST if roomy && ahead[1..3] == [op::MEMOIZE, op::MARK] => {
                state.push_memoized(Kind::List).map(|()| 3 + state.mark(&bytes[pos + 3..end]))
            }
            op::EMPTY_DICT => push(state, Value::Empty(Kind::Dict, NO_SLOT), 1),
            op::EMPTY_LIST => push(state, Value::Empty(Kind::List, NO_SLOT), 1),
            op::TUPLE2 => state.top(2).map(|start| state.tuple(start)).map(|()| 1),

            op::BININT | op::BININT1 | op::BININT2 | op::LONG1 | op::LONG4 => match integer(ahead) {
                Some((_, len)) if pos + len > end => return (pos, Pause::Cut),
                Some((n, len)) => push(state, Value::Int(n), len),
                None => match long_integer(ahead) {
                    Long::Value(_, len) if pos + len > end => return (pos, Pause::Cut),
                    Long::Value(value, len) => push(state, value, len),
                    Long::Beyond(len, bytes) => return (pos + len, Pause::Bytes(bytes)),
                },
            },
            op::BINFLOAT => push(state, Value::Float(f64::from_bits(u64_of(&ahead[1..]).swap_bytes())), 9),
            op::NONE => push(state, Value::None, 1),
            op::NEWTRUE => push(state, Value::Bool(true), 1),
            op::NEWFALSE => push(state, Value::Bool(false), 1),

            op::SHORT_BINUNICODE | op::SHORT_BINSTRING => {
                let len = usize::from(ahead[1]);
                match bytes[..end].get(pos + 2..pos + 2 + len) {
                    Some(text) if bytes[pos + 2 + len] == op::MEMOIZE && pos + 2 + len < end => {
                        state.push_short_text(text);
                        state.memoize().map(|()| 3 + len)
                    }
                    Some(text) => {
                        state.push_short_text(text);
                        Ok(2 + len)
                    }
                    None => return (pos + 2, Pause::Text(len as u64)),
                }
            }
            op::BINUNICODE | op::BINSTRING => {
                let len = u32_of(ahead) as usize;
                match bytes[..end].get(pos + 5..).and_then(|rest| rest.get(..len)) {
                    Some(text) => {
                        state.push_short_text(text);
                        Ok(5 + len)
                    }
                    None => return (pos + 5, Pause::Text(len as u64)),
                }
            }
            op::BINUNICODE8 => return (pos + 9, Pause::Text(u64_of(&ahead[1..]))),
            op::SHORT_BINBYTES => return (pos + 2, Pause::Bytes(u64::from(ahead[1]))),
            op::BINBYTES => return (pos + 5, Pause::Bytes(u64::from(u32_of(ahead)))),
            op::BINBYTES8 | op::BYTEARRAY8 => return (pos + 9, Pause::Bytes(u64_of(&ahead[1..]))),

            op::TUPLE1 => state.top(1).map(|start| state.tuple(start)).map(|()| 1),
            op::TUPLE3 => state.top(3).map(|start| state.tuple(start)).map(|()| 1),
            op::TUPLE => state.unmark().map(|start| state.tuple(start)).map(|()| 1),
            op::LIST => state.unmark().and_then(|start| state.list(start)).map(|()| 1),
            op::DICT => state.unmark().and_then(|start| state.dict(start)).map(|()| 1),
            op::EMPTY_TUPLE | op::EMPTY_SET => push(state, Value::Opaque, 1),
            op::ADDITEMS | op::POP_MARK => {
                state.unmark().map(|start| state.stack.truncate(start)).map(|()| 1)
            }
            op::FROZENSET => state
                .unmark()
                .map(|start| state.stack.truncate(start))
                .and_then(|()| push(state, Value::Opaque, 1)),
            op::POP => state.discard().map(|()| 1),
            op::DUP => state.dup().map(|()| 1),

            op::FRAME => Ok(9),
            op::PROTO => Ok(2),
            op::STOP => match state.pop() {
                Ok(value) => return (pos + 1, Pause::Stop(value)),
                Err(what) => Err(what),
            },
            other => return (pos, Pause::Unknown(other)),
        };
        match len {
            Ok(len) => pos += len,
            Err(what) => return (pos, Pause::Fail(what)),
        }
    }
}

/// Pushes a value whose opcode has `len` bytes.
#[inline]
fn push<S: Shapes>(state: &mut State<S>, value: Value<S::Record>, len: usize) -> Result<usize, &'static str> {
    state.stack.push(value);
    Ok(len)
}

/// The operand of four bytes.
#[inline]
fn u32_of(ahead: &[u8; MARGIN]) -> u32 {
    u32::from_le_bytes([ahead[1], ahead[2], ahead[3], ahead[4]])
}

/// The first eight bytes.
#[inline]
fn u64_of(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The integer that `ahead` begins with, if it is one of the usual ones, and its opcode's length.
#[inline]
fn integer(ahead: &[u8]) -> Option<(i64, usize)> {
    let operand = u64_of(&ahead[1..]);
    match ahead[0] {
        op::BININT1 => Some((i64::from(operand as u8), 2)),
        op::BININT2 => Some((i64::from(operand as u16), 3)),
        op::BININT => Some((i64::from((operand as u32).cast_signed()), 5)),
        op::LONG1 => match ahead[1] {
            // The bytes beyond are shifted out, and the sign is shifted in.
            len @ 1..=8 => {
                let beyond = 64 - 8 * len;
                Some((u64_of(&ahead[2..]).cast_signed() << beyond >> beyond, 2 + usize::from(len)))
            }
            _ => None,
        },
        _ => None,
    }
}

/// An integer of unusual length.
enum Long<R> {
    /// The value, and its opcode's length.
    Value(Value<R>, usize),
    /// It needs more than 64 bits: the opcode's length without the integer, and the integer's.
    Beyond(usize, u64),
}

/// The integer that `ahead` begins with, LONG1 or LONG4: two's complement, little end first.
fn long_integer<R>(ahead: &[u8; MARGIN]) -> Long<R> {
    let (start, len) = match ahead[0] {
        op::LONG1 => (2, u32::from(ahead[1])),
        _ => (5, u32_of(ahead)),
    };
    if len > 9 {
        return Long::Beyond(start, u64::from(len));
    }
    let bytes = &ahead[start..start + len as usize];
    let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut wide = [if negative { 0xff } else { 0 }; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    let n = i128::from_le_bytes(wide);
    let value = match (i64::try_from(n), u64::try_from(n)) {
        (Ok(n), _) => Value::Int(n),
        (_, Ok(n)) => Value::Big(n),
        _ => Value::Opaque,
    };
    Long::Value(value, start + bytes.len())
}

//! The machine that reads a pickle: input, opcodes, state.

use std::io::Read;

use super::heap::Heap;
use super::input::{Input, MARGIN};
use super::state::State;
use super::step::{Pause, run};
use super::value::Value;
use super::{Shapes, foreign, opcode as op};
use crate::error::ReadError;
use crate::text::Texts;

/// How many values of 16 bytes every file may hold: 64 MiB.
const BASE: u64 = 4 << 20;
/// How many more values each byte of the stored file may hold. A plain file stays far below that; packed snapshots need
/// about one, bombs hundreds.
const PER_STORED_BYTE: u64 = 32;

/// What a pickle holds.
pub(crate) struct Outcome<S: Shapes> {
    pub(crate) value: Value<S::Record>,
    pub(crate) heap: Heap<S::Record>,
    pub(crate) shapes: S,
}

/// Reads one pickle. `texts` may hold words that the layer above knows by number.
pub(crate) fn read<S: Shapes>(input: impl Read, texts: Texts, shapes: S) -> Result<Outcome<S>, ReadError> {
    let mut machine =
        Machine { input: Input::open(input)?, state: State::new(texts, shapes), long_text: Vec::new() };
    machine.header()?;
    let value = machine.run()?;
    machine.input.finish()?;
    let State { heap, shapes, .. } = machine.state;
    Ok(Outcome { value: heap.current(value), heap, shapes })
}

struct Machine<R: Read, S: Shapes> {
    input: Input<R>,
    state: State<S>,
    /// The part that has arrived of a text that does not lie in the window as a whole.
    long_text: Vec<u8>,
}

impl<R: Read, S: Shapes> Machine<R, S> {
    fn header(&mut self) -> Result<(), ReadError> {
        self.input.slide()?;
        match *self.input.ahead() {
            [op::PROTO, 2..=5, ..] => Ok(()),
            [op::PROTO, version, ..] => Err(ReadError::Protocol { version }),
            [op::PROTO] => Err(self.truncated("its header")),
            _ => Err(foreign::explain(self.input.ahead())),
        }
    }

    fn run(&mut self) -> Result<Value<S::Record>, ReadError> {
        loop {
            // Near the window's end only those opcodes are run that lie in it as a whole.
            let spare = if self.input.exhausted() { 0 } else { MARGIN };
            let (count, pause) = run(&mut self.state, self.input.ahead_and_margin(), spare);
            self.input.skip(count);
            let at = self.input.at();
            match pause {
                Pause::More if self.input.exhausted() => return Err(self.truncated("a value")),
                Pause::More => self.slide()?,
                Pause::Cut => return Err(self.truncated("an opcode")),
                Pause::Text(len) => self.long_text(len)?,
                Pause::Bytes(len) => {
                    self.pieces(len, "a run of bytes", |_, _| {})?;
                    self.state.stack.push(Value::Opaque);
                }
                Pause::Stop(value) => return Ok(value),
                Pause::Fail(what) => return Err(ReadError::Damaged { at, what }),
                Pause::Unknown(byte) => return Err(refuse(at, byte)),
            }
        }
    }

    /// Moves the window, unless too much is held for what was read.
    fn slide(&mut self) -> Result<(), ReadError> {
        let at = self.input.at();
        if let Some(what) = self.state.overfull() {
            return Err(ReadError::TooMany { at, what });
        }
        let held = self.state.held() + self.long_text.len() as u64 / 16;
        let bytes = self.input.stored();
        if held > BASE + PER_STORED_BYTE.saturating_mul(bytes) {
            return Err(ReadError::Bomb { at, bytes });
        }
        self.input.slide()
    }

    fn long_text(&mut self, len: u64) -> Result<(), ReadError> {
        self.pieces(len, "a text", Vec::extend_from_slice)?;
        let text = std::mem::take(&mut self.long_text);
        self.state.push_text(&text);
        Ok(())
    }

    /// Takes `len` bytes as they arrive. A length is only a claim, so nothing is reserved for it.
    fn pieces(
        &mut self,
        mut len: u64,
        inside: &'static str,
        take: impl Fn(&mut Vec<u8>, &[u8]),
    ) -> Result<(), ReadError> {
        while len > 0 {
            let count = self.input.len().min(usize::try_from(len).unwrap_or(usize::MAX));
            if count == 0 {
                if self.input.exhausted() {
                    return Err(self.truncated(inside));
                }
                self.slide()?;
                continue;
            }
            take(&mut self.long_text, &self.input.ahead()[..count]);
            self.input.skip(count);
            len -= count as u64;
        }
        Ok(())
    }

    /// The file ends where the window does.
    fn truncated(&self, inside: &'static str) -> ReadError {
        ReadError::Truncated { at: self.input.at() + self.input.len() as u64, inside }
    }
}

fn refuse(at: u64, byte: u8) -> ReadError {
    match op::runs_code(byte) {
        Some(opcode) => ReadError::RunsCode { at, opcode },
        None if op::is_text(byte) => ReadError::Damaged { at, what: "an opcode of pickle protocol 0" },
        None => ReadError::Opcode { at, byte },
    }
}

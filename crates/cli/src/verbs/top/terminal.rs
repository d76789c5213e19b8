//! The terminal: taken over and given back, whatever happens; its size, its keys, and lines written to it.

use std::io::{self, Write};
use std::panic;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use oomph_launch::members::{self, EndWithUs};
use oomph_report::text::Colour;
use oomph_report::text::top::{Line, Size, Tone};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use super::keys::{Key, decode};

/// Another screen, no cursor, no lines that go on in the next, all empty.
const TAKE: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
/// All of that undone.
const GIVE_BACK: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/// How long the rest of a key's sequence is waited for.
const SEQUENCE: Duration = Duration::from_millis(50);
/// How long a signal that ends this process waits for a line that is being written.
const PATIENCE: Duration = Duration::from_millis(500);

/// A terminal in our hands. It is given back when this is dropped, at a panic, and before a signal ends the process.
pub(super) struct Terminal {
    held: Arc<Held>,
    colour: Colour,
    /// What the screen shows.
    shown: Vec<Line>,
    size: Size,
    bytes: Vec<u8>,
    _signals: EndWithUs,
}

/// What it takes to give the terminal back.
struct Held {
    original: Termios,
    /// Whether it is in our hands. Nobody writes without this.
    is_ours: Mutex<bool>,
}

impl Held {
    fn take(&self) -> io::Result<()> {
        let mut is_ours = self.is_ours.lock().unwrap_or_else(PoisonError::into_inner);
        let mut raw = self.original.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Flush, &raw)?;
        *is_ours = true;
        write(TAKE)
    }

    fn give_back(&self) {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.is_ours.try_lock() {
                Ok(mut is_ours) => {
                    if std::mem::replace(&mut *is_ours, false) {
                        self.restore();
                    }
                    return;
                }
                // Whoever writes may wait for a terminal that takes nothing any more, or have panicked.
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    thread::sleep(Duration::from_millis(5));
                }
                Err(_) => return self.restore(),
            }
        }
    }

    fn restore(&self) {
        // Nothing is left to do where the terminal is gone.
        let _ = write(GIVE_BACK);
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.original);
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

impl Terminal {
    /// Takes the terminal over.
    pub(super) fn take(colour: Colour) -> Result<Terminal> {
        let original = tcgetattr(io::stdin()).context("the terminal does not say how it is set")?;
        let held = Arc::new(Held { original, is_ours: Mutex::new(false) });
        let (at_signal, at_panic) = (Arc::clone(&held), Arc::clone(&held));
        let signals = members::before_we_end(move || at_signal.give_back())?;
        let say = panic::take_hook();
        panic::set_hook(Box::new(move |what| {
            at_panic.give_back();
            say(what);
        }));
        held.take()?;
        let size = Size { width: 0, height: 0 };
        Ok(Terminal { held, colour, shown: Vec::new(), size, bytes: Vec::new(), _signals: signals })
    }

    /// Stops this process as Ctrl-Z does, with the terminal given back; comes back when it is continued.
    pub(super) fn suspend(&mut self) -> Result<()> {
        self.held.give_back();
        kill_current_process_group(Signal::TSTP)?;
        self.held.take()?;
        self.shown.clear();
        Ok(())
    }

    /// The size as it is now: 80 × 24 where the terminal does not say.
    pub(super) fn size(&self) -> Size {
        match tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                Size { width: size.ws_col.into(), height: size.ws_row.into() }
            }
            _ => Size { width: 80, height: 24 },
        }
    }

    /// Shows a frame that was made for this size. Only lines that differ from what is there are written, all at once.
    pub(super) fn show(&mut self, frame: Vec<Line>, size: Size) -> Result<()> {
        let mut out = String::new();
        if size != self.size {
            out.push_str("\x1b[2J");
            self.shown.clear();
            self.size = size;
        }
        out.push_str(&changes(&self.shown, &frame, size, self.colour));
        self.shown = frame;
        let is_ours = self.held.is_ours.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_ours && !out.is_empty() {
            write(&out)?;
        }
        Ok(())
    }

    /// Waits for keys, at most so long. `None`: the terminal is gone.
    pub(super) fn keys(&mut self, longest: Duration) -> Result<Option<Vec<Key>>> {
        let patience = if self.bytes.is_empty() { longest } else { SEQUENCE };
        let stdin = io::stdin();
        let mut waits = [PollFd::new(&stdin, PollFlags::IN)];
        let patience = Timespec::try_from(patience).context("the time to wait is too long")?;
        match poll(&mut waits, Some(&patience)) {
            Err(rustix::io::Errno::INTR) => return Ok(Some(Vec::new())),
            Err(error) => return Err(error.into()),
            Ok(0) => return Ok(Some(decode(&mut self.bytes, true))),
            Ok(_) => {}
        }
        let mut buffer = [0; 256];
        match rustix::io::read(&stdin, &mut buffer) {
            Ok(0) | Err(rustix::io::Errno::IO) => Ok(None),
            Ok(length) => {
                self.bytes.extend(&buffer[..length]);
                Ok(Some(decode(&mut self.bytes, false)))
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(Some(Vec::new())),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.held.give_back();
    }
}

/// What makes one frame of another: the lines that differ, each at its place.
fn changes(shown: &[Line], frame: &[Line], size: Size, colour: Colour) -> String {
    let mut out = String::new();
    for (row, line) in frame.iter().take(size.height).enumerate() {
        if shown.get(row) != Some(line) {
            let text: String = line.text.chars().take(size.width).collect();
            // Where the line is full, there is nothing to erase but its last character.
            let is_full = line.tone == Tone::Chosen || text.chars().count() >= size.width;
            let erase = if is_full { "" } else { "\x1b[K" };
            out.push_str(&format!("\x1b[{};1H{}{erase}", row + 1, styled(&text, line.tone, size, colour)));
        }
    }
    out
}

/// The line with its tone. What is chosen fills the line, and is seen without colour too.
fn styled(text: &str, tone: Tone, size: Size, colour: Colour) -> String {
    let code = match (tone, colour) {
        (Tone::Chosen, _) => "7",
        (Tone::Plain, _) | (_, Colour::Off) => return text.to_owned(),
        (Tone::Strong, Colour::On) => "1",
        (Tone::Warning, Colour::On) => "31",
    };
    let width = if tone == Tone::Chosen { size.width } else { 0 };
    format!("\x1b[{code}m{text:<width$}\x1b[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[(&str, Tone)]) -> Vec<Line> {
        texts.iter().map(|(text, tone)| Line { text: (*text).to_owned(), tone: *tone }).collect()
    }

    #[test]
    fn only_lines_that_differ_are_written() {
        let size = Size { width: 5, height: 3 };
        let before = lines(&[("one", Tone::Strong), ("two", Tone::Plain), ("three", Tone::Plain)]);
        let after = lines(&[("one", Tone::Strong), ("2", Tone::Plain), ("four", Tone::Chosen)]);
        let written = |shown: &[Line], colour| changes(shown, &after, size, colour);
        assert_eq!(written(&before, Colour::On), "\x1b[2;1H2\x1b[K\x1b[3;1H\x1b[7mfour \x1b[0m");
        assert_eq!(written(&after, Colour::On), "");
        assert_eq!(
            written(&[], Colour::Off),
            "\x1b[1;1Hone\x1b[K\x1b[2;1H2\x1b[K\x1b[3;1H\x1b[7mfour \x1b[0m"
        );
    }

    #[test]
    fn a_frame_that_is_too_large_is_cut_and_a_full_line_keeps_its_end() {
        let size = Size { width: 3, height: 1 };
        let frame = lines(&[("abcd", Tone::Plain), ("below", Tone::Plain)]);
        assert_eq!(changes(&[], &frame, size, Colour::On), "\x1b[1;1Habc");
    }
}

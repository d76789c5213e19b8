//! Reading a file on a thread of its own, so that copying it from the system overlaps with making sense of it.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// How much is read at once.
const PIECE: usize = 1 << 20;
/// How many pieces may lie ready.
const PIECES: usize = 4;

/// A reader whose source is read ahead by another thread.
pub(crate) struct ReadAhead {
    ready: Receiver<io::Result<Vec<u8>>>,
    /// Pieces go back to be filled again.
    used: SyncSender<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

impl ReadAhead {
    /// Starts reading `source`.
    pub(crate) fn new(mut source: impl Read + Send + 'static) -> ReadAhead {
        let (filled, ready) = sync_channel(PIECES);
        let (used, empty) = sync_channel::<Vec<u8>>(PIECES + 2);
        thread::spawn(move || {
            loop {
                let mut piece = empty.try_recv().unwrap_or_default();
                piece.resize(PIECE, 0);
                let result = source.read(&mut piece).map(|count| {
                    piece.truncate(count);
                    piece
                });
                let is_last = !matches!(&result, Ok(piece) if !piece.is_empty());
                // Where nobody listens any more, the file was refused before its end.
                if filled.send(result).is_err() || is_last {
                    return;
                }
            }
        });
        ReadAhead { ready, used, piece: Vec::new(), at: 0 }
    }
}

impl Read for ReadAhead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() {
            // The thread ends after an error or the end of the source; both have been reported then.
            let next = self.ready.recv().unwrap_or_else(|_| Ok(Vec::new()))?;
            let used = std::mem::replace(&mut self.piece, next);
            self.at = 0;
            let _ = self.used.try_send(used);
        }
        let count = buffer.len().min(self.piece.len() - self.at);
        buffer[..count].copy_from_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_ahead_is_what_was_there() {
        let bytes: Vec<u8> = (0..3 * PIECE + 17).map(|n| (n % 251) as u8).collect();
        let mut read = Vec::new();
        ReadAhead::new(io::Cursor::new(bytes.clone())).read_to_end(&mut read).unwrap();
        assert!(read == bytes);
    }

    #[test]
    fn an_error_of_the_source_arrives() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        let error = ReadAhead::new(Broken).read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "broken");
    }
}

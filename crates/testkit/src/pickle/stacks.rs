//! Stacks as lists of frames. A frame is one dict however often it is used. A list is shared only by entries that were
//! recorded with the same context.

use std::io::{self, Write};

use oomph_trace::{Snapshot, StackId};

use super::encoder::{Encoder, Memo};
use super::words::Vocabulary;

/// Where each frame was written.
pub(super) struct Frames<'a> {
    snapshot: &'a Snapshot,
    memos: Vec<Option<Memo>>,
    empty: Option<Memo>,
}

impl<'a> Frames<'a> {
    pub(super) fn new(snapshot: &'a Snapshot) -> Frames<'a> {
        Frames { snapshot, memos: vec![None; snapshot.stacks.frame_count()], empty: None }
    }

    /// Writes a list of the stack's frames.
    pub(super) fn list<W: Write>(
        &mut self,
        out: &mut Encoder<W>,
        words: &mut Vocabulary,
        stack: StackId,
    ) -> io::Result<Memo> {
        let frames = self.snapshot.stacks.frames_of(stack);
        let list = out.open_list(frames.len());
        for (n, frame) in frames.iter().enumerate() {
            out.item(n, frames.len());
            if let Some(memo) = self.memos[frame.0 as usize] {
                out.again(memo);
                continue;
            }
            let entry = self.snapshot.stacks.frame(*frame);
            let dict = out.open_dict(3);
            words.word(out, "name");
            words.text(out, self.snapshot.texts.get(entry.function));
            words.word(out, "filename");
            words.text(out, self.snapshot.texts.get(entry.file));
            words.word(out, "line");
            out.int(entry.line.into());
            self.memos[frame.0 as usize] = Some(out.close_dict(dict)?);
        }
        out.close_list(list)
    }

    /// Writes the list that stands for "no context". It is one object.
    pub(super) fn none<W: Write>(&mut self, out: &mut Encoder<W>) -> io::Result<()> {
        match self.empty {
            Some(memo) => out.again(memo),
            None => {
                let list = out.open_list(0);
                self.empty = Some(out.close_list(list)?);
            }
        }
        Ok(())
    }
}

//! Texts. One that is one object in PyTorch is written once, and after that referred to.

use std::collections::HashMap;
use std::io::Write;

use super::encoder::{Encoder, Memo, Style};

/// Which texts were written already.
#[derive(Debug)]
pub(super) struct Vocabulary {
    style: Style,
    memos: HashMap<String, Memo>,
}

impl Vocabulary {
    pub(super) fn new(style: Style) -> Vocabulary {
        Vocabulary { style, memos: HashMap::new() }
    }

    /// Writes a constant of PyTorch's, such as a key. It is one object wherever it occurs.
    pub(super) fn word<W: Write>(&mut self, out: &mut Encoder<W>, word: &str) {
        match self.memos.get(word) {
            Some(memo) => out.again(*memo),
            None => {
                self.memos.insert(word.to_owned(), out.text(word));
            }
        }
    }

    /// Writes another text: an object of its own in Python, one with all equal texts in C++.
    pub(super) fn text<W: Write>(&mut self, out: &mut Encoder<W>, text: &str) {
        match self.style {
            Style::Python { .. } => {
                out.text(text);
            }
            Style::Cpp => self.word(out, text),
        }
    }
}

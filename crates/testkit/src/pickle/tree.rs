//! Plain values of any shape, to write into a snapshot.

use std::io::{self, Write};

use super::encoder::Encoder;
use super::words::Vocabulary;

/// A plain value.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// Any number.
    Float(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Tree>),
    /// A dictionary of at most a thousand entries.
    Dict(Vec<(String, Tree)>),
}

impl Tree {
    /// A dictionary.
    pub fn dict(entries: impl IntoIterator<Item = (&'static str, Tree)>) -> Tree {
        Tree::Dict(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// A text.
    pub fn text(text: impl Into<String>) -> Tree {
        Tree::Text(text.into())
    }

    /// A list.
    pub fn list(items: impl IntoIterator<Item = Tree>) -> Tree {
        Tree::List(items.into_iter().collect())
    }

    /// A whole number.
    pub fn int(n: impl Into<i128>) -> Tree {
        Tree::Int(n.into())
    }

    pub(super) fn write<W: Write>(&self, out: &mut Encoder<W>, words: &mut Vocabulary) -> io::Result<()> {
        match self {
            Tree::None => out.none(),
            Tree::Bool(value) => out.boolean(*value),
            Tree::Int(n) => out.int(*n),
            Tree::Float(number) => out.float(*number),
            Tree::Text(text) => words.text(out, text),
            Tree::List(items) => {
                let list = out.open_list(items.len());
                for (n, item) in items.iter().enumerate() {
                    out.item(n, items.len());
                    item.write(out, words)?;
                }
                out.close_list(list)?;
            }
            Tree::Dict(entries) => {
                let dict = out.open_dict(entries.len());
                for (key, value) in entries {
                    words.text(out, key);
                    value.write(out, words)?;
                }
                out.close_dict(dict)?;
            }
        }
        Ok(())
    }
}

//! Interned texts: file names, function names, metadata.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use crate::slots::{Seed, Slots};

/// A text of a [`Texts`] table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextId(pub(crate) u32);

/// Texts, each kept once. Ids count up from the first text added, so they are the same for the same input.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// All texts, one after another.
    joined: String,
    /// Where each text ends in `joined`.
    ends: Vec<usize>,
    slots: Slots,
}

impl Texts {
    /// The id of `text`. It is added if it is not there.
    pub fn intern(&mut self, text: &str) -> TextId {
        let count = self.ends.len();
        let (joined, ends) = (&self.joined, &self.ends);
        let get = |index: u32| get(joined, ends, index as usize);
        let hash_of = |index: Option<u32>, seed| hash(index.map_or(text, get), seed);
        match self.slots.find(count, hash_of, |index| get(index) == text) {
            Ok(index) => TextId(index),
            Err(slot) => {
                let index = u32::try_from(count).expect("fewer than 2^32 texts fit in memory");
                self.joined.push_str(text);
                self.ends.push(self.joined.len());
                self.slots.fill(slot, index);
                TextId(index)
            }
        }
    }

    /// The text behind `id`.
    pub fn get(&self, id: TextId) -> &str {
        get(&self.joined, &self.ends, id.0 as usize)
    }

    /// How many texts there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no texts.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How many bytes all texts have together.
    pub(crate) fn joined_len(&self) -> usize {
        self.joined.len()
    }
}

fn get<'a>(joined: &'a str, ends: &[usize], index: usize) -> &'a str {
    let start = if index == 0 { 0 } else { ends[index - 1] };
    &joined[start..ends[index]]
}

#[inline]
fn hash(text: &str, seed: Seed) -> u64 {
    let quick = || {
        let mut hasher = FxHasher::default();
        hasher.write(text.as_bytes());
        hasher.finish()
    };
    seed.hash(quick, |hasher| hasher.write(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_get_one_id_however_many_there_are() {
        let mut texts = Texts::default();
        assert!(texts.is_empty());
        let ids: Vec<TextId> = (0..3000).map(|n| texts.intern(&"ab".repeat(n % 1000))).collect();
        assert_eq!(texts.len(), 1000);
        for (n, id) in ids.into_iter().enumerate() {
            assert_eq!(texts.get(id), "ab".repeat(n % 1000));
            assert_eq!(id.0 as usize, n % 1000);
        }
    }
}

//! The page with its answers in it: one file that needs nothing else.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::{Map, Value, json};

use super::base64::base64;
use super::document;

/// How large the file may be.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Of the whole file, in bytes.
    pub bytes: usize,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { bytes: 18 << 20 }
    }
}

/// The answers that a file holds, each packed for itself.
#[derive(Debug, Default)]
pub struct Kept {
    index: Map<String, Value>,
    /// What the index takes as text, about.
    index_bytes: usize,
    packed: Vec<u8>,
}

/// What an entry of the index takes beside its key: quotes, two numbers, and what is between them.
const ENTRY: usize = 24;

impl Kept {
    /// Keeps an answer if there is room for it; false where there is none.
    pub fn add(&mut self, key: &str, answer: &[u8], budget: Budget) -> bool {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        let Ok(packed) = encoder.write_all(answer).and_then(|()| encoder.finish()) else { return false };
        let index_bytes = self.index_bytes + key.len() + ENTRY;
        if (self.packed.len() + packed.len() + index_bytes) * 4 / 3 > budget.bytes {
            return false;
        }
        self.index_bytes = index_bytes;
        self.index.insert(key.to_owned(), json!([self.packed.len(), packed.len()]));
        self.packed.extend(packed);
        true
    }
}

/// The file. `left_out` says what it does not hold.
pub fn single_file(kept: &Kept, left_out: &[String]) -> String {
    let index = json!({ "answers": kept.index, "left_out": left_out }).to_string();
    document::with_data(&format!("{}\n{}", base64(index.as_bytes()), base64(&kept.packed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_no_larger_than_it_may_be_with_its_index() {
        let budget = Budget { bytes: 40_000 };
        let mut kept = Kept::default();
        // Little of each answer, and much of each key.
        let count =
            (0..).take_while(|number| kept.add(&format!("0/0/m/line/{number}/0/0"), b"", budget)).count();
        assert!(count > 300, "{count}");
        let data = single_file(&kept, &[]).len() - single_file(&Kept::default(), &[]).len();
        assert!((20_000..=budget.bytes).contains(&data), "{data}");
    }
}

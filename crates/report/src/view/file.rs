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
    packed: Vec<u8>,
}

impl Kept {
    /// Keeps an answer if there is room for it; false where there is none.
    pub fn add(&mut self, key: &str, answer: &[u8], budget: Budget) -> bool {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        let Ok(packed) = encoder.write_all(answer).and_then(|()| encoder.finish()) else { return false };
        if (self.packed.len() + packed.len()) * 4 / 3 > budget.bytes {
            return false;
        }
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

//! Any bytes, of any length: no panic, bounded memory, and the report is still found.

use std::io::{BufReader, Read};

use oomph_diagnose::message::read;
use proptest::prelude::*;

const OOM: &str = "RuntimeError: CUDA out of memory. Tried to allocate 24.00 MiB (GPU 0; 3.95 GiB total capacity; \
                   3.46 GiB already allocated; 1.06 MiB free; 60.00 KiB cached)\n";

/// Every labelled message in one text.
fn corpus() -> Vec<u8> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("messages").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files.iter().flat_map(|file| std::fs::read(file).expect("a message")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..4096)) {
        read(bytes.as_slice()).expect("memory can be read");
    }

    #[test]
    fn damaged_messages_do_no_harm(start in 0usize..22_000, length in 0usize..3000, flips in proptest::collection::vec((0usize..3000, any::<u8>()), 0..20)) {
        let corpus = corpus();
        let start = start.min(corpus.len());
        let mut part = corpus[start..(start + length).min(corpus.len())].to_vec();
        for (at, byte) in flips {
            if let Some(place) = part.get_mut(at) {
                *place = byte;
            }
        }
        read(part.as_slice()).expect("memory can be read");
    }
}

#[test]
fn messages_cut_off_anywhere_are_read() {
    let corpus = corpus();
    for end in (0..corpus.len()).step_by(31) {
        read(&corpus[end.saturating_sub(900)..end]).expect("memory can be read");
    }
}

#[test]
fn a_report_is_found_in_the_middle_of_a_line_of_10_mb() {
    let filler = "x".repeat(1000) + " ";
    let line = filler.repeat(5000) + OOM.trim_end() + " " + &filler.repeat(5000);
    let log = read(line.as_bytes()).expect("memory can be read");
    assert_eq!(log.reports.len(), 1);
    assert_eq!(log.reports[0].facts.tried.map(|bytes| bytes.0), Some(24 << 20));
    assert_eq!(log.extent.bytes, line.len() as u64);
    assert_eq!(log.reports[0].line, 1);
}

/// A log that is made while it is read: filler, one report in the middle, filler.
fn log(bytes: u64) -> impl std::io::BufRead {
    let filler = "2024-05-01 10:00:00,123 INFO trainer: epoch 3 step 1234 loss 0.4321 lr 1e-4 memory 10.2 GiB room bloom 3.4 it/s\n";
    let block = filler.repeat(1 << 10).into_bytes();
    let half = bytes / 2 / block.len() as u64;
    let endless = std::iter::repeat_n(block, usize::try_from(half).expect("a small count"));
    let before = Blocks { blocks: Box::new(endless.clone()), rest: Vec::new(), at: 0 };
    let after = Blocks { blocks: Box::new(endless), rest: Vec::new(), at: 0 };
    BufReader::with_capacity(1 << 16, before.chain(OOM.as_bytes()).chain(after))
}

struct Blocks {
    blocks: Box<dyn Iterator<Item = Vec<u8>>>,
    rest: Vec<u8>,
    at: usize,
}

impl Read for Blocks {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.rest.len() {
            self.rest = self.blocks.next().unwrap_or_default();
            self.at = 0;
        }
        let count = (self.rest.len() - self.at).min(buffer.len());
        buffer[..count].copy_from_slice(&self.rest[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[test]
fn a_report_is_found_in_the_middle_of_a_long_log() {
    let bytes = if cfg!(debug_assertions) { 20 << 20 } else { 200 << 20 };
    let start = std::time::Instant::now();
    let found = read(log(bytes)).expect("memory can be read");
    println!("{} bytes, {} lines in {:?}", found.extent.bytes, found.extent.lines, start.elapsed());
    assert_eq!(found.reports.len(), 1);
    assert!(start.elapsed().as_secs() < 20);
}

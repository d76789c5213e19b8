//! Recognising lists that were read before.
//!
//! A stack is pickled as a MARK, a long run of memo references and an APPENDS. The same stack is the same bytes, a
//! hundred thousand times. A memo slot never changes its meaning, so the same bytes mean the same list: comparing them
//! with a run seen before is many times faster than following each reference.
//!
//! A hash cannot find a run, since where it ends is known only after reading all of it. A trie finds it, which looks
//! only at the bytes in which known runs differ; then the run is compared as a whole.

use rustc_hash::FxHashMap;

/// How many bytes of runs are remembered before all are forgotten.
const CAPACITY: usize = 16 << 20;

/// Runs of opcodes, each with the record the list became.
#[derive(Debug)]
pub(super) struct Runs<R> {
    /// The bytes of all runs, one after another.
    bytes: Vec<u8>,
    runs: Vec<Run<R>>,
    forks: Vec<Fork>,
    /// Where to go from a fork, by the byte found there.
    ways: FxHashMap<(u32, u8), Way>,
    /// Where to begin, by the first bytes: most runs differ there.
    roots: FxHashMap<(u64, u64), Way>,
}

/// The first 16 bytes, as two numbers. Shorter runs are not worth remembering.
#[inline]
fn head(bytes: &[u8]) -> Option<(u64, u64)> {
    let (first, rest) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*first), u64::from_le_bytes(*rest.first_chunk()?)))
}

#[derive(Clone, Copy, Debug)]
struct Run<R> {
    start: usize,
    len: usize,
    record: R,
}

/// A place where runs differ that are equal up to it.
#[derive(Clone, Copy, Debug)]
struct Fork {
    offset: usize,
    /// One of the runs beyond this fork.
    example: u32,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Fork(u32),
    Run(u32),
}

impl<R> Default for Runs<R> {
    fn default() -> Runs<R> {
        Runs {
            bytes: Vec::new(),
            runs: Vec::new(),
            forks: Vec::new(),
            ways: FxHashMap::default(),
            roots: FxHashMap::default(),
        }
    }
}

impl<R: Copy> Runs<R> {
    /// The run that `bytes` begin with: its length and its record.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<(usize, R)> {
        let run = self.runs[self.closest(bytes)? as usize];
        bytes.starts_with(self.bytes_of(run)).then_some((run.len, run.record))
    }

    /// Remembers a run that is not known. No run may begin with another one.
    pub(super) fn add(&mut self, bytes: &[u8], record: R) {
        if self.bytes.len() + bytes.len() > CAPACITY {
            *self = Runs::default();
        }
        let Some(head) = head(bytes) else { return };
        let other = self.closest(bytes);
        let run = self.runs.len() as u32;
        self.runs.push(Run { start: self.bytes.len(), len: bytes.len(), record });
        self.bytes.extend_from_slice(bytes);
        let Some(other) = other else {
            self.roots.insert(head, Way::Run(run));
            return;
        };
        let other = self.bytes_of(self.runs[other as usize]);
        let Some(offset) = bytes.iter().zip(other).position(|(a, b)| a != b) else { return };
        self.insert(run, bytes, offset, other[offset], head);
    }

    /// Follows the forks by the bytes, to the only run that can match. Where the way ends there is none, and any run
    /// beyond shares as many bytes as one can.
    fn closest(&self, bytes: &[u8]) -> Option<u32> {
        let mut way = *self.roots.get(&head(bytes)?)?;
        loop {
            match way {
                Way::Run(run) => return Some(run),
                Way::Fork(fork) => {
                    let Fork { offset, example } = self.forks[fork as usize];
                    let next = bytes.get(offset).and_then(|byte| self.ways.get(&(fork, *byte)));
                    match next {
                        Some(next) => way = *next,
                        None => return Some(example),
                    }
                }
            }
        }
    }

    /// Adds a way to `run`. It first differs from its closest run at `offset`, where that run has the byte `theirs`.
    fn insert(&mut self, run: u32, bytes: &[u8], offset: usize, theirs: u8, head: (u64, u64)) {
        let mut from = None;
        let mut way = self.roots.get(&head).copied();
        while let Some(Way::Fork(fork)) = way {
            let here = self.forks[fork as usize].offset;
            if here == offset {
                self.ways.insert((fork, bytes[offset]), Way::Run(run));
                return;
            }
            if here > offset {
                break;
            }
            from = Some((fork, bytes[here]));
            way = self.ways.get(&(fork, bytes[here])).copied();
        }
        let Some(beyond) = way else { return };
        let fork = self.forks.len() as u32;
        let example = match beyond {
            Way::Run(run) => run,
            Way::Fork(fork) => self.forks[fork as usize].example,
        };
        self.forks.push(Fork { offset, example });
        self.ways.insert((fork, theirs), beyond);
        self.ways.insert((fork, bytes[offset]), Way::Run(run));
        match from {
            Some(place) => drop(self.ways.insert(place, Way::Fork(fork))),
            None => drop(self.roots.insert(head, Way::Fork(fork))),
        }
    }

    fn bytes_of(&self, run: Run<R>) -> &[u8] {
        &self.bytes[run.start..run.start + run.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds the runs in this order, then expects to find each, whatever follows it, and no other.
    fn check(runs: &[&str], strangers: &[&str]) {
        for head in ["0123456789abcdef", "0123456789abc"] {
            let mut known = Runs::default();
            for (n, run) in runs.iter().enumerate() {
                let run = format!("{head}{run}");
                assert_eq!(known.find(run.as_bytes()), None, "{run} before it is added");
                known.add(run.as_bytes(), n);
            }
            for (n, run) in runs.iter().enumerate() {
                for rest in ["", "x", "abcabcabc"] {
                    let bytes = format!("{head}{run}{rest}");
                    let expected = Some((head.len() + run.len(), n));
                    assert_eq!(known.find(bytes.as_bytes()), expected, "{bytes}");
                }
            }
            for stranger in strangers {
                assert_eq!(known.find(format!("{head}{stranger}").as_bytes()), None, "{stranger}");
            }
        }
    }

    #[test]
    fn a_run_is_found_whatever_it_shares_with_others() {
        check(&[], &["", "abc."]);
        check(&["abc."], &["", "abc", "abd.", "xbc."]);
        check(
            &["abcdef.", "abcdeg.", "abx.", "bbb.", "abcd.", "aaaaaaaaaaaa.", "..."],
            &["abcdex.", "ccc.", "ab."],
        );
        check(&["bbb.", "abx.", "abcdeg.", "abcd.", "abcdef."], &["a", "abcde"]);
    }

    #[test]
    fn a_short_run_is_not_remembered() {
        let mut known = Runs::default();
        known.add(b"abc.", 1);
        assert_eq!(known.find(b"abc."), None);
        assert_eq!(known.find(b"abc.abcabcabcabcabcabc"), None);
    }

    #[test]
    fn what_does_not_fit_is_forgotten_and_can_be_learnt_again() {
        let mut known = Runs::default();
        let run = |n: u32| format!("{n:0>16}{}.", "x".repeat(999_984)).into_bytes();
        for n in 0..40 {
            known.add(&run(n), n);
            assert!(known.bytes.len() <= CAPACITY);
        }
        assert_eq!(known.find(&run(0)), None);
        assert_eq!(known.find(&run(39)), Some((1_000_001, 39)));
    }
}

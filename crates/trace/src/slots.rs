//! Finding what is interned.

use std::hash::{DefaultHasher, Hasher};

/// So many entries in a row that are not the one looked for do not come about by chance: somebody chose them.
const MOST_PASSED: usize = 512;
/// Another hash is tried so often. Who wants to collide under all of them has to find each entry among 2^64.
const MOST_SEEDS: u64 = 4;

/// The indices of a table's entries, by hash. Open addressing: a slot holds an index + 1, or 0 while it is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    /// Their number is a power of two.
    slots: Vec<u32>,
    /// Which hash is used.
    seed: Seed,
}

/// One of several hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seed(u64);

impl Seed {
    /// The hash of these bytes: what `quick` gives, until that has been seen to collide.
    #[inline]
    pub(crate) fn hash(self, quick: impl Fn() -> u64, bytes: impl Fn(&mut DefaultHasher)) -> u64 {
        if self.0 == 0 {
            return quick();
        }
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.0);
        bytes(&mut hasher);
        hasher.finish()
    }
}

impl Slots {
    /// The entry that `is` what is looked for, or the slot where it belongs. `hash_of` gives the hash of an entry, or of
    /// what is looked for, which is `None`. There are `count` entries.
    #[inline]
    pub(crate) fn find(
        &mut self,
        count: usize,
        hash_of: impl Fn(Option<u32>, Seed) -> u64,
        is: impl Fn(u32) -> bool,
    ) -> Result<u32, usize> {
        if self.slots.len() < (count + 1) * 2 {
            self.rebuild(count, (self.slots.len() * 2).max(256), &hash_of);
        }
        loop {
            let (found, passed) = self.probe(hash_of(None, self.seed), &is);
            if passed <= MOST_PASSED || self.seed.0 >= MOST_SEEDS {
                return found;
            }
            self.seed.0 += 1;
            self.rebuild(count, self.slots.len(), &hash_of);
        }
    }

    /// The same, and how many entries were passed on the way.
    #[inline]
    fn probe(&self, hash: u64, is: &impl Fn(u32) -> bool) -> (Result<u32, usize>, usize) {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        let mut passed = 0;
        loop {
            match self.slots[slot] {
                0 => return (Err(slot), passed),
                held if is(held - 1) => return (Ok(held - 1), passed),
                _ => slot = (slot + 1) & mask,
            }
            passed += 1;
        }
    }

    #[cold]
    fn rebuild(&mut self, count: usize, size: usize, hash_of: &impl Fn(Option<u32>, Seed) -> u64) {
        loop {
            self.slots = vec![0; size];
            let mut longest = 0;
            for index in 0..count as u32 {
                let (slot, passed) = self.probe(hash_of(Some(index), self.seed), &|_| false);
                longest = longest.max(passed);
                if longest > MOST_PASSED && self.seed.0 < MOST_SEEDS {
                    break;
                }
                if let Err(slot) = slot {
                    self.fill(slot, index);
                }
            }
            if longest <= MOST_PASSED || self.seed.0 >= MOST_SEEDS {
                return;
            }
            self.seed.0 += 1;
        }
    }

    /// Puts an entry where [`Slots::find`] says that it belongs.
    #[inline]
    pub(crate) fn fill(&mut self, slot: usize, index: u32) {
        self.slots[slot] = index + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interns so many numbers, which the quick hash takes for alike; gives how many entries the last search passed.
    fn passed(count: u32) -> (usize, Seed) {
        let mut slots = Slots::default();
        let hash_of = |wanted: u32| {
            move |index: Option<u32>, seed: Seed| {
                seed.hash(|| 7, |hasher| hasher.write_u32(index.unwrap_or(wanted)))
            }
        };
        for number in 0..count {
            match slots.find(number as usize, hash_of(number), |index| index == number) {
                Ok(_) => panic!("{number} is new"),
                Err(slot) => slots.fill(slot, number),
            }
        }
        for number in 0..count {
            assert_eq!(slots.find(count as usize, hash_of(number), |index| index == number), Ok(number));
        }
        let hash = hash_of(count)(None, slots.seed);
        (slots.probe(hash, &|_| false).1, slots.seed)
    }

    #[test]
    fn entries_that_were_chosen_to_collide_are_told_apart_by_another_hash() {
        assert_eq!(passed(400), (400, Seed(0)));
        let (passed, seed) = passed(100_000);
        assert!(passed < MOST_PASSED, "{passed}");
        assert_eq!(seed, Seed(1));
    }
}

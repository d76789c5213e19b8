//! Finding what is interned.

/// The indices of a table's entries, by hash. Open addressing: a slot holds an index + 1, or 0 while it is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    /// Their number is a power of two.
    slots: Vec<u32>,
}

impl Slots {
    /// Makes more slots where there are too few for `count` entries and one more; `hashes` are those of the entries.
    #[inline]
    pub(crate) fn grown(&self, count: usize, hashes: impl Iterator<Item = u64>) -> Option<Slots> {
        if self.slots.len() >= (count + 1) * 2 {
            return None;
        }
        let mut grown = Slots { slots: vec![0; (self.slots.len() * 2).max(256)] };
        for (index, hash) in (0..).zip(hashes) {
            if let Err(slot) = grown.find(hash, |_| false) {
                grown.fill(slot, index);
            }
        }
        Some(grown)
    }

    /// The entry with this hash that `is` accepts, or the empty slot where it belongs.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return Err(slot),
                held if is(held - 1) => return Ok(held - 1),
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// Puts an entry into the slot that [`Slots::find`] gave for it.
    #[inline]
    pub(crate) fn fill(&mut self, slot: usize, index: u32) {
        self.slots[slot] = index + 1;
    }
}

//! Names of memory pools.

use rustc_hash::FxHashMap;

use crate::event::{PoolId, PoolIdx};

/// Pool names, and all pairs of integers that might become one.
#[derive(Debug, Default)]
pub(super) struct Pools {
    ids: Vec<PoolId>,
    idx: FxHashMap<PoolId, PoolIdx>,
    pairs: Vec<PoolId>,
    pair_ids: FxHashMap<PoolId, u32>,
}

impl Pools {
    /// The index of a pool. It is added if it is not there; `None` if there are 65,536 others.
    pub(super) fn intern(&mut self, id: PoolId) -> Option<PoolIdx> {
        if self.ids.is_empty() {
            self.ids.push(PoolId::DEFAULT);
            self.idx.insert(PoolId::DEFAULT, PoolIdx(0));
        }
        if let Some(&idx) = self.idx.get(&id) {
            return Some(idx);
        }
        let idx = PoolIdx(u16::try_from(self.ids.len()).ok()?);
        self.ids.push(id);
        self.idx.insert(id, idx);
        Some(idx)
    }

    /// All pools, the default one first.
    pub(super) fn into_ids(mut self) -> Vec<PoolId> {
        self.intern(PoolId::DEFAULT);
        self.ids
    }

    /// The number of a pair of integers. It is the name of a pool only if something uses it as one.
    pub(super) fn pair(&mut self, a: u64, b: u64) -> u32 {
        let pair = PoolId(a, b);
        let pairs = &mut self.pairs;
        *self.pair_ids.entry(pair).or_insert_with(|| {
            pairs.push(pair);
            (pairs.len() - 1) as u32
        })
    }

    /// The pair behind its number.
    pub(super) fn pair_of(&self, number: u32) -> Option<PoolId> {
        self.pairs.get(number as usize).copied()
    }

    /// How many different pairs there are.
    pub(super) fn pair_count(&self) -> usize {
        self.pairs.len()
    }
}

//! Addresses without the gaps between them: what was ever held, one after another.

use oomph_trace::{Addr, Bytes};

use crate::lives::Lives;

/// The least length of a block, which divides all of them.
const LEAST: u64 = 512;

/// A stretch of addresses that were held at some time, without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its first address.
    pub addr: Addr,
    /// How long it is.
    pub size: Bytes,
    /// Where it is drawn, in units.
    pub at: u32,
}

/// Where each address is drawn.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// The stretches, in order.
    pub stretches: Vec<Stretch>,
    /// How many bytes a unit is: 512, or more where there is too much for that.
    pub unit: u64,
    /// All units.
    pub total: u32,
}

impl Addresses {
    /// Of all that is held in any of these replays, so that they can be drawn side by side.
    pub fn of(all: &[&Lives]) -> Addresses {
        let mut ranges: Vec<(Addr, Addr)> = all
            .iter()
            .flat_map(|lives| &lives.extents)
            .map(|extent| (extent.addr, extent.addr.offset(extent.size)))
            .collect();
        ranges.sort_unstable();
        let mut joined: Vec<(Addr, Addr)> = Vec::new();
        for (from, to) in ranges {
            match joined.last_mut().filter(|last| from <= last.1) {
                Some(last) => last.1 = last.1.max(to),
                None => joined.push((from, to)),
            }
        }
        let size = |(from, to): &(Addr, Addr)| to.distance_from(*from).unwrap_or_default();
        let total: Bytes = joined.iter().map(size).sum();
        let mut unit = LEAST;
        while total.0 / unit + joined.len() as u64 >= 1 << 31 {
            unit *= 2;
        }
        let mut at = 0u32;
        let stretches = joined
            .iter()
            .map(|range| {
                let stretch = Stretch { addr: range.0, size: size(range), at };
                at += stretch.size.0.div_ceil(unit) as u32;
                stretch
            })
            .collect();
        Addresses { stretches, unit, total: at }
    }

    /// The units of a range, from and to; `None` outside of all that was held.
    pub fn units(&self, addr: Addr, size: Bytes) -> Option<(u32, u32)> {
        let index = self.stretches.partition_point(|stretch| stretch.addr <= addr).checked_sub(1)?;
        let stretch = &self.stretches[index];
        let inside = addr.distance_from(stretch.addr).filter(|inside| *inside < stretch.size)?;
        let from = u64::from(stretch.at) + inside.0 / self.unit;
        let to = u64::from(stretch.at) + (inside + size).0.div_ceil(self.unit);
        Some((from as u32, to as u32))
    }

    /// The address behind a unit.
    pub fn address(&self, unit: u32) -> Option<Addr> {
        let index = self.stretches.partition_point(|stretch| stretch.at <= unit).checked_sub(1)?;
        let stretch = &self.stretches[index];
        Some(stretch.addr.offset(Bytes(u64::from(unit - stretch.at) * self.unit)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_leads_back_to_its_address() {
        let stretch = |addr, size, at| Stretch { addr: Addr(addr), size: Bytes(size), at };
        let addresses = Addresses {
            stretches: vec![stretch(4096, 2048, 0), stretch(1 << 30, 1024, 4)],
            unit: 512,
            total: 6,
        };
        assert_eq!(addresses.units(Addr(4096 + 512), Bytes(1024)), Some((1, 3)));
        assert_eq!(addresses.units(Addr(1 << 30), Bytes(1000)), Some((4, 6)));
        assert_eq!(addresses.units(Addr(8192), Bytes(512)), None);
        assert_eq!(addresses.address(1), Some(Addr(4096 + 512)));
        assert_eq!(addresses.address(5), Some(Addr((1 << 30) + 512)));
    }
}

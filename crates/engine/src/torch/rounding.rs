//! How PyTorch turns a requested size into a block's size, and a block's size into a segment's.

use std::fmt;

use oomph_trace::Bytes;

use super::profile::Profile;

/// Every block is a multiple of this.
pub const MIN_BLOCK: Bytes = Bytes(512);
/// Requests up to this size come from small segments.
pub const SMALL_LIMIT: Bytes = Bytes::mib(1);
/// The size of a small segment.
pub const SMALL_SEGMENT: Bytes = Bytes::mib(2);
/// Requests from here on get a segment of their own size.
pub const MIN_LARGE_REQUEST: Bytes = Bytes::mib(10);
/// Such a segment is a multiple of this.
pub const LARGE_GRANULE: Bytes = Bytes::mib(2);
/// The segment that requests between the two limits share, unless an option says otherwise.
pub const LARGE_SEGMENT: Bytes = Bytes::mib(20);
/// PyTorch refuses to think about more than this ("more than 1EB memory").
pub const ABSURD: Bytes = Bytes(1 << 60);

/// Divisions per power of two, by size: slot 0 is for sizes below 2 MiB, slot 15 from 32 GiB on. 0 is off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Divisions(pub [u32; 16]);

impl Divisions {
    /// The same divisions for every size.
    pub const fn uniform(divisions: u32) -> Divisions {
        Divisions([divisions; 16])
    }

    /// Whether sizes are rounded to 512 bytes only.
    pub fn is_off(&self) -> bool {
        self.0 == [0; 16]
    }

    /// Reads a power of two, or `[256:1,512:2,>:4]`: a key sets the slot of its size in MiB, the first key also all
    /// lower slots, `>` all slots after the last.
    pub(super) fn parse(value: &str) -> Option<Divisions> {
        let power = |text: &str| text.trim().parse::<u32>().ok().filter(|n| *n == 0 || n.is_power_of_two());
        let Some(list) = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
            return power(value).map(Divisions::uniform);
        };
        let mut slots = [0u32; 16];
        let mut last = None;
        for entry in list.split(',') {
            let (key, divisions) = entry.split_once(':')?;
            let divisions = power(divisions)?;
            if key.trim() == ">" {
                slots[last.map_or(0, |slot: usize| slot + 1)..].fill(divisions);
                last = Some(15);
                continue;
            }
            let slot = (power(key).filter(|n| *n > 0)?.ilog2() as usize).min(15);
            if last.is_none() {
                slots[..slot].fill(divisions);
            }
            slots[slot] = divisions;
            last = Some(slot);
        }
        Some(Divisions(slots))
    }

    fn of(&self, size: Bytes) -> u64 {
        let slot = u64::from(size.0.max(1).ilog2()).saturating_sub(20).min(15);
        u64::from(self.0[slot as usize])
    }
}

/// As `Divisions::parse` reads it, in as few entries as can be.
impl fmt::Display for Divisions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slots = &self.0;
        // The first entry stands for all slots up to its own, the last for all that follow.
        let lead = slots.iter().take_while(|n| **n == slots[0]).count() - 1;
        let tail = slots.len() - slots.iter().rev().take_while(|n| **n == slots[15]).count();
        if lead == 15 {
            return write!(f, "{}", slots[0]);
        }
        write!(f, "[")?;
        for (slot, divisions) in slots.iter().enumerate().take(tail).skip(lead) {
            write!(f, "{}:{divisions},", 1 << slot)?;
        }
        write!(f, ">:{}]", slots[15])
    }
}

/// The block size that serves a request of `size`.
pub fn block_size(size: Bytes, divisions: &Divisions, profile: &Profile) -> Bytes {
    if size < MIN_BLOCK {
        return MIN_BLOCK;
    }
    let by = divisions.of(size);
    let divides = if profile.one_division_leaves_unrounded { by > 0 } else { by > 1 };
    if divides && size.0 > MIN_BLOCK.0 * by {
        return Bytes(next_division(size.0, by, profile));
    }
    size.round_up(MIN_BLOCK)
}

/// The next of the `by` equal steps between the powers of two around `size`.
fn next_division(size: u64, by: u64, profile: &Profile) -> u64 {
    if size.is_power_of_two() || (by == 1 && profile.one_division_leaves_unrounded) {
        return size;
    }
    let floor = 1u64 << size.ilog2();
    let step = floor >> by.ilog2();
    if step == 0 {
        return floor.saturating_mul(2);
    }
    size.div_ceil(step).saturating_mul(step)
}

/// The segment that is asked of the driver for a block of `size`, without expandable segments.
pub fn segment_size(size: Bytes, large_segment: Bytes) -> Bytes {
    if size <= SMALL_LIMIT {
        SMALL_SEGMENT
    } else if size < MIN_LARGE_REQUEST {
        large_segment
    } else {
        size.round_up(LARGE_GRANULE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::torch::profile::Version;

    #[test]
    fn requests_round_as_pytorch_rounds_them() {
        let off = Divisions::default();
        let four = Divisions::uniform(4);
        let latest = Profile::of(Version::LATEST);
        for (size, divisions, expected) in [
            (0, off, 512),
            (1, off, 512),
            (512, off, 512),
            (513, off, 1024),
            ((1 << 20) + 1, off, (1 << 20) + 512),
            (1200, four, 1536),
            (5 << 20, four, 5 << 20),
            ((5 << 20) + 1, four, 6 << 20),
            ((7 << 20) + 1, four, 8 << 20),
            (8 << 20, four, 8 << 20),
            // 4 × 512 is the threshold below which divisions do not apply.
            (2048, four, 2048),
            (2000, four, 2048),
        ] {
            assert_eq!(block_size(Bytes(size), &divisions, &latest), Bytes(expected), "{size}");
        }
    }

    #[test]
    fn one_division_left_sizes_unrounded_before_2_4() {
        let one = Divisions::uniform(1);
        assert_eq!(block_size(Bytes(1000), &one, &Profile::of(Version::two(3))), Bytes(1000));
        assert_eq!(block_size(Bytes(1000), &one, &Profile::of(Version::two(4))), Bytes(1024));
    }

    #[test]
    fn segments_come_in_three_classes() {
        for (size, expected) in [
            (Bytes(512), Bytes::mib(2)),
            (Bytes::mib(1), Bytes::mib(2)),
            (Bytes(1048577), Bytes::mib(20)),
            (Bytes(10485759), Bytes::mib(20)),
            (Bytes::mib(10), Bytes::mib(10)),
            (Bytes::mib(11), Bytes::mib(12)),
        ] {
            assert_eq!(segment_size(size, LARGE_SEGMENT), expected, "{size}");
        }
    }
}

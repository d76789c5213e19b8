//! What a recording tells about the memory limit, which no snapshot states.

use oomph_trace::Bytes;

/// The limit lies in here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitBounds {
    /// This much was granted.
    pub at_least: Bytes,
    /// This much was refused.
    pub below: Option<Bytes>,
    /// Who refused, if anything was refused.
    pub refusal: Option<Refusal>,
}

/// Who said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// PyTorch's own limit (`set_per_process_memory_fraction`): the driver had memory left.
    Limit,
    /// The driver: the card was full.
    Device {
        /// What this process could hold at most.
        capacity: Bytes,
    },
    /// The cache was released, so one of them did; the recording does not show which.
    Unnamed,
}

impl LimitBounds {
    pub(super) fn refused_at(&mut self, total: Bytes) {
        self.below = Some(self.below.map_or(total, |below| below.min(total)));
    }

    /// The limit to replay with: `None` where nothing was ever refused.
    ///
    /// Within the bounds any value replays alike. Where the driver refused, its own account of what was free fixes
    /// it; else the roundest number is taken, as limits are written by people.
    pub fn taken(&self) -> Option<Bytes> {
        let below = self.below?;
        if let Some(Refusal::Device { capacity }) = self.refusal
            && (self.at_least..below).contains(&capacity)
        {
            return Some(capacity);
        }
        if below <= self.at_least {
            // Contradictory: the limit changed during the run, or another process took memory.
            return Some(Bytes(below.0.saturating_sub(1)));
        }
        Some(roundest(self.at_least, below))
    }
}

/// The number with the most trailing zero bits in `from..below`, the highest such.
fn roundest(from: Bytes, below: Bytes) -> Bytes {
    for bits in (0..63).rev() {
        let candidate = Bytes((below.0 - 1) >> bits << bits);
        if candidate >= from && candidate.0 > 0 {
            return candidate;
        }
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roundest_number_between_the_bounds_is_taken() {
        let bounds = |at_least, below| LimitBounds {
            at_least: Bytes(at_least),
            below: Some(Bytes(below)),
            refusal: Some(Refusal::Limit),
        };
        assert_eq!(bounds(6_272_581_632, 6_459_228_160).taken(), Some(Bytes::gib(6)));
        assert_eq!(bounds(5, 6).taken(), Some(Bytes(5)));
        assert_eq!(bounds(5, 9).taken(), Some(Bytes(8)));
        assert_eq!(bounds(9, 9).taken(), Some(Bytes(8)));
        assert_eq!(LimitBounds::default().taken(), None);
    }

    #[test]
    fn a_full_card_tells_its_capacity() {
        let bounds = LimitBounds {
            at_least: Bytes::gib(20),
            below: Some(Bytes::gib(24)),
            refusal: Some(Refusal::Device { capacity: Bytes::mib(23 * 1024 + 5) }),
        };
        assert_eq!(bounds.taken(), Some(Bytes::mib(23 * 1024 + 5)));
    }
}

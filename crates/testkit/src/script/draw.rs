//! An allocator's state as text: one line per segment, in the order in which they were made.

use std::collections::BTreeMap;

use oomph_engine::torch::SegmentView;
use oomph_engine::torch::block::{BlockId, State};
use oomph_trace::{Addr, Bytes};

/// An exact size in the largest unit that divides it.
pub fn exact(size: Bytes) -> String {
    for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if size.0 >= 1 << shift && size.0.trailing_zeros() >= shift {
            return format!("{}{unit}", size.0 >> shift);
        }
    }
    size.0.to_string()
}

/// The order in which segments were first seen.
///
/// Lines are drawn in this order and not by address, because addresses depend on the driver and not on the policy. The
/// mapped runs of an expandable segment keep its place as they grow, split and join.
#[derive(Debug, Default)]
pub(super) struct Order {
    ranks: BTreeMap<Addr, (Bytes, usize)>,
    next: usize,
}

impl Order {
    /// A segment went back to the driver; another one may be made at its address.
    pub(super) fn forget(&mut self, addr: Addr) {
        self.ranks.remove(&addr);
    }

    /// The rank of each segment after a step.
    pub(super) fn observe(&mut self, segments: &[SegmentView]) -> Vec<usize> {
        let known = std::mem::take(&mut self.ranks);
        let mut ranks = Vec::with_capacity(segments.len());
        for segment in segments {
            let end = segment.addr.offset(segment.size);
            let overlaps = |(addr, (size, _)): &(&Addr, &(Bytes, usize))| addr.offset(*size) > segment.addr;
            // A run that was mapped above or below a known one belongs to it.
            let touches = |(addr, (size, _)): &(&Addr, &(Bytes, usize))| addr.offset(*size) == segment.addr;
            let below = known.range(..end).next_back();
            let found = below.filter(overlaps).or(below.filter(touches).filter(|_| segment.expandable));
            let rank = found.map(|(_, (_, rank))| *rank).unwrap_or_else(|| {
                self.next += 1;
                self.next - 1
            });
            self.ranks.insert(segment.addr, (segment.size, rank));
            ranks.push(rank);
        }
        ranks
    }
}

/// Draws the segments, one per line, or `nothing` where there is none.
pub(super) fn draw(
    segments: &[SegmentView],
    ranks: &[usize],
    names: &BTreeMap<BlockId, String>,
    pool: impl Fn(&SegmentView) -> String,
) -> String {
    let mut lines: Vec<(usize, Addr, String)> = Vec::new();
    for (segment, rank) in segments.iter().zip(ranks) {
        let blocks: Vec<String> = segment
            .blocks
            .iter()
            .map(|block| {
                let name = names.get(&block.id).map_or("?", String::as_str);
                let size = exact(block.size);
                let asked = if block.requested == block.size {
                    String::new()
                } else {
                    format!(" for {}", exact(block.requested))
                };
                match block.state {
                    State::Free | State::Unmapped => format!("[free {size}]"),
                    State::Allocated => format!("[{name} {size}{asked}]"),
                    State::PendingFree => format!("[{name} {size}{asked} pending]"),
                }
            })
            .collect();
        let class = if segment.small { "small" } else { "large" };
        let expandable = if segment.expandable { " expandable" } else { "" };
        let line = format!(
            "{class}{} s{} {}{expandable}: {}",
            pool(segment),
            segment.stream.0,
            exact(segment.size),
            blocks.join(" ")
        );
        lines.push((*rank, segment.addr, line));
    }
    lines.sort();
    if lines.is_empty() {
        return "nothing".to_owned();
    }
    let lines: Vec<String> = lines.into_iter().map(|(_, _, line)| line).collect();
    lines.join("\n")
}

//! Where everything lies at one moment: the segments and their blocks on rows of one length, at the level of detail
//! a picture can show.

use oomph_engine::recording::Recording;
use oomph_engine::replay::Run;
use oomph_engine::simulated::SimulatedDevice;
use oomph_engine::torch::block::State;
use oomph_engine::torch::{BlockView, SegmentView};
use oomph_trace::{Addr, Bytes, PoolId, Stream};
use rustc_hash::FxHashMap;

use crate::moment::Moment;
use crate::place::Places;

/// A layout has about this many rows at most; it has more where the ends of rows are too short for a segment.
const ROWS: u64 = 20;
/// The rows it has at least.
const FEWEST_ROWS: u64 = 6;
/// The parts of a row that can be told apart: its pixels.
const PIXELS: u64 = 1000;

/// What a part of a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// In use, by this one of the moment's holders.
    Held(usize),
    /// Freed, but another stream may still use it; it counts for this holder.
    Pending(usize),
    /// Cached in a segment that is partly in use.
    Free,
    /// Cached, and so is all of its segment.
    FreeSegment,
}

/// A block, or neighbours that are too narrow to be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins, counted along the rows: row `at / row`, and there `at % row`.
    pub at: Bytes,
    /// How long it is; it may go on in the next rows.
    pub size: Bytes,
    /// How many blocks it stands for.
    pub blocks: usize,
    /// What most of it is.
    pub kind: Kind,
}

/// A segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Where it begins, counted as for [`Piece::at`].
    pub at: Bytes,
    /// How long it is.
    pub size: Bytes,
    /// The stream it serves.
    pub stream: Stream,
    /// The pool that owns it.
    pub pool: PoolId,
    /// Whether it serves requests of up to 1 MiB.
    pub small: bool,
    /// Whether it is a mapped run of an expandable segment.
    pub expandable: bool,
    /// Its parts, by address; they tile it.
    pub pieces: Vec<Piece>,
}

/// Everything that is held at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// How much one row stands for.
    pub row: Bytes,
    /// How many rows there are.
    pub rows: u64,
    /// The segments, large ones first.
    pub segments: Vec<Extent>,
    /// Segments left out, the smallest, and their bytes.
    pub left_out: (usize, Bytes),
}

/// The layout at `moment`, which is one of the recording's, in at most about `most` pieces.
pub fn at(recording: &Recording, moment: &Moment, most: usize) -> Layout {
    let mut run = recording.run();
    run.advance_to(moment.event);
    let holders = Holders::new(recording, moment, &run);
    let mut views = run.torch().segments();
    views.sort_by_key(|view| (std::cmp::Reverse(view.size), view.addr));
    let left_out = views.split_off(views.len().min(most));
    let left_out = (left_out.len(), left_out.iter().map(|view| view.size).sum());
    let total: Bytes = views.iter().map(|view| view.size).sum();
    let row = row_of(total, views.first().map(|view| view.size).unwrap_or_default());
    let blocks: Vec<Vec<(Bytes, Kind)>> = views.iter().map(|view| holders.kinds(view)).collect();
    let mut unit = Bytes(row.0 / PIXELS);
    let mut pieces: Vec<Vec<Piece>>;
    loop {
        pieces = blocks.iter().map(|blocks| merged(blocks, unit)).collect();
        if unit > total || pieces.iter().map(Vec::len).sum::<usize>() <= most {
            break;
        }
        unit += unit.max(Bytes(1));
    }
    let mut rows = Rows { row, filled: Vec::new() };
    let mut segments = Vec::with_capacity(views.len());
    for (view, mut pieces) in views.iter().zip(pieces) {
        let at = rows.place(view.size);
        for piece in &mut pieces {
            piece.at += at;
        }
        segments.push(Extent {
            at,
            size: view.size,
            stream: recording.program.streams.get(usize::from(view.stream.0)).copied().unwrap_or_default(),
            pool: recording.program.owners.get(usize::from(view.owner.0)).map_or(PoolId::DEFAULT, |o| o.id),
            small: view.small,
            expandable: view.expandable,
            pieces,
        });
    }
    Layout { row, rows: rows.filled.len() as u64, segments, left_out }
}

/// As long as the longest segment, so that none is cut, unless that would leave only a few rows to look at.
fn row_of(total: Bytes, longest: Bytes) -> Bytes {
    let least = Bytes(total.0.div_ceil(ROWS));
    let row = if longest.0 <= total.0 / FEWEST_ROWS { longest.max(least) } else { least };
    row.round_up(Bytes::mib(2)).max(Bytes::mib(2))
}

/// How far each row is filled.
struct Rows {
    row: Bytes,
    filled: Vec<Bytes>,
}

impl Rows {
    /// Takes the first place that is long enough; what is longer than a row begins one.
    fn place(&mut self, size: Bytes) -> Bytes {
        let row = self.row;
        let found = self.filled.iter_mut().enumerate().find(|(_, filled)| **filled + size <= row);
        if let Some((index, filled)) = found {
            let at = Bytes(index as u64 * row.0) + *filled;
            *filled += size;
            return at;
        }
        let at = Bytes(self.filled.len() as u64 * row.0);
        let mut left = size;
        while left > row {
            self.filled.push(row);
            left -= row;
        }
        self.filled.push(left);
        at
    }
}

/// Which of the moment's holders each block belongs to.
struct Holders {
    /// By address.
    of_block: FxHashMap<Addr, usize>,
    nobody: usize,
}

impl Holders {
    fn new(recording: &Recording, moment: &Moment, run: &Run<'_, SimulatedDevice>) -> Holders {
        let mut places = Places::new(recording);
        let lines = moment.holders.iter().enumerate();
        let lines: FxHashMap<_, _> =
            lines.map(|(index, holder)| (holder.place.as_ref().map(|place| &place.line), index)).collect();
        let nobody = moment.holders.len();
        let mut of_block = FxHashMap::default();
        for (_, allocation, block) in run.live() {
            let place = places.of(places.stack_of(allocation));
            let line = places.get(place).map(|place| &place.line);
            of_block.insert(block.addr, lines.get(&line).copied().unwrap_or(nobody));
        }
        Holders { of_block, nobody }
    }

    fn kinds(&self, view: &SegmentView) -> Vec<(Bytes, Kind)> {
        let free = if view.blocks.iter().all(|block| block.state == State::Free) {
            Kind::FreeSegment
        } else {
            Kind::Free
        };
        let kind = |block: &BlockView| {
            let holder = self.of_block.get(&block.addr).copied().unwrap_or(self.nobody);
            match block.state {
                State::Allocated => Kind::Held(holder),
                State::PendingFree => Kind::Pending(holder),
                State::Free | State::Unmapped => free,
            }
        };
        view.blocks.iter().map(|block| (block.size, kind(block))).collect()
    }
}

/// Joins neighbours narrower than `unit` until they are that wide together; each is what most of its bytes are.
fn merged(blocks: &[(Bytes, Kind)], unit: Bytes) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut first, mut at, mut width) = (0, Bytes::ZERO, Bytes::ZERO);
    for (index, (size, _)) in blocks.iter().enumerate() {
        width += *size;
        let ends = blocks.get(index + 1).is_none_or(|(next, _)| *next >= unit);
        if ends || width >= unit {
            let joined = &blocks[first..=index];
            pieces.push(Piece { at, size: width, blocks: joined.len(), kind: most(joined) });
            (first, at, width) = (index + 1, at + width, Bytes::ZERO);
        }
    }
    pieces
}

/// What most bytes of these blocks are.
fn most(blocks: &[(Bytes, Kind)]) -> Kind {
    let mut blocks = blocks.to_vec();
    blocks.sort_by_key(|(_, kind)| *kind);
    let shares = blocks.chunk_by(|a, b| a.1 == b.1);
    let shares = shares.map(|share| (share.iter().map(|(size, _)| *size).sum::<Bytes>(), share[0].1));
    let most = shares.max_by_key(|(size, kind)| (*size, std::cmp::Reverse(*kind)));
    most.map_or(Kind::Free, |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(blocks: &[(u64, Kind)], unit: u64) -> Vec<(u64, u64, usize, Kind)> {
        let blocks: Vec<(Bytes, Kind)> = blocks.iter().map(|(size, kind)| (Bytes(*size), *kind)).collect();
        let pieces = merged(&blocks, Bytes(unit)).into_iter();
        pieces.map(|piece| (piece.at.0, piece.size.0, piece.blocks, piece.kind)).collect()
    }

    #[test]
    fn narrow_neighbours_become_what_most_of_them_is() {
        use Kind::{Free, Held};
        let blocks = [(3, Held(0)), (2, Free), (4, Held(1)), (2, Held(0)), (90, Free), (1, Held(2))];
        let expected = [(0, 11, 4, Held(0)), (11, 90, 1, Free), (101, 1, 1, Held(2))];
        assert_eq!(drawn(&blocks, 10), expected);
    }

    #[test]
    fn segments_fill_the_rows_from_the_first() {
        let mut rows = Rows { row: Bytes(10), filled: Vec::new() };
        let placed = [25, 6, 6, 4, 4, 5].map(|size| rows.place(Bytes(size)).0);
        assert_eq!(placed, [0, 30, 40, 25, 36, 50]);
        assert_eq!(rows.filled, [10, 10, 9, 10, 6, 5].map(Bytes));
    }

    #[test]
    fn with_room_for_all_every_block_is_a_piece() {
        let blocks = [(3, Kind::Free), (2, Kind::Free), (4, Kind::Held(1))];
        let expected = [(0, 3, 1, Kind::Free), (3, 2, 1, Kind::Free), (5, 4, 1, Kind::Held(1))];
        assert_eq!(drawn(&blocks, 0), expected);
    }
}

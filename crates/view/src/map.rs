//! Addresses against time, at the detail a screen can show.
//!
//! A tile has [`COLUMNS`] columns of `2^level` slots and [`ROWS`] rows of `2^height` units of address. A block that is at
//! least a column wide and a row high is a rectangle of its own, to the slot and to the unit. Those that are smaller are
//! merged, cell by cell: a merged piece has the group of most of what is in it and says which share of it is filled; the
//! tile says how many blocks and bytes it merged.

use oomph_engine::program::AllocId;

use crate::addresses::Addresses;
use crate::groups::{GROUPS, Part};
use crate::lives::{Extent, Life, Lives};
use crate::pyramid::{Counted, TILE};

/// Columns of a tile.
pub const COLUMNS: u32 = TILE;
/// Rows of a tile.
pub const ROWS: u32 = 256;
/// Rectangles of a tile, at most; and merged pieces, at most.
const MOST: usize = 20_000;
/// How finely the filled share of a cell is told.
const SHADES: f32 = 32.0;
/// Stands for no allocation.
pub const MERGED: u32 = u32::MAX;

/// Which part of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// A column is `2^level` slots.
    pub level: u32,
    /// Which tile along time.
    pub column: u32,
    /// A row is `2^height` units.
    pub height: u32,
    /// Which tile along addresses.
    pub row: u32,
}

impl Window {
    fn slots(self) -> (u64, u64) {
        let wide = u64::from(COLUMNS) << self.level;
        (u64::from(self.column) * wide, (u64::from(self.column) + 1) * wide)
    }

    fn units(self) -> (u64, u64) {
        let high = u64::from(ROWS) << self.height;
        (u64::from(self.row) * high, (u64::from(self.row) + 1) * high)
    }
}

/// A rectangle: a block, a piece of what is held, or blocks merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rect {
    /// The slots, from and to. A block's are its whole life, also outside of the tile.
    pub slots: (u32, u32),
    /// The units of address, from and to.
    pub units: (u32, u32),
    /// The group.
    pub group: u8,
    /// Which share is filled, of 255.
    pub filled: u8,
    /// The allocation, or [`MERGED`].
    pub id: u32,
}

/// What lies in a window.
#[derive(Clone, Debug, Default)]
pub struct MapTile {
    /// What is held; a hole is what of it no block covers.
    pub held: Vec<Rect>,
    /// The blocks.
    pub blocks: Vec<Rect>,
    /// How many blocks are merged, and their bytes: those that begin in this tile; those that began in one before it, in the
    /// same rows; those that begin in rows below, in the same columns; and those that do neither. So a view of many tiles
    /// can count each block once.
    pub merged: [(u64, u64); 4],
    /// Pieces of what is held that are too small to be drawn, and their bytes.
    pub undrawn: (u64, u64),
}

/// Allocations by time, to find those of a window quickly.
#[derive(Clone, Debug)]
pub struct Index {
    width: u32,
    /// The allocations that have a block when each stretch of slots begins, by id.
    living: Vec<Vec<u32>>,
    /// Where the turns of each stretch begin.
    turns: Vec<usize>,
}

/// Stretches of an index, at most.
const STRETCHES: u32 = 512;

impl Index {
    /// Goes over all lives once: most lie within one stretch.
    pub fn of(lives: &Lives) -> Index {
        let width = lives.slots.div_ceil(STRETCHES).max(1);
        let count = lives.slots.div_ceil(width);
        let mut living = vec![Vec::new(); count as usize];
        for (id, life) in (0..).zip(&lives.of).filter(|(_, life)| life.from < life.to) {
            for stretch in life.from / width + 1..=((life.to - 1) / width).min(count - 1) {
                living[stretch as usize].push(id);
            }
        }
        let first = |stretch| lives.turns.partition_point(|turn| turn.slot < stretch * width);
        Index { width, living, turns: (0..count).map(first).collect() }
    }

    /// The allocations that have a block somewhere in these slots, each once.
    fn within(&self, counted: &Counted<'_>, from: u64, to: u64) -> Vec<u32> {
        let stretch = ((from / u64::from(self.width)) as usize).min(self.living.len().saturating_sub(1));
        let Some(living) = self.living.get(stretch) else { return Vec::new() };
        let mut found = living.clone();
        let later = &counted.lives.turns[self.turns[stretch]..];
        let later = later.iter().take_while(|turn| u64::from(turn.slot) < to);
        found.extend(later.filter(|turn| turn.born).map(|turn| turn.id.0));
        found.retain(|id| u64::from(counted.lives.of[*id as usize].to) > from);
        found
    }
}

/// What a window shows, coloured by `part`.
pub fn tile(
    counted: &Counted<'_>,
    index: &Index,
    addresses: &Addresses,
    part: Part,
    window: Window,
) -> MapTile {
    let (from, to) = window.slots();
    let (low, high) = window.units();
    let in_window = |slots: (u32, u32), units: (u32, u32)| {
        u64::from(slots.0) < to
            && u64::from(slots.1) > from
            && u64::from(units.0) < high
            && u64::from(units.1) > low
    };
    let mut tile = MapTile::default();
    for Extent { from, to, addr, size, .. } in &counted.lives.extents {
        let Some(units) = addresses.units(*addr, *size).filter(|units| in_window((*from, *to), *units))
        else {
            continue;
        };
        tile.held.push(Rect { slots: (*from, *to), units, group: 0, filled: 255, id: MERGED });
    }
    if tile.held.len() > MOST {
        // The largest stay.
        tile.held.sort_by_key(|rect| std::cmp::Reverse(area(rect)));
        let left = tile.held.split_off(MOST);
        let bytes = left.iter().map(|rect| u64::from(rect.units.1 - rect.units.0) * addresses.unit).sum();
        tile.undrawn = (left.len() as u64, bytes);
    }
    let mut small = Vec::new();
    for id in index.within(counted, from, to) {
        if counted.only.is_some_and(|only| !only[id as usize]) {
            continue;
        }
        let Life { from, to, addr, size, .. } = counted.lives.of[id as usize];
        let Some(units) = addresses.units(addr, size).filter(|units| in_window((from, to), *units)) else {
            continue;
        };
        let number = counted.groups.parts[part as usize].of[AllocId(id).index()] as usize;
        let group = counted.ranks.group[part as usize][number];
        let rect = Rect { slots: (from, to), units, group, filled: 255, id };
        let wide = to - from >= 1 << window.level && units.1 - units.0 >= 1 << window.height;
        if wide { &mut tile.blocks } else { &mut small }.push(rect);
    }
    if tile.blocks.len() > MOST {
        tile.blocks.sort_by_key(|rect| std::cmp::Reverse(area(rect)));
        small.extend(tile.blocks.split_off(MOST));
    }
    for rect in &small {
        let (before, below) = (u64::from(rect.slots.0) < from, u64::from(rect.units.0) < low);
        let (count, bytes) = &mut tile.merged[usize::from(before) + 2 * usize::from(below)];
        *count += 1;
        *bytes += u64::from(rect.units.1 - rect.units.0) * addresses.unit;
    }
    tile.blocks.extend(merged(&small, window));
    tile
}

fn area(rect: &Rect) -> u64 {
    u64::from(rect.slots.1 - rect.slots.0) * u64::from(rect.units.1 - rect.units.0)
}

/// Blocks that are too small to be told apart, as pieces of cells.
fn merged(small: &[Rect], window: Window) -> Vec<Rect> {
    if small.is_empty() {
        return Vec::new();
    }
    let mut coarser = 0;
    loop {
        let pieces = cells(small, window, coarser);
        if pieces.len() <= MOST || coarser >= 6 {
            return pieces;
        }
        coarser += 1;
    }
}

/// The same in cells of `2^coarser` columns and rows; neighbours along time that look alike are one piece.
fn cells(small: &[Rect], window: Window, coarser: u32) -> Vec<Rect> {
    let (columns, rows) = ((COLUMNS >> coarser) as usize, (ROWS >> coarser) as usize);
    let (wide, high) = (1u64 << (window.level + coarser), 1u64 << (window.height + coarser));
    let ((first_slot, _), (first_unit, _)) = (window.slots(), window.units());
    let mut sums = vec![0f32; columns * rows * GROUPS];
    for rect in small {
        let spans = |from: u32, to: u32, first: u64, each: u64, count: usize| {
            let begin = u64::from(from).saturating_sub(first) / each;
            let end = u64::from(to).saturating_sub(first).div_ceil(each).min(count as u64);
            let share = move |cell: u64| {
                let (low, high) = (first + cell * each, first + (cell + 1) * each);
                (u64::from(to).min(high) - u64::from(from).max(low)) as f32 / each as f32
            };
            (begin..end).map(move |cell| (cell as usize, share(cell)))
        };
        for (row, tall) in spans(rect.units.0, rect.units.1, first_unit, high, rows) {
            for (column, long) in spans(rect.slots.0, rect.slots.1, first_slot, wide, columns) {
                sums[(row * columns + column) * GROUPS + usize::from(rect.group)] += tall * long;
            }
        }
    }
    let mut pieces: Vec<Rect> = Vec::new();
    for (cell, groups) in sums.chunks(GROUPS).enumerate() {
        let all: f32 = groups.iter().sum();
        if all <= 0.0 {
            continue;
        }
        let most = (0..GROUPS).rev().max_by(|a, b| groups[*a].total_cmp(&groups[*b])).unwrap_or(0);
        let filled = ((all.min(1.0) * SHADES).ceil() / SHADES * 255.0) as u8;
        let (column, row) = ((cell % columns) as u64, (cell / columns) as u64);
        let (from, low) = ((first_slot + column * wide) as u32, (first_unit + row * high) as u32);
        let (to, above) = (from.saturating_add(wide as u32), low.saturating_add(high as u32));
        match pieces.last_mut() {
            Some(last)
                if (last.slots.1, last.units.0) == (from, low)
                    && (last.group, last.filled) == (most as u8, filled) =>
            {
                last.slots.1 = to;
            }
            _ => pieces.push(Rect {
                slots: (from, to),
                units: (low, above),
                group: most as u8,
                filled,
                id: MERGED,
            }),
        }
    }
    pieces
}

/// The level at which one tile holds the whole of so many slots.
pub fn highest_level(slots: u32) -> u32 {
    (0..31).find(|level| u64::from(slots) <= u64::from(COLUMNS) << level).unwrap_or(31)
}

/// The height at which one tile holds the whole of so many units.
pub fn greatest_height(units: u32) -> u32 {
    (0..31).find(|height| u64::from(units) <= u64::from(ROWS) << height).unwrap_or(31)
}

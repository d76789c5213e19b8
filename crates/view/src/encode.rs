//! Tiles as bytes: the same for a page that is served and for one that is a file.
//!
//! A tile begins with a header of 24 bytes: `oomv`, the version (1) as two bytes, the kind (1 timeline, 2 map) as two
//! bytes, then four numbers of four bytes. Arrays follow, one after another, each from a multiple of eight bytes on. All
//! numbers are little-endian.
//!
//! | kind | numbers of the header | arrays |
//! |---|---|---|
//! | 1 | buckets, groups, level, tile | least in use, most in use, least held, most held, then each group: `f64` a bucket; the slot of the most: `u32` a bucket |
//! | 2 | pieces held, blocks, pieces held that are not drawn, 0 | the bytes of those, then blocks merged and bytes merged by where they begin, four each: `f64`; then for pieces held and for blocks: first slot, last slot, first unit, last unit: `u32` each; for blocks also the id: `u32`, the group and the share that is filled: `u8` each |

use oomph_trace::Bytes;

use crate::groups::Part;
use crate::map::{MapTile, Rect};
use crate::pyramid::Bucket;

/// The version of the format.
pub const VERSION: u16 = 1;
const MAGIC: &[u8; 4] = b"oomv";

struct Writer(Vec<u8>);

impl Writer {
    fn new(kind: u16, numbers: [u32; 4]) -> Writer {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        Writer(bytes)
    }

    fn align(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
    }

    /// Numbers beyond 2^53 lose their last digits; no device has as many bytes.
    fn floats(&mut self, values: impl Iterator<Item = u64>) {
        self.align();
        values.for_each(|value| self.0.extend((value as f64).to_le_bytes()));
    }

    fn words(&mut self, values: impl Iterator<Item = u32>) {
        self.align();
        values.for_each(|value| self.0.extend(value.to_le_bytes()));
    }

    fn bytes(&mut self, values: impl Iterator<Item = u8>) {
        self.align();
        self.0.extend(values);
    }
}

/// A tile of the timeline, with the groups of one part; `groups` is how many of them have a name.
pub fn timeline(buckets: &[Bucket], part: Part, groups: usize, level: u32, tile: u32) -> Vec<u8> {
    let mut out = Writer::new(1, [buckets.len() as u32, groups as u32, level, tile]);
    let mut column = |of: &dyn Fn(&Bucket) -> Bytes| out.floats(buckets.iter().map(|bucket| of(bucket).0));
    column(&|bucket| bucket.active.0);
    column(&|bucket| bucket.active.1);
    column(&|bucket| bucket.reserved.0);
    column(&|bucket| bucket.reserved.1);
    for group in 0..groups {
        column(&|bucket| bucket.groups(part)[group]);
    }
    out.words(buckets.iter().map(|bucket| bucket.at));
    out.0
}

/// A tile of the map.
pub fn map(tile: &MapTile) -> Vec<u8> {
    let (undrawn, undrawn_bytes) = tile.undrawn;
    let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let numbers = [tile.held.len() as u32, tile.blocks.len() as u32, count(undrawn), 0];
    let mut out = Writer::new(2, numbers);
    let merged = tile.merged.iter();
    out.floats([undrawn_bytes].into_iter());
    out.floats(merged.clone().map(|(count, _)| *count).chain(merged.map(|(_, bytes)| *bytes)));
    for rects in [&tile.held, &tile.blocks] {
        out.words(rects.iter().map(|rect| rect.slots.0));
        out.words(rects.iter().map(|rect| rect.slots.1));
        out.words(rects.iter().map(|rect| rect.units.0));
        out.words(rects.iter().map(|rect| rect.units.1));
    }
    out.words(tile.blocks.iter().map(|rect| rect.id));
    out.bytes(tile.blocks.iter().map(|rect: &Rect| rect.group));
    out.bytes(tile.blocks.iter().map(|rect| rect.filled));
    out.0
}

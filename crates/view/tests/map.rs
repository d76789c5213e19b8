//! The map: what is drawn adds up, and what is hidden is told.

use std::collections::BTreeMap;

use oomph_trace::Bytes;
use oomph_view::groups::Part;
use oomph_view::map::{MERGED, ROWS, Rect, Window, greatest_height, highest_level};
use oomph_view::picture::{Picture, Subject};

use crate::recorded::{moments, pictured};

/// All rectangles of these levels, each once.
fn drawn(
    subject: &Subject,
    picture: &Picture,
    level: u32,
    height: u32,
) -> (BTreeMap<u32, Rect>, Vec<Rect>, u64) {
    let columns = picture.lives.slots.div_ceil(512 << level);
    let rows = picture.addresses.total.div_ceil(ROWS << height);
    let (mut blocks, mut held, mut merged) = (BTreeMap::new(), Vec::new(), 0);
    for column in 0..columns {
        for row in 0..rows {
            let tile = picture.map(subject, Part::Line, Window { level, column, height, row });
            blocks.extend(tile.blocks.iter().filter(|rect| rect.id != MERGED).map(|rect| (rect.id, *rect)));
            held.extend(tile.held);
            let [(inside, _), (before, _), (below, _), (both, _)] = tile.merged;
            let first = |is: bool, count: u64| if is { count } else { 0 };
            merged +=
                inside + first(column == 0, before) + first(row == 0, below) + first(column + row == 0, both);
        }
    }
    held.sort_by_key(|rect| (rect.slots, rect.units));
    held.dedup();
    (blocks, held, merged)
}

#[test]
fn rectangles_at_ten_moments_are_what_the_engine_has() {
    let (subject, picture) = pictured("fragmentation-oom");
    // A row of 2 MiB: every block of this job is at least that.
    let (blocks, held, merged) = drawn(&subject, &picture, 0, 12);
    assert_eq!(merged, 0);
    let mut run = subject.recording.run();
    for event in moments(&subject) {
        run.advance_to(event);
        let sum = |rects: &mut dyn Iterator<Item = &Rect>| {
            let now = rects.filter(|rect| rect.slots.0 <= event.0 && event.0 < rect.slots.1);
            Bytes(now.map(|rect| u64::from(rect.units.1 - rect.units.0) * picture.addresses.unit).sum())
        };
        let counters = run.torch().counters();
        assert_eq!(sum(&mut blocks.values()), counters.active, "{event:?}: in use");
        assert_eq!(sum(&mut held.iter()), counters.reserved, "{event:?}: held");
    }
}

#[test]
fn every_block_is_drawn_or_counted_among_the_merged() {
    for name in ["fragmentation-oom", "streams-expandable", "gpt2-static"] {
        let (subject, picture) = pictured(name);
        let lives = picture.lives.of.iter().filter(|life| life.from < life.to).count() as u64;
        let top = (highest_level(picture.lives.slots), greatest_height(picture.addresses.total));
        for coarser in 0..3 {
            let (level, height) = (top.0.saturating_sub(coarser), top.1.saturating_sub(coarser));
            let (blocks, _, merged) = drawn(&subject, &picture, level, height);
            // A tile with too many rectangles merges some that others draw, so none is missing but some count twice.
            assert!(
                blocks.len() as u64 + merged >= lives,
                "{name}, level {level}: {} + {merged} < {lives}",
                blocks.len()
            );
        }
    }
}

#[test]
fn merged_pieces_fill_what_the_blocks_fill() {
    let (subject, picture) = pictured("gpt2-static");
    let (level, height) = (highest_level(picture.lives.slots), greatest_height(picture.addresses.total));
    let tile = picture.map(&subject, Part::Class, Window { level, column: 0, height, row: 0 });
    let area = |rect: &Rect| {
        let (wide, tall) = (rect.slots.1 - rect.slots.0, rect.units.1 - rect.units.0);
        f64::from(wide) * f64::from(tall) * f64::from(rect.filled) / 255.0
    };
    let shown: f64 = tile.blocks.iter().map(area).sum();
    let lives = picture.lives.of.iter();
    let real: f64 = lives
        .map(|life| f64::from(life.to - life.from) * (life.size.0 / picture.addresses.unit) as f64)
        .sum();
    // A share is told in 32 shades, and never below what it is.
    assert!(shown >= real * 0.999 && shown <= real * 1.1, "{shown} drawn for {real}");
}

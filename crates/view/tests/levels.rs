//! The timeline, the moment and the peak, beside a replay of the engine.

use std::collections::BTreeMap;

use oomph_trace::{Bytes, EventIdx};
use oomph_view::flame;
use oomph_view::groups::Part;
use oomph_view::picture::{Filter, Picture};
use oomph_view::slice;
use oomph_view::without::without;

use crate::recorded::{moments, names, pictured};

#[test]
fn every_recording_shows_at_ten_moments_what_the_engine_has() {
    for name in names() {
        let (subject, picture) = pictured(&name);
        let mut run = subject.recording.run();
        for event in moments(&subject) {
            run.advance_to(event);
            let counters = run.torch().counters();
            let shown = picture.at(&subject, event).unwrap_or_else(|| panic!("{name} has {event:?}"));
            assert_eq!(shown.active.1, counters.active, "{name} {event:?}: in use");
            assert_eq!(shown.reserved.1, counters.reserved, "{name} {event:?}: held");
            for part in Part::ALL {
                let sum: Bytes = shown.groups(*part).iter().copied().sum();
                assert_eq!(sum, counters.active, "{name} {event:?}: by {}", part.name());
            }
            let segments = slice::at(&picture.lives, event.0);
            let held: Bytes = segments.iter().map(|segment| segment.size).sum();
            let pieces = segments.iter().flat_map(|segment| &segment.pieces);
            let used: Bytes = pieces.filter(|piece| piece.id.is_some()).map(|piece| piece.size).sum();
            assert_eq!(
                (used, held),
                (counters.active, counters.reserved),
                "{name} {event:?}: segment by segment"
            );
            // Where a job's expandable segments are, a simulated device cannot know; how long each is, it does.
            let mut engine: Vec<Bytes> = run.torch().segments().iter().map(|segment| segment.size).collect();
            let mut drawn: Vec<Bytes> = segments.iter().map(|segment| segment.size).collect();
            engine.sort_unstable();
            drawn.sort_unstable();
            assert_eq!(drawn, engine, "{name} {event:?}: the segments");
        }
    }
}

#[test]
fn blocks_are_shown_where_they_were_recorded() {
    for name in names() {
        let (subject, picture) = pictured(&name);
        assert!(subject.recording.is_exact(), "{name}");
        for (life, allocation) in picture.lives.of.iter().zip(&subject.recording.program.allocations) {
            assert_eq!(life.addr, allocation.addr, "{name}: {life:?}");
        }
    }
}

#[test]
fn a_column_shows_the_moment_with_the_most_in_use() {
    for name in ["fragmentation-oom", "streams-expandable", "leak-oom"] {
        let (subject, picture) = pictured(name);
        let slots = picture.lives.slots;
        let exact: Vec<_> =
            (0..slots.div_ceil(512)).flat_map(|tile| picture.timeline(&subject, 0, tile)).collect();
        assert_eq!(exact.len(), slots as usize);
        for level in 1..=picture.top() {
            let tiles = slots.div_ceil(512 << level);
            let columns = (0..tiles).flat_map(|tile| picture.timeline(&subject, level, tile));
            for (column, slots) in columns.zip(exact.chunks(1 << level)) {
                let most = slots.iter().map(|slot| slot.active.1).max().unwrap_or_default();
                let least = slots.iter().map(|slot| slot.active.0).min().unwrap_or_default();
                let held = slots.iter().map(|slot| slot.reserved.1).max().unwrap_or_default();
                assert_eq!(
                    (column.active, column.reserved.1),
                    ((least, most), held),
                    "{name}, level {level}"
                );
                let at = &exact[column.at as usize];
                for part in Part::ALL {
                    assert_eq!(column.groups(*part), at.groups(*part), "{name}, level {level}");
                }
            }
        }
    }
}

#[test]
fn the_peak_by_stack_and_by_module_is_all_of_it() {
    for name in ["leak-oom", "gpt2-ragged"] {
        let (subject, picture) = pictured(name);
        let peak = picture.peak(&subject);
        let used = picture.at(&subject, EventIdx(peak)).map(|bucket| bucket.active.1);
        let calls = flame::at(&subject.recording, &subject.groups, &picture.lives, peak);
        assert_eq!(Some(calls[0].bytes), used, "{name}");
        for (place, call) in calls.iter().enumerate() {
            let below = calls[place + 1..].iter().take_while(|next| next.depth > call.depth);
            let sum: Bytes = below.filter(|next| next.depth == call.depth + 1).map(|next| next.bytes).sum();
            assert!(sum <= call.bytes, "{name}: more below {call:?} than in it");
        }
        let branches = flame::modules(&subject.groups, &picture.lives, peak);
        for depth in 0..3 {
            let of_depth = branches.iter().filter(|branch| branch.depth == depth);
            assert_eq!(Some(of_depth.map(|branch| branch.bytes).sum()), used, "{name}, depth {depth}");
        }
    }
}

#[test]
fn a_replay_under_the_recorded_settings_is_the_same_picture() {
    for name in names() {
        let (subject, picture) = pictured(&name);
        let again =
            Picture::replayed(&subject, &subject.recording.program, &subject.recording.setup, &picture);
        assert!(again.lives.of == picture.lives.of && again.lives.extents == picture.lives.extents, "{name}");
    }
}

#[test]
fn filters_part_what_is_in_use() {
    let (subject, picture) = pictured("streams");
    let event = EventIdx(picture.peak(&subject));
    let all = picture.at(&subject, event).map(|bucket| bucket.active.1);
    let streams = subject.recording.program.streams.len() as u16;
    assert!(streams > 1);
    let of = |stream| {
        let filter = Filter { stream: Some(stream), ..Filter::default() };
        picture.filtered(&subject, &filter).at(&subject, event).map(|bucket| bucket.active.1)
    };
    let parts: Vec<Option<Bytes>> = (0..streams).map(of).collect();
    assert_eq!(Some(parts.iter().flatten().copied().sum()), all);
    assert!(
        parts.iter().filter(|part| part.is_some_and(|bytes| bytes > Bytes::ZERO)).count() > 1,
        "{parts:?}"
    );
}

#[test]
fn without_what_a_line_holds_less_is_in_use() {
    let (subject, picture) = pictured("leak-oom");
    let failure = picture.lives.failed[0].event.0;
    let mut held: BTreeMap<u32, (Bytes, usize)> = BTreeMap::new();
    let lines = &subject.groups.parts[Part::Line as usize].of;
    for (life, line) in picture.lives.of.iter().zip(lines).filter(|(life, _)| life.holds(failure)) {
        let sum = held.entry(*line).or_default();
        *sum = (sum.0 + life.size, sum.1 + 1);
    }
    let (line, (bytes, blocks)) = held.into_iter().max_by_key(|(_, sums)| *sums).expect("lines hold memory");
    let program = &subject.recording.program;
    let (less, gone) = without(program, &subject.groups, &picture.lives, line, failure);
    assert_eq!(gone, blocks);
    let other = Picture::replayed(&subject, &less, &subject.recording.setup, &picture);
    let used =
        |picture: &Picture| picture.at(&subject, EventIdx(failure - 1)).map_or(0, |bucket| bucket.active.1.0);
    assert!(used(&other) + bytes.0 <= used(&picture), "{} - {} < {}", used(&picture), bytes, used(&other));
}

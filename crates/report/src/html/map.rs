//! The segments and their blocks at the moment, all on one scale.

use maud::{Markup, display, html};
use oomph_diagnose::layout::{self, Extent, Kind, Layout, Piece};
use oomph_diagnose::results::explain::DeviceResult;
use oomph_trace::{Bytes, PoolId, Stream};

use super::{keys, percent, whole};
use crate::breakdown::style_of;
use crate::numbers::{count, counted};
use crate::{place, recording, verdict};

/// Rectangles at most, about.
const PIECES: usize = 3000;
/// The height of a row and the step to the next one, in pixels.
const ROW: u64 = 16;
const STEP: u64 = 21;

/// The page's section; empty where nothing was held.
pub(super) fn section(result: &DeviceResult) -> Markup {
    let layout = layout::at(&result.recording, &result.explanation.moment, PIECES);
    let (undrawn, undrawn_bytes) = layout.left_out;
    let wraps = layout.segments.iter().any(|segment| segment.size > layout.row);
    let drawn = |wanted: fn(Kind) -> bool| {
        layout.segments.iter().flat_map(|segment| &segment.pieces).any(|piece| wanted(piece.kind))
    };
    let meanings = [
        ("h0", "in use, coloured as above", drawn(|kind| matches!(kind, Kind::Held(_)))),
        ("pending", "freed, another stream may still use it", drawn(|kind| matches!(kind, Kind::Pending(_)))),
        ("trapped", "free, beside blocks in use", drawn(|kind| kind == Kind::Free)),
        ("spare", "free, the whole segment", drawn(|kind| kind == Kind::FreeSegment)),
    ];
    html! {
        @if !layout.segments.is_empty() {
            section.card {
                h2 { "Segments " (verdict::moment(result)) }
                p.note {
                    (counted(layout.segments.len() + undrawn, "segment"))
                    " held from the driver, large ones first, by outline; inside, the blocks in the order of their "
                    "addresses. One row is " (whole(layout.row))
                    @if wraps { "; a longer segment goes on in the next" }
                    "."
                    @if undrawn > 0 {
                        " The smallest " (count(undrawn)) " (" (display(undrawn_bytes)) ") are not drawn."
                    }
                }
                svg.map height=(layout.rows * STEP) role="img" aria-label="Segments and their blocks" {
                    @for segment in &layout.segments {
                        @for piece in &segment.pieces { (block(result, &layout, segment, piece)) }
                        @for span in spans(segment.at, segment.size, layout.row) {
                            rect.frame x=(span.x) y=(span.y) width=(span.width) height=(ROW) {}
                        }
                    }
                }
                (keys(meanings.iter().filter(|(.., drawn)| *drawn).map(|(style, what, _)| (*style, *what))))
            }
        }
    }
}

fn block(result: &DeviceResult, layout: &Layout, segment: &Extent, piece: &Piece) -> Markup {
    let holders = &result.explanation.moment.holders;
    let unlined = recording::unlined(&result.recording);
    let line = |rank: usize| holders.get(rank).map(|one| place::holder(one, unlined)).unwrap_or_default();
    let (style, what) = match piece.kind {
        Kind::Held(rank) => (style_of(rank), format!("in use: {}", line(rank))),
        Kind::Pending(rank) => ("pending", format!("freed, another stream may still use it: {}", line(rank))),
        Kind::Free => ("trapped", "free".to_owned()),
        Kind::FreeSegment => ("spare", "free, as is the whole segment".to_owned()),
    };
    let size = match piece.blocks {
        1 => piece.size.to_string(),
        more => format!("{} in {}, mostly", piece.size, counted(more, "block")),
    };
    let tip = format!("{size} {what}\n{}", described(segment));
    html! {
        @for span in spans(piece.at, piece.size, layout.row) {
            rect class={ "b " (style) } x=(span.x) y=(span.y) width=(span.width) height=(ROW) data-tip=(tip) {}
        }
    }
}

fn described(segment: &Extent) -> String {
    let (stream, pool) = (segment.stream, segment.pool);
    let parts = [
        Some(format!("segment of {}", segment.size)),
        segment.small.then(|| "for requests up to 1 MiB".to_owned()),
        segment.expandable.then(|| "expandable".to_owned()),
        (stream != Stream::default()).then(|| format!("stream {:#x}", stream.0)),
        (pool != PoolId::DEFAULT).then(|| format!("private pool ({}, {})", pool.0, pool.1)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The part of a stretch that lies on one row: where it is drawn.
#[derive(Debug, PartialEq)]
struct Span {
    x: String,
    y: u64,
    width: String,
}

/// A stretch of memory, row by row.
fn spans(at: Bytes, size: Bytes, row: Bytes) -> impl Iterator<Item = Span> {
    let end = at + size;
    (at.0 / row.0..end.0.div_ceil(row.0)).map(move |n| {
        let (begin, close) = (Bytes(n * row.0), Bytes((n + 1) * row.0));
        let from = at.max(begin);
        let width = percent(end.min(close) - from, row);
        Span { x: percent(from - begin, row), y: n * STEP + 1, width }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_longer_than_a_row_goes_on_in_the_next() {
        let found: Vec<_> =
            spans(Bytes(7), Bytes(15), Bytes(10)).map(|span| (span.y, span.x, span.width)).collect();
        let expected = [(1, "70%", "30%"), (22, "0%", "100%"), (43, "0%", "20%")];
        assert_eq!(found, expected.map(|(y, x, width)| (y, x.to_owned(), width.to_owned())));
        assert_eq!(spans(Bytes(10), Bytes(10), Bytes(10)).count(), 1);
    }
}

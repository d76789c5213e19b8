//! The segments and their blocks at the moment, all on one scale.

use std::fmt::Write as _;

use oomph_diagnose::layout::{self, Extent, Kind, Layout, Piece};
use oomph_trace::{Bytes, PoolId, Stream};

use super::escape::Escaped;
use super::{holder_class, percent, whole};
use crate::words;
use oomph_diagnose::results::explain::DeviceResult;

/// Rectangles at most, about.
const PIECES: usize = 3000;
/// The height of a row and the step to the next one, in pixels.
const ROW: u64 = 16;
const STEP: u64 = 21;

pub(super) fn write(out: &mut String, result: &DeviceResult) {
    let layout = layout::at(&result.recording, &result.explanation.moment, PIECES);
    if layout.segments.is_empty() {
        return;
    }
    let segments = layout.segments.len() + layout.left_out.0;
    let wraps = layout.segments.iter().any(|segment| segment.size > layout.row);
    let _ = write!(
        out,
        "<section class=\"card\"><h2>Segments {}</h2>\n<p class=\"note\">{} held from the driver, large ones first, \
         by outline; inside, the blocks in the order of their addresses. One row is {}{}.",
        words::moment(result),
        words::counted(segments as u64, "segment"),
        whole(layout.row),
        if wraps { "; a longer segment goes on in the next" } else { "" }
    );
    if layout.left_out.0 > 0 {
        let _ = write!(
            out,
            " The smallest {} ({}) are not drawn.",
            words::count(layout.left_out.0 as u64),
            layout.left_out.1
        );
    }
    let _ = writeln!(
        out,
        "</p>\n<svg class=\"map\" height=\"{}\" role=\"img\" aria-label=\"Segments and their blocks\">",
        layout.rows * STEP
    );
    for segment in &layout.segments {
        for piece in &segment.pieces {
            draw(out, result, &layout, segment, piece);
        }
        for (row, from, len) in spans(segment.at, segment.size, layout.row) {
            let _ = writeln!(
                out,
                "<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{ROW}\"/>",
                percent(from, layout.row),
                row * STEP + 1,
                percent(len, layout.row)
            );
        }
    }
    out.push_str("</svg>\n<ul class=\"keys\">");
    let drawn = |wanted: fn(Kind) -> bool| {
        layout.segments.iter().flat_map(|segment| &segment.pieces).any(|piece| wanted(piece.kind))
    };
    let keys = [
        ("h0", "in use, coloured as above", drawn(|kind| matches!(kind, Kind::Held(_)))),
        ("pending", "freed, another stream may still use it", drawn(|kind| matches!(kind, Kind::Pending(_)))),
        ("trapped", "free, beside blocks in use", drawn(|kind| kind == Kind::Free)),
        ("spare", "free, the whole segment", drawn(|kind| kind == Kind::FreeSegment)),
    ];
    for (class, what, _) in keys.iter().filter(|(_, _, drawn)| *drawn) {
        let _ = write!(out, "<li><span class=\"key {class}\"></span>{what}</li>");
    }
    out.push_str("</ul></section>\n");
}

fn draw(out: &mut String, result: &DeviceResult, layout: &Layout, segment: &Extent, piece: &Piece) {
    let holders = &result.explanation.moment.holders;
    let unlined = words::unlined(&result.recording);
    let line =
        |rank: usize| holders.get(rank).map_or_else(String::new, |holder| words::holder(holder, unlined));
    let (class, what) = match piece.kind {
        Kind::Held(rank) => (holder_class(rank), format!("in use: {}", line(rank))),
        Kind::Pending(rank) => {
            ("pending".to_owned(), format!("freed, another stream may still use it: {}", line(rank)))
        }
        Kind::Free => ("trapped".to_owned(), "free".to_owned()),
        Kind::FreeSegment => ("spare".to_owned(), "free, as is the whole segment".to_owned()),
    };
    let size = match piece.blocks {
        1 => piece.size.to_string(),
        more => format!("{} in {}, mostly", piece.size, words::counted(more as u64, "block")),
    };
    let tip = format!("{size} {what}\n{}", described(segment));
    for (row, from, len) in spans(piece.at, piece.size, layout.row) {
        let _ = writeln!(
            out,
            "<rect class=\"b {class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{ROW}\" data-tip=\"{}\"/>",
            percent(from, layout.row),
            row * STEP + 1,
            percent(len, layout.row),
            Escaped(&tip)
        );
    }
}

fn described(segment: &Extent) -> String {
    let mut text = format!("segment of {}", segment.size);
    if segment.small {
        text.push_str(", for requests up to 1 MiB");
    }
    if segment.expandable {
        text.push_str(", expandable");
    }
    if segment.stream != Stream::default() {
        let _ = write!(text, ", stream {:#x}", segment.stream.0);
    }
    if segment.pool != PoolId::DEFAULT {
        let _ = write!(text, ", private pool ({}, {})", segment.pool.0, segment.pool.1);
    }
    text
}

/// The rows a stretch lies on, where it begins in each and how much of it is there.
fn spans(at: Bytes, size: Bytes, row: Bytes) -> impl Iterator<Item = (u64, Bytes, Bytes)> {
    let end = at + size;
    (at.0 / row.0..end.0.div_ceil(row.0)).map(move |n| {
        let (begin, close) = (Bytes(n * row.0), Bytes((n + 1) * row.0));
        let from = at.max(begin);
        (n, from - begin, end.min(close) - from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_longer_than_a_row_goes_on_in_the_next() {
        let found: Vec<_> =
            spans(Bytes(7), Bytes(15), Bytes(10)).map(|(n, from, len)| (n, from.0, len.0)).collect();
        assert_eq!(found, [(0, 7, 3), (1, 0, 10), (2, 0, 2)]);
        assert_eq!(spans(Bytes(10), Bytes(10), Bytes(10)).count(), 1);
    }
}

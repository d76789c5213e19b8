//! The snapshot reader: what it reads, what it refuses, and that nothing makes it panic.

// In a test a panic is the report.
#![allow(clippy::unwrap_used)]

mod content;

mod describe;

mod hostile;

mod pickler;

use describe::describe;
use oomph_trace::read_snapshot;
use pickler::{V, WRITERS, Writer, dict, list, pickle, text};

/// Expects every writer's pickle of `value` to be read as `expected`.
#[track_caller]
fn check(value: &V, expected: &str) {
    for writer in WRITERS {
        let shown = match read_snapshot(&pickle(value, writer)[..]) {
            Ok(snapshot) => describe(&snapshot),
            Err(error) => format!("{error}\n"),
        };
        assert_eq!(shown.trim_end(), unindent(expected), "written by {writer:?}");
    }
}

/// Expects these bytes to be refused with `expected`.
#[track_caller]
fn check_refused(bytes: &[u8], expected: &str) {
    match read_snapshot(bytes) {
        Ok(snapshot) => panic!("read:\n{}", describe(&snapshot)),
        Err(error) => assert_eq!(error.to_string(), expected),
    }
}

/// Takes away the indentation of the first line, and the line breaks around the text.
fn unindent(text: &str) -> String {
    let text = text.trim_end().trim_start_matches('\n');
    let indent = text.len() - text.trim_start().len();
    let lines = text.lines().map(|line| line.get(indent..).unwrap_or(line.trim_start()));
    lines.collect::<Vec<_>>().join("\n")
}

/// A frame; frames with one number are one object.
fn frame(line: u32) -> V {
    let items = [
        ("name", text(&format!("f{}", line % 7))),
        ("filename", text("a.py")),
        ("line", V::Int(line.into())),
    ];
    V::Shared(line, Box::new(dict(items)))
}

/// A list of frames that is one object wherever `number` occurs.
fn frames(number: u32, lines: impl IntoIterator<Item = u32>) -> V {
    V::Shared(1_000_000 + number, Box::new(list(lines.into_iter().map(frame))))
}

/// An event as PyTorch 2.10 writes it, with more items.
fn event<const N: usize>(action: &str, addr: i128, size: i128, more: [(&str, V); N]) -> V {
    let mut items = vec![
        (text("action"), text(action)),
        (text(if action == "oom" { "device_free" } else { "addr" }), V::Int(addr)),
        (text("size"), V::Int(size)),
        (text("stream"), V::Int(0)),
        (text("time_us"), V::Int(1_700_000_000_000_000)),
        (text("compile_context"), text("N/A")),
        (text("user_metadata"), text("")),
    ];
    items.extend(more.into_iter().map(|(key, value)| (text(key), value)));
    V::Dict(items)
}

/// A snapshot of one device with these events and segments.
fn snapshot(events: V, segments: V) -> V {
    dict([("segments", segments), ("device_traces", list([events]))])
}

/// A snapshot with a bit of everything, for tests that damage it.
fn small() -> V {
    let block = |address: i128, size: i128, state: &str| {
        dict([
            ("address", V::Int(address)),
            ("size", V::Int(size)),
            ("requested_size", V::Int(size - 12)),
            ("state", text(state)),
            ("frames", frames(100, [10, 20, 30, 40, 50, 60])),
        ])
    };
    let segment = dict([
        ("device", V::Int(0)),
        ("address", V::Int(0x7f00_0000_0000)),
        ("total_size", V::Int(2 << 20)),
        ("stream", V::Int(0)),
        ("segment_type", text("small")),
        ("segment_pool_id", V::Tuple(vec![V::Int(0), V::Int(1)])),
        ("is_expandable", V::Bool(false)),
        ("frames", list([])),
        (
            "blocks",
            list([
                block(0x7f00_0000_0000, 512, "active_allocated"),
                block(0x7f00_0000_0200, 1024, "inactive"),
            ]),
        ),
    ]);
    let events = (0..6).flat_map(|n| {
        let stack = || frames(n, [10, 20, 30, 40, 50, 60 + n % 2]);
        [
            event("alloc", 0x7f00_0000_0000 + i128::from(n) * 512, 500, [("frames", stack())]),
            event("free_requested", 0x7f00_0000_0000 + i128::from(n) * 512, 500, [("frames", stack())]),
            event("free_completed", 0x7f00_0000_0000 + i128::from(n) * 512, 500, []),
        ]
    });
    snapshot(list(events), list([segment]))
}

//! A snapshot as text, complete, so that a test can state all of what it expects.

use std::fmt::Write;

use oomph_trace::{Snapshot, StackId};

pub(crate) fn describe(snapshot: &Snapshot) -> String {
    let mut out = String::new();
    let stack = |stack: Option<StackId>| match stack {
        None => String::new(),
        Some(stack) => {
            let frames = snapshot.stacks.frames_of(stack);
            let frame = |id: &oomph_trace::FrameId| {
                let frame = snapshot.stacks.frame(*id);
                format!(
                    "{}:{}:{}",
                    snapshot.texts.get(frame.file),
                    frame.line,
                    snapshot.texts.get(frame.function)
                )
            };
            match frames.len() {
                0..=4 => format!(" < {}", frames.iter().map(frame).collect::<Vec<_>>().join(" < ")),
                len => format!(" < {len} frames from {} to {}", frame(&frames[0]), frame(&frames[len - 1])),
            }
        }
    };
    for trace in &snapshot.traces {
        writeln!(out, "device {}", trace.device).unwrap();
        for event in &trace.events {
            write!(out, "  {} {} {}", event.action.name(), event.addr, event.size.0).unwrap();
            write!(out, " s{} t{}", event.stream.0, event.time_us).unwrap();
            if let Some(pool) = event.pool {
                let id = snapshot.pool_id(pool);
                write!(out, " pool ({}, {})", id.0, id.1).unwrap();
            }
            if let Some(text) = event.metadata {
                write!(out, " {:?}", snapshot.texts.get(text)).unwrap();
            }
            writeln!(out, "{}", stack(event.stack)).unwrap();
        }
        for segment in &trace.segments {
            let pool = snapshot.pool_id(segment.pool);
            let class = if segment.small { "small" } else { "large" };
            let kind = if segment.expandable { " expandable" } else { "" };
            write!(out, "  segment {} {} s{}", segment.addr, segment.size.0, segment.stream.0).unwrap();
            writeln!(out, " ({}, {}) {class}{kind}{}", pool.0, pool.1, stack(segment.stack)).unwrap();
            for block in &segment.blocks {
                write!(out, "    {:?} {} {}/{}", block.state, block.addr, block.requested.0, block.size.0)
                    .unwrap();
                writeln!(out, "{}", stack(block.stack)).unwrap();
            }
        }
    }
    for annotation in &snapshot.annotations {
        let stage = if annotation.starts { "begins" } else { "ends" };
        let name = snapshot.texts.get(annotation.name);
        writeln!(out, "{name} {stage} on {} t{}", annotation.device, annotation.time_us).unwrap();
    }
    if let Some(settings) = &snapshot.settings {
        writeln!(out, "{settings:?}").unwrap();
    }
    let fields = format!("{:?}", snapshot.fields);
    let seen = fields.trim_start_matches("Fields { ").trim_end_matches(" }").split(", ");
    let seen: Vec<&str> = seen.filter_map(|field| field.strip_suffix(": true")).collect();
    writeln!(out, "fields: {}", seen.join(" ")).unwrap();
    out
}

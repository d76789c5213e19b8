//! The page of a recorded job, as `oomph explain --html` writes it.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::path::{Path, PathBuf};

use oomph_diagnose::results::explain::{Explained, FileResult};
use oomph_diagnose::tune::evaluate_shortlist;
use oomph_engine::recording::Known;
use oomph_trace::{Frame, Snapshot, read_snapshot};

/// Every recording there is, by name.
pub(crate) fn fixtures() -> Vec<String> {
    let folders = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap());
    let folders = folders.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

pub(crate) fn snapshot(fixture: &str) -> Snapshot {
    let path = folder().join(fixture).join("snapshot.pickle.gz");
    read_snapshot(std::fs::File::open(path).unwrap()).unwrap()
}

pub(crate) fn results(snapshot: &Snapshot) -> Vec<Explained> {
    Explained::snapshot(snapshot.clone(), Known::default(), &evaluate_shortlist)
}

pub(crate) fn file(results: Vec<Explained>) -> FileResult {
    FileResult { name: "snapshot.pickle".to_owned(), results }
}

pub(crate) fn page(snapshot: &Snapshot) -> String {
    oomph_report::html::page(&[file(results(snapshot))]).unwrap()
}

/// The bytes of each part of each bar, and what they are to add up to.
pub(crate) fn bars(page: &str) -> Vec<(Vec<u64>, u64)> {
    page.split("data-total=\"")
        .skip(1)
        .map(|bar| {
            let number = |text: &str| text.split('"').next().unwrap().parse().unwrap();
            let parts = bar.split("</svg>").next().unwrap().split("data-bytes=\"").skip(1).map(number);
            (parts.collect(), number(bar))
        })
        .collect()
}

/// A recording in whose stacks every name tries to leave its place in the page.
pub(crate) fn hostile() -> Snapshot {
    let mut snapshot = snapshot("fragmentation-oom");
    let file = snapshot.texts.intern("/home/user/a<img src=x onerror=alert(3)>'\".py");
    let function = snapshot.texts.intern("<script>alert(1)</script>\" onmouseover=\"alert(2)");
    let frame = snapshot.stacks.add_frame(Frame { file, function, line: 7 });
    let stack = Some(snapshot.stacks.intern(&[frame]));
    for trace in &mut snapshot.traces {
        trace.events.iter_mut().for_each(|event| event.stack = stack);
        let blocks = trace.segments.iter_mut().flat_map(|segment| &mut segment.blocks);
        blocks.for_each(|block| block.stack = stack);
    }
    snapshot
}

//! What the commands do with a snapshot, one after another.

use std::sync::Arc;

use oomph_diagnose::allocations::Rows;
use oomph_diagnose::results::diff::{Allowance, DiffResult};
use oomph_diagnose::results::explain::{DeviceResult, Explained, FileResult, ProcessResult};
use oomph_diagnose::results::replay::ReplayResult;
use oomph_diagnose::results::tune::TuneResult;
use oomph_diagnose::tune::{Search, best, evaluate_shortlist};
use oomph_diagnose::{stacks_at_peak, tracks};
use oomph_engine::recording::{Known, Recording};
use oomph_engine::replay::{OnFailure, Setup, replay};
use oomph_engine::torch::options::Options;
use oomph_engine::torch::rounding::Divisions;
use oomph_report::text::Colour;
use oomph_report::{export, html, json, text};
use oomph_trace::{Bytes, Snapshot};

/// Inspects the snapshot; explains, replays, tunes, compares and exports each device's part of it; shows all that as text
/// and as JSON.
pub(crate) fn run(snapshot: &Snapshot) {
    assert!(!text::inspect::render(snapshot, Colour::Off).is_empty());
    assert!(!json::document(vec![json::inspect(snapshot)]).is_empty());
    if let Some(sidecar) = &snapshot.sidecar {
        let process = ProcessResult { sidecar: sidecar.clone(), log: None };
        assert!(!text::process::render(&process, Colour::Off).is_empty());
        assert!(!json::document(vec![json::process(&process)]).is_empty());
    }
    for recording in Recording::all(snapshot.clone(), Known::default()) {
        device(recording);
    }
}

fn device(recording: Recording) {
    let recording = Arc::new(recording);
    let explained = DeviceResult::of(Arc::clone(&recording), &evaluate_shortlist);
    let moment = &explained.explanation.moment;
    if let Some(classes) = &moment.classes {
        assert_eq!(classes.iter().map(|(_, bytes)| *bytes).sum::<Bytes>(), moment.counters.active);
    }
    if let Some(beside) = &explained.explanation.beside {
        let parts = [beside.not_held, beside.beyond_limit, beside.context, beside.others.unwrap_or_default()];
        assert_eq!(parts.into_iter().sum::<Bytes>() + moment.counters.reserved, beside.total);
    }
    let explained = Explained::Device(Box::new(explained));
    assert!(!text::explained(&explained, Colour::Off).is_empty());
    assert!(!json::document(vec![json::explained(&explained)]).is_empty());
    assert!(
        html::page(&[FileResult { name: String::new(), results: vec![explained] }])
            .is_some_and(|page| !page.is_empty())
    );

    let search = Search::new(&recording, None);
    let candidates = settings(&recording).iter().map(|options| search.evaluate(options)).collect::<Vec<_>>();
    let best = best(&candidates);
    let tuned =
        TuneResult { recording: Arc::clone(&recording), limit: search.limit, candidates, best, growth: None };
    assert!(!text::tune::render(&tuned, true, Colour::Off).is_empty());
    assert!(!json::document(vec![json::tune(&tuned)]).is_empty());

    for (options, start) in settings(&recording).iter().map(|found| (found, recording.start_for(found))) {
        let setup = Setup { options: options.clone(), ..recording.setup.clone() };
        let replayed = replay(&recording.program, &setup, start, OnFailure::FollowRecording);
        let as_recorded = setup == recording.setup;
        let result = ReplayResult { recording: Arc::clone(&recording), setup, as_recorded, replayed };
        assert!(!text::replay::render(&result, Colour::Off).is_empty());
        assert!(!json::document(vec![json::replay(&result)]).is_empty());
    }

    let compared = DiffResult::of((&recording, "a"), (&recording, "b"), &|_| None);
    assert!(compared.comparison.is_same(), "{:?}", compared.comparison);
    let allowed = Some(Allowance::Size(Bytes::ZERO));
    assert!(!text::diff::render(&compared, allowed, Colour::Off).is_empty());
    assert!(!json::document(vec![json::diff(&compared, allowed)]).is_empty());

    let held = [(recording.trace().device, stacks_at_peak::of(&recording))];
    assert!(!export::perfetto(&[tracks::of(&recording, 100)]).is_empty());
    assert_eq!(export::folded(&held).lines().count(), held[0].1.len());
    assert!(!export::speedscope(&held).is_empty());
    assert_eq!(Rows::of(&recording).count(), recording.program.allocations.len());
}

/// The recorded settings, and one of each way to allocate.
fn settings(recording: &Recording) -> [Options; 4] {
    let base = Options::default;
    [
        recording.setup.options.clone(),
        Options { expandable_segments: true, ..base() },
        Options { max_split_size: Some(Bytes::mib(20)), garbage_collection_threshold: 0.6, ..base() },
        Options {
            roundup_power2_divisions: Divisions::uniform(4),
            large_segment_size: Bytes::mib(64),
            ..base()
        },
    ]
}

//! Documents of the verbs that have no expected files: made-up results, printed.

use oomph_diagnose::classes::Class;
use oomph_diagnose::modules::ModuleNode;
use oomph_diagnose::phase::Phase;
use oomph_diagnose::results::explain::Explained;
use oomph_diagnose::results::fit::{Combination, Exactness, FitResult, Measure};
use oomph_diagnose::results::plan::{
    How, LibraryLine, PlanResult, PlannedAt, PlannedLargest, PlannedLeast, PlannedOption, PlannedPeaks,
    PlannedRank, PlannedValue, PlannedVary, PlannedWorld,
};
use oomph_diagnose::results::run::{GpuDeath, HostDeath, LaterFailure, Peak, RunEnd, RunResult};
use oomph_diagnose::{message, rules};
use oomph_lint::{Diagnostic, FileResult, Kind, Measured, Proof};
use oomph_report::json;
use oomph_trace::Bytes;
use oomph_trace::cards::{Card, Context};

/// Documents, each with the verb that prints it.
pub(crate) fn documents() -> Vec<(&'static str, String)> {
    let log =
        message::read("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB".as_bytes()).unwrap();
    let later = LaterFailure { process: "rank1".into(), seconds: 1.25, recording: "rank1.pickle".into() };
    let text = Explained::Text(log);
    let explained = json::document(vec![json::explained(&text)]);
    let gpu_death = GpuDeath { process: Some("rank0".into()), results: vec![text], later: vec![later] };
    let host_death =
        HostDeath { signal: Some(9), rss: Some(Bytes::gib(31)), group_kills: 1, ..HostDeath::default() };
    let ends =
        [RunEnd::GpuDeath(Box::new(gpu_death)), RunEnd::HostDeath(Box::new(host_death)), RunEnd::Other];
    let runs = ends.map(|end| ("run", json::document(vec![json::run(&run(end))])));
    let plans = [plan(), PlanResult { peaks: None, fits: None, vary: None, ..plan() }];
    let all: Vec<&rules::RuleInfo> = rules::all().iter().collect();
    let mut documents = vec![
        ("explain", explained),
        ("plan", json::document(plans.iter().map(json::plan))),
        ("plan", json::document(vec![json::plan(&plans[0])])),
        ("serve", json::document(crate::serve::results().iter().map(json::serve))),
        ("fit", json::document(vec![json::fit(&fit())])),
        ("rule", json::printed(&all)),
        ("lint", json::printed(&json::lint(&linted()))),
        ("export", json::printed(&json::export(&[("parquet", "memory.parquet".to_owned(), 4096)]))),
        ("dump", json::printed(&json::dump(&["main.pickle".to_owned()]))),
    ];
    documents.extend(runs);
    documents
}

fn run(end: RunEnd) -> RunResult {
    let peak = Peak {
        process: Some("rank1".into()),
        device: 0,
        held: Bytes::gib(3),
        whole: Some(Bytes::gib(9)),
        is_limit: true,
        retries: 4,
    };
    RunResult { exit_code: 1, folder: ".oomph/run".into(), end, peaks: vec![peak], failures: 2 }
}

fn fit() -> FitResult {
    let measure = Measure {
        what: "checkpointing of 3 of 12 blocks".into(),
        instruction: "torch.utils.checkpoint around the first 3 blocks".into(),
        exact: Exactness::Bits,
        costs: 87,
    };
    let held = Some(Bytes::gib(3));
    let tried = [
        Combination { measures: Vec::new(), peak_reserved: None, fits: false, step_us: None },
        Combination { measures: vec![measure], peak_reserved: held, fits: true, step_us: Some(31_000) },
    ];
    let plan = plan();
    FitResult {
        script: "train".into(),
        card: plan.card,
        limit: Some(Bytes::gib(4)),
        allowed: Bytes::gib(4),
        peaks: plan.peaks,
        tried: tried.to_vec(),
        chosen: Some(1),
        offered: vec!["micro-batches".into()],
        caveats: Vec::new(),
        why_not: None,
    }
}

fn plan() -> PlanResult {
    let option = PlannedOption {
        change: "bfloat16".into(),
        instructions: vec!["torch.autocast(\"cuda\", torch.bfloat16)".into()],
        how: How::Planned,
        peak_reserved: Some(Bytes::gib(30)),
        process: Some(Bytes::gib(31)),
        fits: Some(true),
        largest: Some(PlannedLargest { value: Some(40), is_open: true }),
    };
    let failed = PlannedOption {
        how: How::Replayed,
        peak_reserved: None,
        process: None,
        fits: None,
        largest: None,
        ..option.clone()
    };
    let least = PlannedLeast {
        change: "bfloat16".into(),
        instructions: vec!["torch.autocast(\"cuda\", torch.bfloat16)".into()],
        value: Some(1),
        peak_reserved: Bytes::gib(41),
        process: Bytes::gib(42),
    };
    let rank = PlannedRank {
        rank: 0,
        stage: Some(0),
        peak_requested: Some(Bytes::gib(49)),
        peak_allocated: Some(Bytes::gib(50)),
        peak_reserved: Some(Bytes::gib(60)),
        process: Some(Bytes::gib(61)),
    };
    let failing = PlannedRank {
        rank: 7,
        stage: None,
        peak_requested: None,
        peak_allocated: None,
        peak_reserved: None,
        process: None,
    };
    PlanResult {
        script: "train".into(),
        card: Card {
            short: "H100-80".into(),
            name: "NVIDIA H100".into(),
            total: Bytes::gib(80),
            capability: (9, 0),
            multiprocessors: 132,
            context: Context { least: Bytes::mib(400), most: Bytes::mib(500) },
        },
        is_close: false,
        nccl: Bytes::mib(558),
        late: Bytes::mib(100),
        pinned: Some(Bytes::gib(2)),
        held_between: Some((Bytes::gib(5), Bytes::gib(6))),
        world: Some(PlannedWorld { size: 8, worst: 7, ranks: vec![rank, failing], communicators: 2 }),
        seen_on: Some("H200".into()),
        limit: Some(Bytes::gib(40)),
        peaks: Some(PlannedPeaks {
            requested: Bytes::gib(49),
            allocated: Bytes::gib(50),
            reserved: Bytes::gib(60),
        }),
        fits: Some(false),
        retries: 3,
        at: PlannedAt {
            file: Some("train.py".into()),
            line: Some(61),
            within: Some(LibraryLine { file: "functional.py".into(), line: 77 }),
            phase: Some(Phase::Forward),
            step: Some(2),
        },
        by_class: vec![(Class::Weights, Bytes::gib(10)), (Class::OptimizerTemporaries, Bytes::gib(40))],
        by_module: vec![ModuleNode {
            depth: 0,
            name: "GPT.h.0-11".into(),
            kind: Some("Block".into()),
            count: 12,
            by_class: vec![(Class::Weights, Bytes::gib(10)), (Class::Activations, Bytes::gib(2))],
        }],
        steps: 3,
        options: vec![option, failed],
        least: Some(least),
        vary: Some(PlannedVary {
            flag: "--batch".into(),
            asked: Some(64),
            largest: Some(23),
            peak_reserved: Some(Bytes::gib(38)),
            is_open: true,
            values: vec![PlannedValue {
                value: 23,
                peak_reserved: Bytes::gib(38),
                process: Bytes::gib(39),
                fits: true,
            }],
        }),
        caveats: vec!["collectives are not seen".into()],
        why_not: None,
    }
}

/// A file with a finding that is proved, one with a finding that is not, and one that cannot be read.
fn linted() -> Vec<FileResult> {
    let source = "import torch\noptimizer.zero_grad(set_to_none=False)\n";
    let file = |path: &str, source, proof: Option<Proof>| FileResult {
        path: path.to_owned(),
        found: oomph_lint::lint(source, Kind::Python)
            .map(|found| found.into_iter().map(|each| Diagnostic { proof: proof.clone(), ..each }).collect()),
        fixed: 0,
        proof,
    };
    let run = |keeps, needs| Measured { keeps, needs: Bytes::mib(needs), runs_out: false };
    let proved = Proof {
        before: Some(run(Some(Bytes::mib(8)), 800)),
        after: Some(run(Some(Bytes::ZERO), 100)),
        why_not: None,
        diff: vec!["- a".into(), "+ b".into()],
        is_fix: true,
    };
    vec![
        file("a.py", source, Some(proved)),
        file("b.py", source, Some(Proof::without("it costs time, and no memory"))),
        file("c.py", "def f(:\n", None),
    ]
}

//! Where each rule speaks and where it is silent, on real recordings and on small ones made by hand.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::fs::{self, File};
use std::path::PathBuf;

use oomph_diagnose::cause::Cause;
use oomph_diagnose::explain::{Explanation, explain};
use oomph_diagnose::rules::{self, Finding};
use oomph_diagnose::tune::{Candidate, Search};
use oomph_engine::recording::{Known, Recording};
use oomph_trace::sidecar::{Card, Identity, Process, Sidecar};
use oomph_trace::{Action, Bytes, Snapshot, read_snapshot};

use crate::tape::{From, Tape};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn fixture(name: &str) -> Snapshot {
    let path = root().join("fixtures").join(name).join("snapshot.pickle.gz");
    read_snapshot(File::open(path).unwrap()).unwrap()
}

fn explained(snapshot: &Snapshot) -> Explanation {
    let recording = Recording::understand(snapshot.clone(), 0, Known::default());
    assert!(recording.is_exact(), "{:?}", recording.fidelity.divergence);
    // No rule asks for replays unless a request failed.
    let failed = recording.trace().events.iter().any(|event| event.action == Action::Oom);
    let evaluate = |search: &Search<'_>| -> Vec<Candidate> {
        let settings = if failed { search.shortlist() } else { Vec::new() };
        settings.iter().map(|options| search.evaluate_at_limit(options)).collect()
    };
    explain(&recording, &evaluate)
}

fn findings(tape: Tape) -> Vec<Finding> {
    explained(&tape.snapshot()).findings
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The rule speaks, and its page shows exactly this as its example.
fn speaks(rule: &str, findings: &[Finding]) {
    let found = findings.iter().find(|finding| finding.rule == rule);
    let found = found.unwrap_or_else(|| panic!("{rule} is silent: {findings:#?}"));
    let shown = format!("{} [{rule}] {}", found.claim, found.evidence.join(" "));
    let example = rules::info(rule).unwrap().page.split("```").nth(1).unwrap().trim_start_matches("text");
    assert_eq!(words(example), words(&shown), "the example of {rule}'s page");
}

fn is_silent(rule: &str, findings: &[Finding]) {
    let found = findings.iter().find(|finding| finding.rule == rule);
    assert_eq!(found, None);
}

const fn mib(n: u64) -> Bytes {
    Bytes::mib(n)
}

const fn on(stream: u16) -> From<'static> {
    From { stream, pool: 0, frames: &[] }
}

const IN_A_POOL: From<'static> = From { stream: 0, pool: 1, frames: &[] };

#[test]
fn every_recording_gets_the_findings_it_deserves() {
    let cases: &[(&str, &[&str])] = &[
        ("eval-with-grad-oom", &["OOM003", "OOM007", "OOM002"]),
        ("fragmentation-expandable", &["OOM002", "OOM015"]),
        ("fragmentation-oom", &["OOM002"]),
        ("gpt2-checkpointing-tight", &["OOM002"]),
        ("gpt2-ragged", &["OOM002"]),
        ("gpt2-ragged-expandable", &[]),
        ("gpt2-static", &[]),
        ("graph-pool", &["OOM002"]),
        ("grpo", &[]),
        ("kvcache-oom", &["OOM002"]),
        ("leak-oom", &["OOM003", "OOM006", "OOM015"]),
        ("moe-pow2", &[]),
        ("moe-tight", &[]),
        ("mt5-finetune", &["OOM002"]),
        ("mt5-finetune-expandable-tight", &[]),
        ("resnet50-split64", &["OOM002"]),
        ("segmentation-gc", &[]),
        ("segmentation-tight", &["OOM002"]),
        ("streams", &["OOM002"]),
        ("streams-expandable", &["OOM002"]),
        ("train-eval-tight", &["OOM002"]),
    ];
    let found: Vec<(&str, Vec<&str>)> = cases
        .iter()
        .map(|(name, _)| {
            let findings = explained(&fixture(name)).findings;
            (*name, findings.iter().map(|finding| finding.rule).collect())
        })
        .collect();
    let expected: Vec<(&str, Vec<&str>)> =
        cases.iter().map(|(name, rules)| (*name, rules.to_vec())).collect();
    assert_eq!(found, expected);
}

/// A recording that ends in a failure: its cause, and what the findings and the first fix must name.
fn check_cause(name: &str, cause: Cause, named: &[&str], fix: Option<&str>) {
    let explanation = explained(&fixture(name));
    assert_eq!(explanation.cause(), Some(cause), "{name}");
    let text: Vec<String> = explanation
        .findings
        .iter()
        .flat_map(|finding| std::iter::once(&finding.claim).chain(&finding.evidence).cloned())
        .collect();
    for part in named {
        assert!(text.iter().any(|line| line.contains(part)), "{name}: `{part}` is not in {text:#?}");
    }
    if let Some(fix) = fix {
        let best = explanation.fixes.first().filter(|best| best.helps && best.candidate.completes);
        assert_eq!(best.map(|best| best.candidate.options.to_string()).as_deref(), Some(fix), "{name}");
    }
}

#[test]
fn a_leak_is_found_with_its_line() {
    let kept = "graphs of past steps are kept alive; they are made at train.py:115 case_leak";
    check_cause("leak-oom", Cause::Leak, &["a step from train.py:115", kept], None);
}

#[test]
fn graphs_kept_in_evaluation_are_found_with_their_line() {
    let kept = "graphs are kept in evaluation, at train.py:182 case_eval_grad: wrap it in torch.no_grad()";
    check_cause("eval-with-grad-oom", Cause::Leak, &["a step from train.py:182", kept], None);
}

#[test]
fn fragmentation_is_found_with_the_setting_that_fixes_it() {
    let free = "2.89 GiB was free, but in pieces";
    check_cause("fragmentation-oom", Cause::Fragmentation, &[free], Some("large_segment_size_mb:12"));
    let fitted = "in use 1.53 GiB + request 102.38 MiB = 1.63 GiB, limit about 2.06 GiB";
    check_cause("kvcache-oom", Cause::Fragmentation, &[fitted], Some("expandable_segments:True"));
}

#[test]
fn the_hint_is_called_useless_where_it_was_followed() {
    let named =
        ["expandable_segments:True, is useless here: it was on", "by replay: large_segment_size_mb:12"];
    check_cause("fragmentation-expandable", Cause::Fragmentation, &named, Some("large_segment_size_mb:12"));
}

#[test]
fn capacity() {
    let mut tape = Tape::new("", Some(mib(2048)));
    let _model = [tape.get(mib(1000)), tape.get(mib(1000))];
    assert!(tape.ask(mib(100), on(0)).is_none());
    speaks("OOM001", &findings(tape));
    is_silent("OOM001", &explained(&fixture("fragmentation-oom")).findings);
}

#[test]
fn fragmentation() {
    speaks("OOM002", &explained(&fixture("fragmentation-oom")).findings);
    is_silent("OOM002", &explained(&fixture("leak-oom")).findings);
}

#[test]
fn growth() {
    speaks("OOM003", &explained(&fixture("leak-oom")).findings);
    is_silent("OOM003", &explained(&fixture("kvcache-oom")).findings);
}

/// Half of 200 MiB is in use when the other half is asked for, which was freed.
fn freed_half(wait: bool) -> Vec<Finding> {
    let mut tape = Tape::new("", Some(mib(250)));
    let whole = tape.get(mib(200));
    tape.free(whole);
    let _half = tape.get(mib(100));
    let other = tape.get(mib(100));
    tape.free_later(other);
    tape.get(Bytes(512));
    if wait {
        tape.wait();
    }
    tape.ask(mib(100), on(0));
    findings(tape)
}

#[test]
fn spurious() {
    speaks("OOM004", &freed_half(false));
    is_silent("OOM004", &freed_half(true));
}

#[test]
fn settings() {
    let mut tape = Tape::new("garbage_collection_threshold:0.8", None);
    tape.get(mib(30));
    speaks("OOM005", &findings(tape));
    is_silent("OOM005", &explained(&fixture("segmentation-gc")).findings);
}

const LINEAR: (&str, &str, u32) =
    ("/lib/python3.12/site-packages/torch/nn/modules/linear.py", "forward", 134);
const LOOP: (&str, &str, u32) = ("/home/user/train.py", "main", 9);

/// Eight steps that keep so many of the six results of their forward pass, with a backward pass or without.
fn steps(kept: usize, backward: bool) -> Vec<Finding> {
    steps_of(6, kept, backward, &[LOOP])
}

/// The same with so many results, in a loop called like this.
fn steps_of(results: u32, kept: usize, backward: bool, outer: &[(&str, &str, u32)]) -> Vec<Finding> {
    let mut tape = Tape::new("", None);
    let model = ("/home/user/train.py", "load", 3);
    tape.ask(mib(100), From { frames: &[model], ..From::default() });
    for _ in 0..8 {
        let batch = tape.ask(mib(8), From { frames: &[LOOP], ..From::default() });
        let results: Vec<_> = (0..results)
            .map(|layer| {
                let layer = ("/home/user/model.py", "forward", 20 + layer);
                let frames = [&[LINEAR, layer], outer].concat();
                tape.ask(mib(4), From { frames: &frames, ..From::default() }).unwrap()
            })
            .collect();
        let gradient = backward.then(|| {
            let engine = ("/lib/python3.12/site-packages/torch/autograd/graph.py", "_engine_run_backward", 8);
            tape.ask(mib(5), From { frames: &[engine, LOOP], ..From::default() }).unwrap()
        });
        for result in results.into_iter().skip(kept).chain(gradient).chain(batch) {
            tape.free(result);
        }
    }
    findings(tape)
}

/// The numbers of the rules that spoke.
fn numbers(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.rule).collect()
}

#[test]
fn graphs() {
    speaks("OOM006", &explained(&fixture("leak-oom")).findings);
    is_silent("OOM006", &explained(&fixture("eval-with-grad-oom")).findings);
}

#[test]
fn evaluation() {
    speaks("OOM007", &explained(&fixture("eval-with-grad-oom")).findings);
    is_silent("OOM007", &explained(&fixture("leak-oom")).findings);
}

/// A model of several files is still run by one line, and that is the one to wrap.
#[test]
fn the_line_named_is_the_one_that_all_of_a_graph_was_made_under() {
    let findings = steps(6, false);
    let found = findings.iter().find(|finding| finding.rule == "OOM007").unwrap();
    assert!(found.claim.contains("at train.py:9 main: wrap it"), "{}", found.claim);
    let lines = [
        "36 of 36 results of forward passes in 6 steps are alive two or more steps later: 144.00 MiB",
        "24.00 MiB of them from model.py:20 forward",
        "24.00 MiB of them from model.py:21 forward",
        "24.00 MiB of them from model.py:22 forward",
        "no backward pass and no optimizer ran in these steps",
    ];
    assert_eq!(found.evidence, lines);
}

#[test]
fn what_keeps_graphs_is_told_by_what_is_kept_and_by_who_runs() {
    assert_eq!(numbers(&steps(6, true)), ["OOM003", "OOM006"]);
    assert_eq!(numbers(&steps(6, false)), ["OOM003", "OOM007"]);
    assert_eq!(numbers(&steps(1, false)), ["OOM003"], "outputs that are gathered are no graph");
    assert_eq!(numbers(&steps(0, true)), [""; 0], "a job that keeps nothing");
    assert_eq!(numbers(&steps_of(30, 6, false, &[LOOP])), ["OOM003"], "a cache of keys and values");
    let decorator = ("/lib/python3.12/site-packages/torch/utils/_contextlib.py", "decorate_context", 124);
    assert_eq!(numbers(&steps_of(6, 6, false, &[LOOP, decorator])), ["OOM003"], "gradients are off");
}

#[test]
fn large_request() {
    let fails = |size| {
        let mut tape = Tape::new("", Some(mib(4096)));
        let _model = [(); 4].map(|()| tape.get(mib(512)));
        assert!(tape.ask(size, on(0)).is_none());
        findings(tape)
    };
    speaks("OOM008", &fails(mib(3072)));
    let mut tape = Tape::new("", Some(mib(4096)));
    let _model = [(); 7].map(|()| tape.get(mib(512)));
    assert!(tape.ask(mib(600), on(0)).is_none());
    is_silent("OOM008", &findings(tape));
}

/// 200 small tensors, of which these are freed; then a large request.
fn small_ones(freed: impl Fn(usize) -> bool) -> Vec<Finding> {
    let mut tape = Tape::new("", Some(mib(256)));
    let tensors: Vec<_> = (0..200).map(|_| tape.get(mib(1))).collect();
    for (_, tensor) in tensors.into_iter().enumerate().filter(|(index, _)| freed(*index)) {
        tape.free(tensor);
    }
    assert!(tape.ask(mib(100), on(0)).is_none());
    findings(tape)
}

#[test]
fn other_pool() {
    speaks("OOM009", &small_ones(|index| index % 2 == 0));
    is_silent("OOM009", &small_ones(|_| false));
    is_silent("OOM009", &explained(&fixture("fragmentation-oom")).findings);
}

/// Of 200 MiB held for `from`, 12 are in use; then 150 MiB are asked for on the default stream.
fn cached_for(from: From<'_>, limit: u64) -> Vec<Finding> {
    let mut tape = Tape::new("", Some(mib(limit)));
    let whole = tape.ask(mib(200), from).unwrap();
    tape.free(whole);
    tape.ask(mib(12), from).unwrap();
    let _ = tape.ask(mib(150), on(0));
    findings(tape)
}

#[test]
fn other_stream() {
    speaks("OOM010", &cached_for(on(1), 256));
    is_silent("OOM010", &cached_for(on(1), 512));
    is_silent("OOM010", &cached_for(IN_A_POOL, 256));
}

#[test]
fn pending() {
    let copies = |wait: bool| {
        let mut tape = Tape::new("", None);
        let batch = tape.ask(mib(60), on(1)).unwrap();
        tape.free_later(batch);
        if wait {
            tape.wait();
        }
        tape.get(mib(400));
        tape.wait();
        findings(tape)
    };
    speaks("OOM011", &copies(false));
    is_silent("OOM011", &copies(true));
}

#[test]
fn private_pools() {
    speaks("OOM012", &cached_for(IN_A_POOL, 256));
    is_silent("OOM012", &cached_for(on(1), 256));
    is_silent("OOM012", &explained(&fixture("graph-pool")).findings);
}

#[test]
fn slack() {
    let rounded = |size| {
        let mut tape = Tape::new("roundup_power2_divisions:2", None);
        let _tensors = [(); 10].map(|()| tape.get(mib(size)));
        findings(tape)
    };
    speaks("OOM013", &rounded(17));
    is_silent("OOM013", &rounded(24));
    is_silent("OOM013", &explained(&fixture("moe-pow2")).findings);
}

#[test]
fn outside() {
    let mut tape = Tape::on_card("", None, mib(1000));
    tape.get(mib(900));
    assert!(tape.ask(mib(200), on(0)).is_none());
    speaks("OOM014", &findings(tape));
    is_silent("OOM014", &explained(&fixture("fragmentation-oom")).findings);
}

#[test]
fn capacity_of_a_card_that_the_recorder_described() {
    let mut tape = Tape::on_card("", None, mib(1000));
    tape.get(mib(100));
    assert!(tape.ask(mib(2000), on(0)).is_none());
    let mut snapshot = tape.snapshot();
    let claim = |snapshot: &Snapshot| {
        let findings = explained(snapshot).findings;
        findings.into_iter().find(|finding| finding.rule == "OOM001").map(|finding| finding.claim).unwrap()
    };
    assert_eq!(claim(&snapshot), "2.05 GiB was needed in all, and the limit is less than 2.05 GiB");
    let card = Card { total: Some(mib(1000)), ..Card::default() };
    snapshot.sidecar = Some(Sidecar { devices: vec![card], ..Sidecar::default() });
    assert_eq!(claim(&snapshot), "1.07 GiB more was needed than there is");
}

#[test]
fn outside_of_a_card_that_the_recorder_described() {
    let mut tape = Tape::on_card("", None, mib(1000));
    tape.get(mib(900));
    assert!(tape.ask(mib(200), on(0)).is_none());
    let mut snapshot = tape.snapshot();
    let process =
        |pid, name: &str, size| Process { pid, name: Some(name.to_owned()), bytes: Some(mib(size)) };
    let card = Card {
        total: Some(mib(1600)),
        used_by_others: Some(mib(250)),
        processes: vec![process(8, "jupyter", 50), process(7, "python", 1250), process(9, "vllm", 200)],
        ..Card::default()
    };
    let identity = Identity { pid: Some(7), ..Identity::default() };
    snapshot.sidecar = Some(Sidecar { devices: vec![card], identity, ..Sidecar::default() });
    let findings = explained(&snapshot).findings;
    let found = findings.iter().find(|finding| finding.rule == "OOM014").unwrap();
    let expected = [
        "held 900.00 MiB, and the driver had 100.00 MiB left",
        "the card has 1.56 GiB: 250.00 MiB of it is other processes', 350.00 MiB this process's CUDA context and libraries",
        "process 9 (vllm) has 200.00 MiB",
        "process 8 (jupyter) has 50.00 MiB",
    ];
    assert_eq!(found.evidence, expected);
}

#[test]
fn hint() {
    speaks("OOM015", &explained(&fixture("fragmentation-expandable")).findings);
    is_silent("OOM015", &explained(&fixture("fragmentation-oom")).findings);
    is_silent("OOM015", &explained(&fixture("gpt2-ragged-expandable")).findings);
}

#[test]
fn the_reference_is_what_the_rules_say() {
    let path = root().join("docs/reference/rules.md");
    if std::env::var_os("OOMPH_BLESS").is_some() {
        fs::write(&path, rules::reference()).unwrap();
    }
    let same = fs::read_to_string(path).unwrap() == rules::reference();
    assert!(same, "docs/reference/rules.md is not what the rules say: OOMPH_BLESS=1 writes it anew");
}

#[test]
fn every_rule_has_a_number_of_its_own_and_a_page_for_the_terminal() {
    for (index, info) in rules::all().iter().enumerate() {
        assert_eq!(info.id, format!("OOM{:03}", index + 1));
        assert_eq!(rules::info(&info.id.to_lowercase()), Some(info));
        assert!(info.page.lines().all(|line| line.chars().count() <= 78), "{}", info.id);
        for part in ["**Claims**", "**Why.**", "**What to do.**", "**Silent**", "```text"] {
            assert!(info.page.contains(part), "{}: {part}", info.id);
        }
    }
    assert_eq!(rules::info("OOM000"), None);
}

//! The page of a plan: the chart has both axes, the phases and the limit.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use oomph_diagnose::class_curves::ClassCurves;
use oomph_diagnose::classes::Class;
use oomph_diagnose::modules::ModuleNode;
use oomph_diagnose::phase::Phase;
use oomph_diagnose::phases::Stretch;
use oomph_diagnose::results::plan::{
    How, PlanResult, PlannedAt, PlannedLargest, PlannedLeast, PlannedOption, PlannedPeaks, PlannedRank,
    PlannedValue, PlannedVary, PlannedWorld,
};
use oomph_report::text::{self, Colour};
use oomph_trace::cards::{Card, Context, card_named};
use oomph_trace::{Bytes, EventIdx};

fn result(card: &str) -> PlanResult {
    // What its context holds is known to the byte, so that what is needed is one number.
    let context = Context { least: Bytes::mib(768), most: Bytes::mib(768) };
    PlanResult {
        script: "train.py".to_owned(),
        card: Card { context, ..card_named(card).unwrap().clone() },
        nccl: Bytes::ZERO,
        late: Bytes::ZERO,
        held_between: None,
        world: None,
        seen_on: None,
        limit: None,
        peaks: None,
        fits: None,
        is_close: false,
        retries: 0,
        at: PlannedAt { step: Some(4), ..PlannedAt::default() },
        by_class: Vec::new(),
        by_module: Vec::new(),
        pinned: None,
        steps: 4,
        options: Vec::new(),
        least: None,
        vary: None,
        caveats: Vec::new(),
        why_not: None,
    }
}

/// Events 100 to 200 of a step that uses up to 12 GiB.
fn curves() -> ClassCurves {
    let begins = |from: u32, phase| Stretch { from: EventIdx(from), step: 4, phase };
    let held = |at: u32, weights, rest| (EventIdx(at), vec![Bytes::gib(weights), Bytes::gib(rest)]);
    ClassCurves {
        range: EventIdx(100)..EventIdx(200),
        phases: vec![
            begins(90, Phase::Forward),
            begins(140, Phase::Backward),
            begins(190, Phase::Optimizer),
            begins(197, Phase::Forward),
        ],
        classes: vec![Class::Weights, Class::Activations],
        points: vec![held(100, 2, 0), held(150, 2, 10), held(180, 2, 4)],
    }
}

/// The texts of a drawing, in order.
fn texts(page: &str) -> Vec<String> {
    let parts = page.split("<text").skip(1);
    let text = |part: &str| part.split_once('>').unwrap().1.split("</text>").next().unwrap().to_owned();
    parts.map(|part| text(part).replace('\u{a0}', " ")).collect()
}

fn chart(result: &PlanResult) -> Vec<String> {
    texts(&oomph_report::html::plan(std::slice::from_ref(result), Some(&curves())))
}

#[test]
fn the_chart_has_amounts_phases_the_peak_and_the_limit() {
    let page = oomph_report::html::plan(&[result("T4")], Some(&curves()));
    let expected = [
        "0",
        "4 GiB",
        "8 GiB",
        "12 GiB",
        "13.82 GiB",
        "limit 13.82 GiB: what the T4 has for PyTorch",
        "forward",
        "backward",
        "optimizer",
        "peak in use, 12 GiB",
    ];
    assert_eq!(texts(&page), expected);
    // The highest amount with air above it is 13.82 GiB and a sixteenth.
    assert!(page.contains(
        r#"<path class="h0" d="M0 8638H5000V8638H8000V8638H10000V10000H8000V10000H5000V10000H0Z""#
    ));
    assert!(
        page.contains(
            r#"<path class="h1" d="M0 8638H5000V1828H8000V5914H10000V8638H8000V8638H5000V8638H0Z""#
        )
    );
}

#[test]
fn the_page_of_several_cards_has_their_table_and_each_of_them() {
    let fits = |card, fits| PlanResult { fits: Some(fits), peaks: Some(peaks(12)), ..result(card) };
    let page = oomph_report::html::plan(&[fits("T4", true), fits("RTX3060", false)], Some(&curves()));
    assert!(page.contains("fits on 1 of 2 cards"), "{page}");
    let parts = page.split("<summary>").skip(1);
    let titles: Vec<&str> = parts.map(|part| part.split("</summary>").next().unwrap()).collect();
    assert_eq!(
        titles,
        [
            "fits on the T4 (14.57 GiB): 12.75 GiB at its peak",
            "does not fit on the RTX3060 (11.65 GiB): 12.75 GiB at its peak",
        ]
    );
}

fn peaks(gib: u64) -> PlannedPeaks {
    PlannedPeaks { requested: Bytes::gib(gib), allocated: Bytes::gib(gib), reserved: Bytes::gib(gib) }
}

#[test]
fn the_modules_that_have_most_are_named_with_what_it_is_for() {
    let node = |depth, name: &str, kind: Option<&str>, count, by_class: &[(Class, u64)]| ModuleNode {
        depth,
        name: name.to_owned(),
        kind: kind.map(str::to_owned),
        count,
        by_class: by_class.iter().map(|(class, mib)| (*class, Bytes::mib(*mib))).collect(),
    };
    let (weights, activations) = (Class::Weights, Class::Activations);
    let by_module = vec![
        node(0, "GPT", Some("GPT"), 1, &[(weights, 2000), (activations, 8000)]),
        node(1, "body.h.0-11", Some("Block"), 12, &[(weights, 1500), (activations, 1600)]),
        node(2, "down", Some("Linear"), 12, &[(weights, 1500)]),
        node(2, "norm", Some("LayerNorm"), 12, &[(weights, 1), (activations, 100)]),
        node(0, "backward pass", None, 1, &[(activations, 2000)]),
        node(0, "rounding", None, 1, &[(Class::Rounding, 288)]),
    ];
    let said = |by_module| {
        let result = PlanResult { fits: Some(true), peaks: Some(peaks(12)), by_module, ..result("T4") };
        let text = text::plan::render(&result, Colour::Off);
        text.split_once("In use at the peak, by module\n").map(|(_, rows)| rows.to_owned())
    };
    let expected = [
        "      9.77 GiB  GPT                mostly activations",
        "      3.03 GiB    body.h.0-11 ×12  activations, weights",
        "      1.46 GiB      down ×12       weights",
        "      1.95 GiB  backward pass      activations",
        "    288.00 MiB  rounding",
    ];
    assert_eq!(said(by_module.clone()).unwrap().lines().collect::<Vec<_>>(), expected);
    // What only lies outside of modules is told by class.
    assert_eq!(said(by_module[4..].to_vec()), None);
}

#[test]
fn a_limit_far_above_is_named_and_does_not_flatten_the_curves() {
    let shown = chart(&result("H200"));
    assert_eq!(shown.last().unwrap(), "above this chart: limit 139.05 GiB: what the H200 has for PyTorch");
    assert_eq!(shown[3], "12 GiB");
    let limited = chart(&PlanResult { limit: Some(Bytes::gib(10)), ..result("H200") });
    assert!(limited.contains(&"limit 10 GiB".to_owned()), "{limited:?}");
}

#[test]
fn pinned_memory_is_told_where_it_is_much() {
    let peaks = PlannedPeaks { requested: Bytes::gib(1), allocated: Bytes::gib(1), reserved: Bytes::gib(1) };
    let host = |pinned| {
        let result = PlanResult { fits: Some(true), peaks: Some(peaks), pinned, ..result("T4") };
        let text = text::plan::render(&result, Colour::Off);
        text.lines().skip_while(|line| !line.starts_with("  Host")).map(str::to_owned).collect::<Vec<_>>()
    };
    let expected = [
        "  Host     4.00 GiB of pinned memory (PyTorch rounds each request up to a power",
        "           of two)",
    ];
    assert_eq!(host(Some(Bytes::gib(4))), expected);
    assert!(host(Some(Bytes::mib(63))).is_empty() && host(None).is_empty());
}

#[test]
fn what_fits_only_without_its_cache_is_not_said_to_need_more_than_there_is() {
    let peaks = |reserved| PlannedPeaks { requested: Bytes::gib(12), allocated: Bytes::gib(12), reserved };
    let said = |reserved, limit| {
        let fits = PlanResult { fits: Some(true), peaks: Some(peaks(reserved)), limit, ..result("T4") };
        text::plan::render(&fits, Colour::Off).lines().next().unwrap().to_owned()
    };
    assert_eq!(said(Bytes::gib(13), None), "fits on the T4 (14.57 GiB): 13.75 GiB at its peak");
    assert_eq!(
        said(Bytes::gib(14), None),
        "fits on the T4 (14.57 GiB): with more room it would hold 14.75 GiB"
    );
    assert_eq!(
        said(Bytes::gib(13), Some(Bytes(12 << 30))),
        "fits under a limit of 12.00 GiB on the T4: with more room it would hold 13.75 GiB"
    );
}

/// Four ranks, of which these were run, with what each of them holds in GiB.
#[test]
fn what_is_needed_is_told_by_its_least_and_its_most_where_they_differ() {
    let headline = |card: Card, reserved: u64, held_between, fits: Option<bool>| {
        let peaks = PlannedPeaks {
            requested: Bytes(reserved),
            allocated: Bytes(reserved),
            reserved: Bytes(reserved),
        };
        let is_close = fits.is_none();
        let result = PlanResult { card, peaks: Some(peaks), held_between, fits, is_close, ..result("T4") };
        text::plan::render(&result, Colour::Off).lines().next().unwrap().to_owned()
    };
    let t4 = || card_named("T4").unwrap().clone();
    let gib = |gib: u64| Bytes::gib(gib).0;
    assert_eq!(
        headline(t4(), gib(11), None, Some(true)),
        "fits on the T4 (14.57 GiB): 11.21 GiB at its peak"
    );
    assert_eq!(
        headline(t4(), gib(1), None, Some(true)),
        "fits on the T4 (14.57 GiB): 1.10 to 1.21 GiB at its peak"
    );
    assert_eq!(
        headline(t4(), gib(14) + (512 << 20), Some((Bytes::gib(14), Bytes::gib(15))), None),
        "too close to call on the T4 (14.57 GiB): 14.10 to 15.21 GiB at its peak"
    );
    assert_eq!(
        headline(t4(), 700 << 20, Some((Bytes::mib(700), Bytes::mib(900))), Some(false)),
        "does not fit on the T4 (14.57 GiB): 800.00 MiB to 1.08 GiB at its peak"
    );
}

fn distributed(held: &[(u32, u64)]) -> String {
    let rank = |(rank, gib): &(u32, u64)| PlannedRank {
        rank: *rank,
        stage: None,
        peak_requested: Some(Bytes::gib(gib - 1)),
        peak_allocated: Some(Bytes::gib(*gib)),
        peak_reserved: Some(Bytes::gib(*gib)),
        process: Some(Bytes::gib(gib + 2)),
    };
    let worst = held.iter().max_by_key(|(rank, gib)| (*gib, std::cmp::Reverse(*rank))).unwrap();
    let reserved = Bytes::gib(worst.1);
    let result = PlanResult {
        fits: Some(true),
        nccl: Bytes::mib(256),
        late: Bytes::gib(1),
        peaks: Some(PlannedPeaks { requested: reserved, allocated: reserved, reserved }),
        world: Some(PlannedWorld {
            size: 4,
            worst: worst.0,
            ranks: held.iter().map(rank).collect(),
            communicators: 1,
        }),
        ..result("T4")
    };
    text::plan::render(&result, Colour::Off)
}

#[test]
fn ranks_that_need_the_same_are_named_in_a_line() {
    let expected = "\
fits on the T4 (14.57 GiB): 5.00 to 6.00 GiB at its peak
  Ranks    4 in all; 0 and 3 were run and need the same

  Memory at the peak
       4.00 GiB  in use
     768.00 MiB  CUDA context and libraries, at most
     256.00 MiB  NCCL, by an estimate
       1.00 GiB  what DDP or FSDP1 lets go of late
       8.57 GiB  free
  =   14.57 GiB  Tesla T4
";
    assert_eq!(distributed(&[(0, 4), (3, 4)]), expected);
}

#[test]
fn ranks_that_differ_have_a_table_and_the_worst_stands_above() {
    let shown = distributed(&[(0, 4), (3, 5)]);
    assert!(
        shown.starts_with("fits on the T4 (14.57 GiB): 6.00 to 7.00 GiB at its peak on rank 3 of 4\n"),
        "{shown}"
    );
    let expected = "
  Ranks that were run, of 4
  rank    requested     needs
     0     3.00 GiB  6.00 GiB
     3     4.00 GiB  7.00 GiB  the most
";
    assert!(shown.ends_with(expected), "{shown}");
}

/// A change with what it needs in GiB and the largest value of a flag under it.
fn option(change: &str, gib: u64, largest: Option<(Option<u64>, bool)>) -> PlannedOption {
    PlannedOption {
        change: change.to_owned(),
        instructions: change.split(" + ").map(|part| format!("make use of {part}")).collect(),
        how: How::Planned,
        peak_reserved: Some(Bytes::gib(gib - 1)),
        process: Some(Bytes::gib(gib)),
        fits: Some(gib <= 14),
        largest: largest.map(|(value, is_open)| PlannedLargest { value, is_open }),
    }
}

/// What the plan says of a job that needs 31 GiB, from the changes on.
fn changed(change: impl FnOnce(&mut PlanResult)) -> String {
    let held = Bytes::gib(30);
    let mut result = PlanResult {
        fits: Some(false),
        peaks: Some(PlannedPeaks { requested: held, allocated: held, reserved: held }),
        ..result("T4")
    };
    change(&mut result);
    let text = text::plan::render(&result, Colour::Off);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    text.split_once("needed; the T4 has 14.57 GiB\n").unwrap().1.to_owned()
}

#[test]
fn changes_together_are_told_one_by_one() {
    let said = changed(|result| {
        result.options = vec![
            option("fp16 autocast + gradient checkpointing + expandable_segments:True", 12, None),
            option("gradient checkpointing", 16, None),
        ];
    });
    let expected = "
  What would change it
         needs  fits  known by  change
  1  12.00 GiB  yes   planned   fp16 autocast + gradient checkpointing +
                                expandable_segments:True
  2  16.00 GiB  no    planned   gradient checkpointing
  Do       make use of fp16 autocast
  and      make use of gradient checkpointing
  and      make use of expandable_segments:True
";
    assert_eq!(said, expected);
}

#[test]
fn the_largest_value_stands_beside_each_change_and_memory_beside_each_value() {
    let value = |value, gib| PlannedValue {
        value,
        peak_reserved: Bytes::gib(gib - 1),
        process: Bytes::gib(gib),
        fits: gib <= 14,
    };
    let vary = PlannedVary {
        flag: "--batch".to_owned(),
        asked: Some(64),
        largest: Some(23),
        peak_reserved: Some(Bytes::gib(13)),
        is_open: false,
        values: vec![value(23, 14), value(24, 15), value(64, 31)],
    };
    let said = changed(|result| {
        result.options = vec![
            option("gradient checkpointing", 12, Some((Some(80), true))),
            option("fp16 autocast", 16, Some((Some(40), false))),
            option("fused optimizer", 30, Some((None, false))),
            option("optimizer without foreach", 30, None),
        ];
        result.vary = Some(vary);
    });
    let expected = "
  What would change it
         needs  fits  largest  known by  change
  1  12.00 GiB  yes       80+  planned   gradient checkpointing
  2  16.00 GiB  no         40  planned   fp16 autocast
  3  30.00 GiB  no       none  planned   fused optimizer
  4  30.00 GiB  no          ?  planned   optimizer without foreach
  Do       make use of gradient checkpointing

  Memory by value
  --batch      needs  fits
       23  14.00 GiB  yes
       24  15.00 GiB  no
       64  31.00 GiB  no
  Vary     --batch 23 is the largest that fits; 16 × 4 steps of accumulation
           keep the batch of 64
";
    assert_eq!(said, expected);
}

#[test]
fn where_nothing_suffices_the_least_is_named() {
    let least = |change: &str, value| PlannedLeast {
        change: change.to_owned(),
        instructions: vec![change.to_owned()],
        value,
        peak_reserved: Bytes::gib(16),
        process: Bytes::gib(17),
    };
    let vary = PlannedVary {
        flag: "--batch".to_owned(),
        asked: Some(1),
        largest: None,
        peak_reserved: None,
        is_open: false,
        values: Vec::new(),
    };
    let said = changed(|result| {
        result.vary = Some(vary);
        result.least = Some(least("gradient checkpointing + fused optimizer", Some(1)));
    });
    let expected = "
  Vary     not even --batch 1 fits

  Least    17.00 GiB at --batch 1, with gradient checkpointing + fused
           optimizer: nothing that was tried makes it fit. `oomph fit --dry-run`
           tries more, such as micro-batches
";
    assert_eq!(said, expected);
    let said = changed(|result| result.least = Some(least("", None)));
    let expected = "
  Least    17.00 GiB, as it is: no change that was tried lowers it. `oomph fit
           --dry-run` tries more, such as micro-batches
";
    assert_eq!(said, expected);
}

#[test]
fn of_several_cards_each_is_told_what_makes_it_fit() {
    let held = |gib| Some(PlannedPeaks { reserved: Bytes::gib(gib), ..PlannedPeaks::default() });
    let small = PlanResult {
        fits: Some(false),
        peaks: held(30),
        options: vec![option("fp16 autocast + gradient checkpointing", 12, None)],
        ..result("T4")
    };
    let large = PlanResult { fits: Some(true), peaks: held(30), ..result("H200") };
    let said = text::plan::cards(&[small, large.clone()], Colour::Off);
    let expected = "\
fits on 1 of 2 cards

            memory      needs  fits  seen on  what makes it fit
  T4     14.57 GiB  30.75 GiB  no    T4       fp16 autocast + gradient
                                              checkpointing
  H200  139.80 GiB  30.75 GiB  yes   H200
";
    assert_eq!(said, expected);
    let said = text::plan::cards(&[large], Colour::Off);
    assert!(!said.contains("what makes it fit"), "{said}");
}

#[test]
fn cards_that_are_held_in_full_are_marked_in_the_table() {
    let held = |gib: u64, retries| {
        let peaks =
            PlannedPeaks { requested: Bytes::gib(10), allocated: Bytes::gib(11), reserved: Bytes::gib(gib) };
        let said = format!("it fits only because PyTorch gives its cache back {retries} times: and so on");
        let caveats = if retries > 0 { vec![said] } else { Vec::new() };
        PlanResult { fits: Some(true), peaks: Some(peaks), retries, caveats, ..result("T4") }
    };
    let expected = "\
fits on 3 of 3 cards

         memory      needs  fits   seen on
  T4  14.57 GiB  15.75 GiB  yes *  T4
  T4  14.57 GiB  16.75 GiB  yes *  T4
  T4  14.57 GiB  12.75 GiB  yes    T4

  Note     cards with * are held in full: the job fits only because PyTorch
           gives its cache back; that costs time, and leaves no room
";
    assert_eq!(text::plan::cards(&[held(15, 1), held(16, 2), held(12, 0)], Colour::Off), expected);
}

//! The page of a plan: the chart has both axes, the phases and the limit.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use oomph_diagnose::class_curves::ClassCurves;
use oomph_diagnose::classes::Class;
use oomph_diagnose::phase::Phase;
use oomph_diagnose::phases::Stretch;
use oomph_diagnose::results::plan::{PlanResult, PlannedAt, PlannedPeaks};
use oomph_report::text::{self, Colour};
use oomph_trace::cards::card_named;
use oomph_trace::{Bytes, EventIdx};

fn result(card: &str) -> PlanResult {
    PlanResult {
        script: "train.py".to_owned(),
        card: card_named(card).unwrap().clone(),
        context: Bytes::mib(768),
        seen_on: None,
        limit: None,
        peaks: None,
        fits: None,
        retries: 0,
        at: PlannedAt { step: Some(4), ..PlannedAt::default() },
        by_class: Vec::new(),
        steps: 4,
        options: Vec::new(),
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
    texts(&oomph_report::html::plan(result, Some(&curves())))
}

#[test]
fn the_chart_has_amounts_phases_the_peak_and_the_limit() {
    let page = oomph_report::html::plan(&result("T4"), Some(&curves()));
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
fn a_limit_far_above_is_named_and_does_not_flatten_the_curves() {
    let shown = chart(&result("H200"));
    assert_eq!(shown.last().unwrap(), "above this chart: limit 139.05 GiB: what the H200 has for PyTorch");
    assert_eq!(shown[3], "12 GiB");
    let limited = chart(&PlanResult { limit: Some(Bytes::gib(10)), ..result("H200") });
    assert!(limited.contains(&"limit 10 GiB".to_owned()), "{limited:?}");
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

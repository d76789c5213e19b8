//! The messages of an excerpt, each once, judged and placed.

use super::facts::Framework;
use super::scan::Excerpt;
use super::text::Text;
use super::verdict::Confidence;
use super::wording::{Kind, Message, Told};
use super::{
    Report, Role, Shape, arrays, cause, context, disguised, fixes, host, jax, phrases, place, pytorch,
    pytorch_plain, serving, tensorflow, traceback,
};
use crate::cause::Cause;

/// Messages within so many lines of each other may be about one failure.
const NEAR: usize = 4;
/// As much of a message is shown.
const SHOWN: usize = 600;

/// The first reports of an excerpt, in order.
pub(super) fn reports(excerpt: &Excerpt, most: usize) -> Vec<Report> {
    let text = &excerpt.text;
    let part = &text.flat[excerpt.from..];
    let mut found = Vec::new();
    pytorch::find_all(part, &mut found);
    pytorch_plain::find_all(part, &mut found);
    tensorflow::find_all(part, &mut found);
    jax::find_all(part, &mut found);
    for table in [tensorflow::PHRASES, serving::PHRASES, arrays::PHRASES, disguised::PHRASES, host::PHRASES] {
        phrases::find_all(table, part, &mut found);
    }
    serving::find_all(part, &mut found);
    arrays::complete(part, &mut found);
    host::complete(part, &mut found);
    for report in &mut found {
        report.span = report.span.start + excerpt.from..report.span.end + excerpt.from;
    }
    host::lines(text, excerpt.from, &mut found);
    let reports = distinct(text, found);
    reports.into_iter().take(most).map(|message| judged(text, message)).collect()
}

/// Each failure once: the fullest of the messages about it, with what only the others say.
fn distinct(text: &Text, mut found: Vec<Message>) -> Vec<Message> {
    // Of two on one place the fuller comes first, and of equals the one that was found first.
    found.sort_by_key(|report| (text.line_of(report.span.start), rank(report)));
    let mut kept: Vec<Message> = Vec::new();
    for report in found {
        let line = text.line_of(report.span.start);
        let same = kept.iter_mut().rev().take(8).find(|other| {
            let (first, last) =
                (text.line_of(other.span.start), text.line_of(other.span.end.saturating_sub(1)));
            let is_inside = (first..=last).contains(&line) || report.span.start < other.span.end;
            let is_near = line.saturating_sub(last) <= NEAR && text.prefixes[line] == text.prefixes[first];
            is_inside && !is_pair(other, &report) || is_near && is_one_failure(other, &report)
        });
        match same {
            Some(other)
                if rank(&report) < rank(other) && is_weaker(other) && report.kind != Kind::Warning =>
            {
                let weaker = std::mem::replace(other, report);
                other.span.start = other.span.start.min(weaker.span.start);
                other.facts.fill(&weaker.facts);
            }
            Some(other) if other.kind != Kind::Warning => other.facts.fill(&report.facts),
            Some(_) => {}
            None => kept.push(report),
        }
    }
    kept
}

/// Fuller messages first.
fn rank(report: &Message) -> (bool, u8) {
    let kind = match report.kind {
        Kind::Numbers | Kind::Async | Kind::Mps => 0,
        Kind::Wording => 1,
        Kind::Bare => 2,
        Kind::Warning => 3,
    };
    (report.facts.tried.is_none() || report.kind == Kind::Warning, kind)
}

/// Whether a message is only the shadow of another: no numbers of its own, or a log line before the exception.
fn is_weaker(report: &Message) -> bool {
    report.kind == Kind::Bare || report.writer == Some("2.13 or later")
}

/// Two whole messages on one line: different failures.
fn is_pair(a: &Message, b: &Message) -> bool {
    let whole = |report: &Message| report.kind == Kind::Numbers && report.facts.allocated.is_some();
    whole(a) && whole(b) && a.facts != b.facts
}

/// Whether a message a few lines on is about the failure that another one reports.
fn is_one_failure(a: &Message, b: &Message) -> bool {
    let bare = a.kind == Kind::Bare || b.kind == Kind::Bare;
    let is_host = |report: &Message| report.told.is_some_and(|told| told.cause == Cause::HostMemory);
    let logged = a.writer == Some("2.13 or later") && b.framework.is_pytorch();
    let is_library = |report: &Message| report.told.is_some_and(|told| told.cause == Cause::Disguised);
    logged
        || bare && is_host(a) == is_host(b) && a.kind != Kind::Warning
        || is_host(a) && is_host(b) && a.framework != Framework::Numpy
        // A library that found no room, and the size of a request that found none either.
        || is_library(a) && a.facts.tried.is_none() && a.framework == b.framework
        || a.framework == Framework::TensorFlow && b.framework == a.framework && a.facts.tried == b.facts.tried
}

fn judged(text: &Text, mut report: Message) -> Report {
    let at = report.span.start;
    let frames = traceback::frames(text, at);
    if report.framework == Framework::PyTorch
        && let Some(program) = context::host_program(text, &report.span, &frames)
    {
        report.framework = program;
    }
    let shape = place::shape(&frames, traceback::is_within_handler(text, at));
    adjust(&mut report, shape);
    let verdict = cause::judge(&report);
    let phase = place::phase(&frames);
    let (place, code) = place::place(&frames);
    let fixes = fixes::fixes(report.framework, &report.facts, &verdict, phase, shape);
    let origin = text.origin(at);
    let shown = text.flat[at..].chars().take(SHOWN.min(report.span.len().max(120))).collect::<String>();
    Report {
        framework: report.framework,
        role: if report.kind == Kind::Warning { Role::Warning } else { Role::Follows },
        line: origin.number,
        offset: origin.offset,
        class: context::class(text, &report.span),
        writer: report.writer,
        facts: report.facts,
        verdict,
        place,
        code,
        phase,
        shape,
        fixes,
        text: shown.lines().next().unwrap_or_default().to_owned(),
    }
}

/// An error without numbers means more with its surroundings.
fn adjust(report: &mut Message, shape: Option<Shape>) {
    let is_raw = report.kind == Kind::Bare && report.told.is_some_and(|told| told.cause == Cause::HostMemory);
    if !is_raw || !report.framework.is_pytorch() {
        return;
    }
    let told = |cause, confidence, why| Some(Told { cause, confidence, why });
    match (report.framework, shape) {
        (_, Some(Shape::PinnedMemory)) => {
            report.told =
                told(Cause::HostMemory, Confidence::High, "page-locked memory of the host was asked for");
        }
        (Framework::Vllm | Framework::Sglang, _) => {
            let why = "a server fills the device on purpose; a call outside PyTorch's allocator, such as recording a CUDA graph, found no room in the rest";
            report.told = told(Cause::Capacity, Confidence::Medium, why);
        }
        (_, Some(Shape::ModelMove)) => {
            let why = "the first call to the device failed outside PyTorch's allocator: the device was full already";
            report.told = told(Cause::OtherProcess, Confidence::Medium, why);
        }
        _ => {}
    }
}

/// The first failure is the culprit and comes first.
pub(super) fn assign_roles(reports: &mut [Report]) {
    let first = reports.iter().position(|report| report.role != Role::Warning);
    if let Some(first) = first {
        reports[first].role = Role::Culprit;
        reports[..=first].rotate_right(1);
    }
}

//! The card of an error's text: what it says without a recording.

use std::fmt::Write as _;

use oomph_diagnose::advice::Advice;
use oomph_diagnose::message::{Facts, Log, Report};
use oomph_trace::Bytes;

use super::super::bar::Part;
use super::super::escape::Escaped;
use super::super::verdict;
use super::{begin, end, headline, memory, place};
use crate::words;

/// How many changes that help are listed.
const HELPING: usize = 5;
/// How many that do not.
const FRUITLESS: usize = 3;

/// The card of the first failure that a text reports.
pub fn message(log: &Log) -> String {
    let mut out = begin();
    match log.reports.first() {
        Some(oom) => report(&mut out, oom),
        None => headline(&mut out, "no report of memory that ran out"),
    }
    end(out)
}

fn report(out: &mut String, oom: &Report) {
    headline(out, &words::message_headline(oom));
    let found = &oom.verdict;
    let name = found.cause.name().replace('_', " ");
    let _ = write!(
        out,
        "<div class=\"cause\"><p class=\"claim\"><span class=\"name\">{name}</span>, {} confidence</p>",
        found.confidence.name()
    );
    verdict::evidence(out, &found.why);
    out.push_str("</div>\n");
    if let Some(line) = words::message_place(oom) {
        place(out, &line, Some(&oom.code));
    }
    for told in oom.shape.map(|shape| shape.sentence).into_iter().chain(found.ask) {
        let _ = writeln!(out, "<p class=\"label\">{}</p>", Escaped(told));
    }
    if let Some((parts, total)) = parts(&oom.facts) {
        memory(out, "Memory, as the message states it", &parts, total, "on the device in all");
    }
    fixes(out, &oom.fixes);
}

/// The message's numbers as parts of the device; `None` where it leaves some out, or where they are rounded so that they
/// do not add up.
fn parts(facts: &Facts) -> Option<(Vec<Part>, Bytes)> {
    let total = facts.total?;
    let outside = facts.outside()?;
    let others = facts.other_process.unwrap_or_default().min(outside);
    let allocated = facts.allocated.or(facts.reserved)?;
    let pools = facts.private_pools.unwrap_or_default().min(allocated);
    let part = |class: &str, bytes, what: &str| Part {
        class: class.to_owned(),
        bytes,
        what: what.to_owned(),
        count: None,
    };
    let mut parts = vec![
        part("h0", allocated - pools, "in use by tensors"),
        part("h1", pools, "free inside private pools"),
        part("spare", facts.cached().unwrap_or_default(), "cached by the allocator"),
        part("h3", others, "held by other processes"),
        part("hx", outside - others, "outside the allocator: contexts, libraries, others"),
        part("unheld", facts.free?, "free"),
    ];
    parts.retain(|part| part.bytes > Bytes::ZERO);
    let sum: Bytes = parts.iter().map(|part| part.bytes).sum();
    (sum == total).then_some((parts, total))
}

fn fixes(out: &mut String, fixes: &[Advice]) {
    if fixes.is_empty() {
        return;
    }
    out.push_str(
        "<p class=\"label\">What helps, and how that is known</p>\n\
         <div class=\"scroll\"><table><thead><tr><th></th><th>change</th><th>why</th><th>known by</th></tr></thead><tbody>\n",
    );
    let helping = fixes.iter().filter(|fix| fix.helps).take(HELPING).enumerate();
    let helping = helping.map(|(rank, fix)| ("helps", (rank + 1).to_string(), fix));
    let fruitless = fixes.iter().filter(|fix| !fix.helps).take(FRUITLESS);
    let fruitless = fruitless.map(|fix| ("vain", "–".to_owned(), fix));
    for (class, mark, fix) in helping.chain(fruitless) {
        let known = fix.how.name().trim_start_matches("known from ");
        let _ = writeln!(
            out,
            "<tr class=\"{class}\"><td>{mark}</td><td>{}</td><td>{}</td><td>{known}</td></tr>",
            Escaped(fix.title),
            Escaped(&fix.why)
        );
    }
    out.push_str("</tbody></table></div>\n");
}

//! What oomph's recorder adds to the documents. None of it appears where the file is a plain snapshot.

use oomph_diagnose::classes::ByClass;
use oomph_trace::Sidecar;
use oomph_trace::sidecar::{Exception, Framework, Host, Why};
use serde_json::{Value, json};

use super::{SCHEMA, bytes, extend, message};
use crate::results::{ExplainResult, ProcessResult};

/// `oomph explain --json` of a recording without memory of a card: what its log would give, and the process.
pub fn process(result: &ProcessResult<'_>) -> Value {
    let mut document = match &result.log {
        Some(log) => message(log),
        None => json!({ "schema": SCHEMA, "lines": 0, "ooms": [], "unread": 0 }),
    };
    extend(&mut document, json!({ "process": described(result.sidecar) }));
    document
}

/// Adds what the recorder knew to the verdict on a recording.
pub(super) fn add(document: &mut Value, result: &ExplainResult<'_>) {
    let Some(sidecar) = &result.recording.snapshot.sidecar else { return };
    let explanation = &result.explanation;
    let card = explanation.beside.as_ref().map(|beside| {
        json!({
            "name": beside.name,
            "total": bytes(beside.total),
            "held": bytes(explanation.moment.counters.reserved),
            "not_held": bytes(beside.not_held),
            "beyond_limit": bytes(beside.beyond_limit),
            "context": bytes(beside.context),
            "other_processes": beside.others.map(bytes),
        })
    });
    let lenders = explanation.borrowed.iter();
    extend(
        document,
        json!({
            "process": described(sidecar),
            "classes": explanation.moment.classes.as_ref().map(classes),
            "card": card,
            "borrowed": {
                "allocations": explanation.borrowed.iter().map(|(_, count)| count).sum::<usize>(),
                "from": lenders.map(|(step, count)| json!({ "step": step, "allocations": count })).collect::<Vec<_>>(),
            },
        }),
    );
    let when = explanation.when;
    extend(
        &mut document["moment"],
        json!({ "step": when.and_then(|(step, _)| step), "phase": when.map(|(_, phase)| phase.name()) }),
    );
    extend(&mut document["peak"], json!({ "classes": explanation.peak_classes.as_ref().map(classes) }));
    extend(
        &mut document["steps"],
        json!({ "numbers": explanation.steps.numbers, "marked": explanation.steps.phases.trains() }),
    );
    let total = sidecar.card(result.recording.trace.device).and_then(|card| card.total);
    let others = explanation.beside.as_ref().and_then(|beside| beside.others);
    for (index, oom) in explanation.ooms.iter().enumerate() {
        let known = (oom.event == explanation.moment.event).then_some(others).flatten();
        extend(
            &mut document["ooms"][index],
            json!({
                "phase": oom.phase.map(oomph_diagnose::phase::Phase::name),
                "total_bytes": total.map(bytes),
                "other_process_bytes": known.map(bytes),
            }),
        );
    }
}

fn classes(classes: &ByClass) -> Value {
    let parts = classes.iter();
    let entry = |(class, size): &(oomph_diagnose::classes::Class, oomph_trace::Bytes)| json!({ "class": class.name().replace(' ', "_"), "bytes": bytes(*size) });
    Value::Array(parts.map(entry).collect())
}

/// Who ran, and how it ended as far as the recorder saw.
fn described(sidecar: &Sidecar) -> Value {
    let identity = &sidecar.identity;
    json!({
        "run": identity.run,
        "name": identity.name,
        "pid": identity.pid,
        "argv": identity.argv,
        "rank": identity.rank,
        "local_rank": identity.local_rank,
        "world_size": identity.world_size,
        "why": sidecar.why.map(Why::name),
        "framework": sidecar.framework.map(Framework::name),
        "versions": {
            "python": sidecar.versions.python,
            "torch": sidecar.versions.torch,
            "cuda": sidecar.versions.cuda,
            "driver": sidecar.versions.driver,
        },
        "exception": sidecar.exception.as_ref().map(exception),
        "host": sidecar.host.as_ref().map(host),
    })
}

fn exception(exception: &Exception) -> Value {
    json!({
        "type": exception.class,
        "text": exception.text,
        "uncaught": exception.uncaught,
        "oom": exception.oom,
    })
}

fn host(host: &Host) -> Value {
    json!({
        "rss": host.rss.map(bytes),
        "peak_rss": host.peak_rss.map(bytes),
        "available": host.available.map(bytes),
        "total": host.total.map(bytes),
        "cgroup_limit": host.cgroup_limit.map(bytes),
        "cgroup_current": host.cgroup_current.map(bytes),
        "cgroup_oom_kills": host.cgroup_oom_kills,
        "shm_total": host.shm_total.map(bytes),
        "shm_free": host.shm_free.map(bytes),
    })
}

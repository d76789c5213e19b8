//! `oomph explain --json` of a device. What only a recording by `oomph run` tells is absent elsewhere.

use oomph_diagnose::advice::Advice;
use oomph_diagnose::cause::Cause;
use oomph_diagnose::explain::Explanation;
use oomph_diagnose::fixes;
use oomph_diagnose::judge::{Not, Verdict};
use oomph_diagnose::moment::{self, Holder};
use oomph_diagnose::oom::Oom;
use oomph_diagnose::phase::Phase;
use oomph_diagnose::place::Place;
use oomph_diagnose::results::explain::DeviceResult;
use oomph_diagnose::rules::Finding;
use oomph_diagnose::steps::Growth;
use oomph_trace::{Bytes, Sidecar};

use super::SCHEMA;
use super::process::{Borrowed, Card, ClassBytes, Process, borrowed, card, classes, process};
use super::recording::{Fidelity, Recorded, Trace, fidelity, recorded, trace};
use crate::settings::named;

document! {
    /// Why one device ran out of memory, or what its peak consists of.
    pub fn explain(result: &DeviceResult) -> Explain with (
        (recording, found) = (&*result.recording, &result.explanation),
        is_recorded = recording.snapshot.sidecar.is_some(),
    ) {
        /// The schema's number: 1.
        schema: u32 = SCHEMA,
        /// The recording.
        trace: Trace = trace(recording),
        /// Its peaks.
        recorded: Recorded = recorded(recording),
        /// Whether its replay is exact.
        fidelity: Fidelity = fidelity(recording),
        /// The requests that failed.
        ooms: Vec<Failure> = found.ooms.iter().map(|oom| failure(result, oom)).collect(),
        /// The cause of the failure, where one is certain.
        #[schemars(extend("enum" = ["capacity", "fragmentation", "leak", "other_process", null]))]
        cause: Option<Cause> = found.cause(),
        /// The causes that are ruled out.
        ruled_out: Vec<RuledOut> = ruled_out(found),
        /// The peak of what was in use.
        peak: PeakInUse = peak(result),
        /// The state at the first failure, or at the peak.
        moment: Moment = moment(result),
        /// For a failure: why the cache did not serve it.
        stranded: Option<Stranded> = found.moment.failed.as_ref().map(stranded),
        /// Who held `moment.active`, largest first. They add up to it.
        holders: Vec<Holder> = found.moment.holders.clone(),
        /// The iterations of the job.
        steps: Steps = steps(found, is_recorded),
        /// What the [rules](rules.md) found.
        findings: Vec<Finding> = found.findings.clone(),
        /// Settings replayed, those that help first.
        fixes: Vec<Fix> = found.fixes.iter().map(fix).collect(),
        /// What to change in the program, after a failure only.
        advice: Vec<Advice> = found.advice.clone(),
        #[serde(flatten)]
        told: Option<Told> = recording.snapshot.sidecar.as_ref().map(|sidecar| told(sidecar, found)),
    }

    /// What the recorder tells beside the snapshot.
    fn told(sidecar: &Sidecar, found: &Explanation) -> Told with (reserved = found.moment.counters.reserved) {
        /// The process that was recorded.
        process: Process = process(sidecar),
        /// `moment.active` by what it was for; only what is not empty. They add up to it.
        classes: Option<Vec<ClassBytes>> = found.moment.classes.as_ref().map(classes),
        /// The whole card at the moment.
        card: Option<Card> = found.beside.as_ref().map(|beside| card(beside, reserved)),
        /// Lines taken from other steps, for allocations whose stack was not recorded.
        borrowed: Borrowed = borrowed(found),
    }

    /// A request that failed. Fields that a message has too are null for failures after the first, whose state is not
    /// looked at.
    fn failure(result: &DeviceResult, oom: &Oom) -> Failure with (
        (recording, found) = (&result.recording, &result.explanation),
        state = Some(&found.moment).filter(|moment| moment.event == oom.event),
        sidecar = recording.snapshot.sidecar.as_ref(),
    ) {
        /// Always `"pytorch"`.
        framework: &'static str = "pytorch",
        /// Its event.
        event: u32 = oom.event.0,
        /// What was needed, after rounding.
        size: Bytes = oom.size,
        /// The segment asked of the driver, which is the size in PyTorch's message.
        tried_bytes: Option<Bytes> = state.and_then(|moment| moment.failed).map(|failed| failed.segment),
        /// The card's memory; null in a plain snapshot.
        total_bytes: Option<Bytes> = sidecar.and_then(|told| told.card(recording.trace().device)?.total),
        /// The limit.
        allowed_bytes: Option<Bytes> = recording.ceiling(),
        /// What served an allocation.
        allocated_bytes: Option<Bytes> = state.map(|moment| moment.counters.allocated),
        /// What was held from the driver.
        reserved_bytes: Option<Bytes> = state.map(|moment| moment.counters.reserved),
        /// What the driver called free.
        free_bytes: Bytes = oom.device_free,
        /// What other processes held; null in a plain snapshot.
        other_process_bytes: Option<Bytes> = state.and(found.beside.as_ref()).and_then(|beside| beside.others),
        /// The cause.
        #[schemars(extend("enum" = ["capacity", "fragmentation", "leak", "other_process", "unknown", null]))]
        cause: Option<Cause> = state.map(|_| found.cause().unwrap_or(Cause::Unknown)),
        /// How sure that is.
        #[schemars(extend("enum" = ["high", "low", null]))]
        confidence: Option<&'static str> =
            state.map(|_| if found.cause().is_some() && recording.is_exact() { "high" } else { "low" }),
        /// The arithmetic, a line each.
        why: Option<Vec<String>> = state.map(|_| why(found)),
        /// What, once removed, would have let the job live on.
        verdict: Option<Verdict> = state.and(found.verdict.clone()),
        /// The same as `free_bytes`.
        device_free: Bytes = oom.device_free,
        /// In which step, counted from 1.
        step: Option<u64> = oom.step,
        /// Where.
        place: Option<Place> = oom.place.clone(),
        /// The same as the document's.
        fixes: Option<Vec<Fix>> = state.map(|_| found.fixes.iter().map(fix).collect()),
        /// What the program was doing, as marked.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("enum" = ["forward", "backward", "optimizer", "evaluation", null]))]
        phase: Option<Option<Phase>> = sidecar.map(|_| oom.phase),
    }

    /// A cause that is ruled out.
    fn ruled(not: &Not) -> RuledOut {
        /// The cause.
        cause: Cause = not.cause,
        /// Why, in words.
        reason: String = not.why.clone(),
    }

    /// The peak of what was in use.
    fn peak(result: &DeviceResult) -> PeakInUse with (
        (peaks, found) = (&result.recording.peaks, &result.explanation),
        is_recorded = result.recording.snapshot.sidecar.is_some(),
    ) {
        /// Its event.
        event: u32 = peaks.active.at.0,
        /// What was in use there.
        active: Bytes = peaks.active.bytes,
        /// The peak of what was held over the run.
        reserved: Bytes = peaks.reserved.bytes,
        /// `active` by what it was for; only what is not empty. They add up to it.
        #[serde(skip_serializing_if = "Option::is_none")]
        classes: Option<Option<Vec<ClassBytes>>> = is_recorded.then(|| found.peak_classes.as_ref().map(classes)),
    }

    /// The state of the allocator, in [counters](../concepts/words.md#counters).
    fn moment(result: &DeviceResult) -> Moment with (
        (limit, found) = (result.recording.ceiling(), &result.explanation),
        counters = found.moment.counters,
        is_recorded = result.recording.snapshot.sidecar.is_some(),
    ) {
        /// The event.
        event: u32 = found.moment.event.0,
        /// What was asked for, over all active blocks.
        requested: Bytes = counters.requested,
        /// What served an allocation.
        allocated: Bytes = counters.allocated,
        /// That and what waits for another stream.
        active: Bytes = counters.active,
        /// What was held from the driver.
        reserved: Bytes = counters.reserved,
        /// `reserved` − `active`.
        cached: Bytes = counters.cached(),
        /// Of that, what could go back to the driver.
        releasable: Bytes = found.moment.releasable,
        /// The rest of it.
        trapped: Bytes = found.moment.trapped(),
        /// `limit` − `reserved`.
        not_held: Option<Bytes> = limit.map(|limit| limit.saturating_sub(counters.reserved)),
        /// What the process could hold.
        limit: Option<Bytes> = limit,
        /// The step, counted from 1, as marked.
        #[serde(skip_serializing_if = "Option::is_none")]
        step: Option<Option<u64>> = is_recorded.then(|| found.when.and_then(|(step, _)| step)),
        /// What the program was doing, as marked.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("enum" = ["forward", "backward", "optimizer", "evaluation", null]))]
        phase: Option<Option<Phase>> = is_recorded.then(|| found.when.map(|(_, phase)| phase)),
    }

    /// The cached bytes by the first reason that they did not serve the request.
    fn stranded(failed: &moment::Failure) -> Stranded with (stranded = failed.stranded) {
        /// The size of the request.
        size: Bytes = failed.size,
        /// What was asked of the driver: the size in PyTorch's message.
        segment: Bytes = failed.segment,
        /// In the pool of the other size class, or of another owner.
        other_pool: Bytes = stranded.other_pool,
        /// In the right pool, for another stream.
        other_stream: Bytes = stranded.other_stream,
        /// In blocks smaller than the request.
        too_small: Bytes = stranded.too_small,
        /// In blocks that a setting keeps from being used.
        refused: Bytes = stranded.refused,
        /// The largest free block of the right pool and stream.
        largest: Bytes = stranded.largest,
        /// Whether a free block would have served it (rule OOM004).
        spurious: bool = failed.spurious,
    }

    /// The iterations of the job.
    fn steps(found: &Explanation, is_recorded: bool) -> Steps with (steps = &found.steps) {
        /// How many.
        count: usize = steps.starts.len(),
        /// Bytes requested at the start of each.
        baseline: Vec<Bytes> = steps.baseline.clone(),
        /// What grows from one to the next.
        growth: Option<Growth> = steps.growth.clone(),
        /// What each is called.
        #[serde(skip_serializing_if = "Option::is_none")]
        numbers: Option<Vec<u64>> = is_recorded.then(|| steps.numbers.clone()),
        /// Whether they were marked rather than found.
        #[serde(skip_serializing_if = "Option::is_none")]
        marked: Option<bool> = is_recorded.then(|| steps.phases.trains()),
    }

    /// A change of settings.
    fn fix(fix: &fixes::Fix) -> Fix with (tried = &fix.candidate) {
        /// The settings as words.
        title: String = named(&tried.options, "default settings"),
        /// The settings; `""` for defaults.
        settings: String = tried.options.to_string(),
        /// The peak held with memory to spare; with garbage collection, under the limit.
        peak_reserved: Bytes = tried.peak_reserved,
        /// How often the whole cache is dropped under the limit.
        retries: u64 = tried.retries,
        /// How much more could be asked for after the request that failed, in requests of its size.
        room: Option<Bytes> = tried.room,
        /// Whether every request is served under the limit.
        completes: bool = tried.completes,
        /// After a failure, that every recorded request is served; else that the peak held falls by 1% or more.
        helps: bool = fix.helps,
        /// How that is known: always `"replayed"`.
        how: &'static str = "replayed",
    }
}

fn ruled_out(found: &Explanation) -> Vec<RuledOut> {
    let not = found.verdict.iter().flat_map(|verdict| &verdict.not);
    not.map(ruled).collect()
}

/// The evidence of what names a cause.
fn why(found: &Explanation) -> Vec<String> {
    let named = found.findings.iter().filter(|finding| finding.cause.is_some());
    named.flat_map(|finding| finding.evidence.clone()).collect()
}

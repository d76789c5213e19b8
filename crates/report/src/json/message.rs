//! `oomph explain --json` of a log, a message, or a process that used no GPU.

use oomph_diagnose::advice::{Advice, Basis};
use oomph_diagnose::cause::Cause;
use oomph_diagnose::message::{self as read, Confidence, Log, Role};
use oomph_diagnose::phase::Phase;
use oomph_diagnose::place::Line;
use oomph_trace::{Bytes, Sidecar};

use super::SCHEMA;
use super::process::{Process, process};

document! {
    /// What a log or a message says. A recording that holds no memory of a GPU gives the same, read from its exception.
    pub fn message(log: &Log, recorded: Option<&Sidecar>) -> Message {
        /// The schema's number: 1.
        schema: u32 = SCHEMA,
        /// Lines read.
        lines: u64 = log.extent.lines,
        /// The culprit first; empty where the text reports no failure.
        ooms: Vec<MessageOom> = log.reports.iter().map(oom).collect(),
        /// Further stretches that may hold reports, after the first 256.
        unread: u64 = log.unread,
        /// Who wrote it, where that is a recording.
        #[serde(skip_serializing_if = "Option::is_none")]
        process: Option<Process> = recorded.map(process),
    }

    /// One report of memory that ran out. Sizes are as printed, null where they are not.
    fn oom(oom: &read::Report) -> MessageOom with (facts = &oom.facts) {
        /// Who wrote it: `"pytorch"`, `"tensorflow"`, `"jax"`, `"vllm"`, `"llama.cpp"`, …
        framework: &'static str = oom.framework.name(),
        /// The culprit is the first failure, others follow from it; after a warning the program went on.
        role: Role = oom.role,
        /// The line of the input where it stands, from 1.
        line: u64 = oom.line,
        /// The first byte of that line.
        offset: u64 = oom.offset,
        /// The exception, as printed.
        class: Option<String> = oom.class.clone(),
        /// The versions that word it so.
        written_by: Option<&'static str> = oom.writer,
        /// The request that failed.
        tried_bytes: Option<Bytes> = facts.tried,
        /// The memory of the device, or the most the allocator may have.
        total_bytes: Option<Bytes> = facts.total,
        /// What live tensors hold.
        allocated_bytes: Option<Bytes> = facts.allocated,
        /// What the allocator holds from the device, free or not.
        reserved_bytes: Option<Bytes> = facts.reserved,
        /// What the device had free.
        free_bytes: Option<Bytes> = facts.free,
        /// What others hold: other processes where the message lists them, on a Mac what counts against the limit beside
        /// tensors.
        other_process_bytes: Option<Bytes> = facts.other_process.or(facts.other_allocations),
        /// A limit set by the user or, on a Mac, by the system.
        allowed_bytes: Option<Bytes> = facts.allowed,
        /// The most there could be: the device, or a limit below it.
        limit_bytes: Option<Bytes> = facts.limit(),
        /// What a pool holds in all, where that is all it prints.
        pool_bytes: Option<Bytes> = facts.pool,
        /// Free inside private pools, which PyTorch counts as allocated.
        private_pool_bytes: Option<Bytes> = facts.private_pools,
        /// The device's index.
        device: Option<u32> = facts.device,
        /// The processes listed.
        processes: Vec<read::Process> = facts.processes.clone(),
        /// Why memory ran out, as far as the message shows it.
        cause: Cause = oom.verdict.cause,
        /// How sure that is.
        confidence: Confidence = oom.verdict.confidence,
        /// The arithmetic, a line each.
        why: Vec<String> = oom.verdict.why.clone(),
        /// What would tell, where the message does not.
        find_out: Option<&'static str> = oom.verdict.ask,
        /// The user's own deepest line.
        place: Option<MessagePlace> = oom.place.as_ref().map(|found| place(&found.line, oom.phase)),
        /// A known shape of failure, in a sentence.
        shape: Option<&'static str> = oom.shape.map(|shape| shape.sentence),
        /// Changes; those that do not help come last.
        fixes: Vec<MessageFix> = oom.fixes.iter().map(fix).collect(),
        /// The message, cut to a line or two.
        text: String = oom.text.clone(),
    }

    /// The line that a traceback names.
    fn place(line: &Line, phase: Option<Phase>) -> MessagePlace {
        /// The file, as printed.
        file: String = line.file.clone(),
        /// Its number, where printed.
        line: Option<u32> = (line.line > 0).then_some(line.line),
        /// The function.
        function: String = line.function.clone(),
        /// What the job was doing.
        phase: Option<Phase> = phase,
    }

    /// A change, and whether it helps.
    fn fix(fix: &Advice) -> MessageFix {
        /// What to do.
        title: String = fix.title.to_string(),
        /// Whether it helps here.
        helps: bool = fix.helps,
        /// How that is known.
        how: Basis = fix.how,
        /// Why it helps, or why not.
        why: String = fix.why.clone(),
        /// What people say of it, measured: the part of docs/folklore.md behind the `#`.
        folklore: Option<&'static str> = fix.folklore,
    }
}

//! What was measured of findings, below each of them.

use oomph_lint::{FileResult, Measured, Proof};
use oomph_trace::Bytes;

/// Words that changed copies have and people do not, and what each does.
const WORDS: [(&str, &str); 6] = [
    ("detached", "takes tensors out of their graph"),
    ("on_host", "moves tensors to the host's memory"),
    ("without_graph", "calls a model under no_grad()"),
    ("gone_through", "runs the backward pass of a loss at once"),
    ("newest", "removes the hook that the line set before"),
    ("forever", "gives the batches again and again, and keeps none"),
];

/// The lines below a finding, not set in.
pub(super) fn lines(proof: &Proof) -> Vec<String> {
    let said = match (&proof.why_not, proof.before, proof.after) {
        (None, Some(before), Some(after)) => format!("proved: {}", difference(before, after, change(proof))),
        (why_not, ..) => format!("not proved: {}", why_not.as_deref().unwrap_or("it was not measured")),
    };
    std::iter::once(said).chain(proof.diff.iter().map(|line| format!("  {line}"))).collect()
}

fn change(proof: &Proof) -> &'static str {
    if proof.is_fix { "the fix" } else { "this change" }
}

/// What is less, before and after.
pub(super) fn difference(before: Measured, after: Measured, change: &str) -> String {
    if before.runs_out && !after.runs_out {
        return format!("runs out of memory; with {change} it does not");
    }
    match (before.keeps, after.keeps) {
        (Some(had), Some(has)) => format!("keeps {} a step; with {change} {}", size(had), size(has)),
        _ => format!("needs {}; with {change} {}", size(before.needs), size(after.needs)),
    }
}

fn size(bytes: Bytes) -> String {
    if bytes == Bytes::ZERO { "0".to_owned() } else { bytes.to_string() }
}

/// What all changes of a file do together, and the words that only copies have; a paragraph each.
pub(super) fn summary(files: &[FileResult]) -> Vec<String> {
    let mut said = Vec::new();
    for proof in files.iter().filter_map(|file| file.proof.as_ref()) {
        said.push(match (&proof.why_not, proof.before, proof.after) {
            (None, Some(before), Some(after)) => {
                format!("All together: {}.", difference(before, after, "all changes"))
            }
            (why_not, ..) => {
                let why = why_not.as_deref().unwrap_or("it was not measured");
                let what = if proof.before.is_some() { "All together" } else { "Not proved" };
                format!("{what}: {why}.")
            }
        });
    }
    let proofs =
        || files.iter().flat_map(|file| file.found.iter().flatten()).filter_map(|each| each.proof.as_ref());
    let is_used = |word: &str| {
        let call = format!("{word}(");
        proofs().flat_map(|proof| &proof.diff).any(|line| line.starts_with('+') && line.contains(&call))
    };
    let used = WORDS.iter().filter(|(word, _)| is_used(word));
    let used: Vec<String> = used.map(|(word, does)| format!("`{word}` {does}")).collect();
    if !used.is_empty() {
        said.push(format!("In the copies that ran, {}.", used.join("; ")));
    }
    said
}

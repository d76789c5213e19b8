//! The settings that were replayed against a failure or a peak, and what to do.

use oomph_diagnose::advice::{Advice, Basis};
use oomph_diagnose::cause::Cause;
use oomph_diagnose::explain::Explanation;
use oomph_diagnose::fixes::Fix;
use oomph_diagnose::results::explain::DeviceResult;
use oomph_diagnose::tune::{Candidate, risks};
use oomph_engine::torch::options::Options;
use oomph_trace::Bytes;

use crate::ranking::ranked;

/// How many settings that do not help are listed.
const FRUITLESS: usize = 3;

/// The settings as PyTorch reads them, or `default` where none differs from its defaults.
pub(crate) fn named(options: &Options, default: &str) -> String {
    let settings = options.to_string();
    if settings.is_empty() { default.to_owned() } else { settings }
}

/// What to type to get these settings.
pub(crate) fn command(options: &Options) -> String {
    match options.to_string() {
        none if none.is_empty() => "unset PYTORCH_CUDA_ALLOC_CONF".to_owned(),
        settings => format!("PYTORCH_CUDA_ALLOC_CONF={settings}"),
    }
}

/// Whether a candidate serves every request under the limit, where there is one.
pub(crate) fn fits(candidate: &Candidate, limit: Option<Bytes>) -> &'static str {
    match limit {
        None => "-",
        Some(_) if candidate.completes => "yes",
        Some(_) => "no",
    }
}

/// What the settings that were replayed would have done.
pub(crate) fn heading(explanation: &Explanation) -> &'static str {
    let helps = explanation.fixes.iter().any(|fix| fix.helps);
    match (helps, !explanation.ooms.is_empty()) {
        (true, true) if explanation.cause() == Some(Cause::Leak) => {
            "Settings that would have moved the failure to a later step"
        }
        (false, true) => "Settings: none would have let it pass",
        (false, false) => "Settings: none would lower the peak by 1% or more",
        (true, true) => "Settings that would have let it pass",
        (true, false) => "Settings that lower the peak",
    }
}

/// The settings to list, those that help first.
pub(crate) fn listed(explanation: &Explanation) -> Vec<(Option<usize>, &Fix)> {
    ranked(&explanation.fixes, |fix| fix.helps, [usize::MAX, FRUITLESS])
}

/// What the columns of the list count, where a limit makes them differ.
pub(crate) fn columns(result: &DeviceResult) -> Option<String> {
    result.recording.ceiling()?;
    let failed = !result.explanation.ooms.is_empty();
    let room = if failed { "; room: what more such requests could take after it" } else { "" };
    Some(format!("peak held: with memory to spare; the others: under the limit{room}"))
}

/// What to do first.
pub(crate) struct Remedy {
    /// What to set, or what to change in the program, in a sentence.
    pub(crate) text: String,
    pub(crate) is_setting: bool,
    /// What to mind when doing it.
    pub(crate) risks: Vec<&'static str>,
}

/// The remedy that a verdict leads to; without a failure the setting that lowers the peak most, if one does.
pub(crate) fn remedy(explanation: &Explanation) -> Option<Remedy> {
    let best = explanation.fixes.first().filter(|fix| fix.helps).map(|fix| &fix.candidate.options);
    if let Some(cure) = explanation.verdict.as_ref().and_then(|verdict| verdict.cures.first()) {
        let is_setting = cure.how == Basis::Replayed;
        let risks = best.filter(|_| is_setting).map(risks).unwrap_or_default();
        return Some(Remedy { text: cure.action.clone(), is_setting, risks });
    }
    Some(Remedy { text: command(best?), is_setting: true, risks: risks(best?) })
}

/// What to change in the program, then what is tried in vain.
pub(crate) fn beside(explanation: &Explanation) -> Vec<(Option<usize>, String)> {
    let listed = ranked(&explanation.advice, |advice| advice.helps, [usize::MAX; 2]);
    listed.into_iter().map(|(rank, advice)| (rank, sentence(advice))).collect()
}

/// A change of the program, what it leads to and how that is known.
fn sentence(advice: &Advice) -> String {
    let leads_to = match (advice.in_use, advice.helps) {
        (Some(bytes), true) => format!(", {bytes} in use, which fits"),
        (Some(bytes), false) if advice.how == Basis::Computed && bytes > Bytes::ZERO => {
            format!(", {bytes} still in use")
        }
        _ => String::new(),
    };
    format!("{} ({}{leads_to}): {}", advice.title, advice.how.name(), advice.why)
}

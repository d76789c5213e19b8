//! `oomph fit --json`.

use oomph_diagnose::results::fit::{Combination, FitResult, Measure};
use oomph_trace::Bytes;

use super::SCHEMA;

document! {
    /// The answer.
    pub fn fit(result: &FitResult) -> Fit with (card = &result.card, peaks = result.peaks) {
        /// The schema's number: 1.
        schema: u32 = SCHEMA,
        /// The script's name without its suffix.
        script: String = result.script.clone(),
        /// The card's name on the command line.
        gpu: String = card.short.to_string(),
        /// The card's memory.
        total_bytes: Bytes = card.total,
        /// What a CUDA context with its libraries takes of it.
        context_bytes: Bytes = card.context.most,
        /// `--limit`.
        limit: Option<Bytes> = result.limit,
        /// What PyTorch may hold.
        allowed_bytes: Bytes = result.allowed,
        /// The peak of what was asked for by the script as it is; null, like the next, where there is no answer.
        peak_requested: Option<Bytes> = peaks.map(|peaks| peaks.requested),
        /// The peak of what it held from the driver.
        peak_reserved: Option<Bytes> = peaks.map(|peaks| peaks.reserved),
        /// Whether it fits with what was chosen.
        fits: bool = result.chosen.is_some(),
        /// What was chosen: the cheapest that fits.
        chosen: Option<Tried> = result.choice().map(tried),
        /// Everything that was tried, the cheapest first.
        tried: Vec<Tried> = result.tried.iter().map(tried).collect(),
        /// What could be done besides, by hand, in words.
        offered: Vec<String> = result.offered.clone(),
        /// What the answer does not know, in words.
        caveats: Vec<String> = result.caveats.clone(),
        /// Why there is no answer.
        why_not: Option<String> = result.why_not.clone(),
    }

    /// Measures together, and what they lead to.
    fn tried(tried: &Combination) -> Tried {
        /// The measures; none for the script as it is.
        measures: Vec<Measure> = tried.measures.clone(),
        /// The peak held with them, with memory to spare; null where the program failed.
        peak_reserved: Option<Bytes> = tried.peak_reserved,
        /// Whether it fits.
        fits: bool = tried.fits,
        /// How long a step took on the GPU that is there, in microseconds; null where it was not timed.
        step_us: Option<u64> = tried.step_us,
        /// The time that it costs, in thousandths of a step: an estimate.
        costs: u32 = tried.costs(),
    }
}

//! Whether parts of a batch give its gradient: the script runs on the CPU up to its first update, with some samples as one
//! batch and with the same in two parts, and the gradients are compared. On a phantom GPU nothing is computed.

use anyhow::Result;

use super::cut::Cut;
use super::runs::Runs;
use crate::job::{Job, RING};
use crate::measures::Measures;
use crate::plan::trial::Trial;

/// How many samples are tried: the losses of these differ, and the labels that they leave out.
const SAMPLES: u32 = 8;
/// How far gradients may lie apart, as a share of their length: sums in another order.
const NOISE: f64 = 1e-3;

impl Runs<'_> {
    /// Why the gradient of a batch is not that of its parts, or is not known to be; `None` where it is.
    pub(super) fn why_unproved(&self, cut: &Cut) -> Result<Option<String>> {
        (self.say)("trying on the CPU whether parts of a batch give its gradient");
        let whole = self.proof(cut, 1)?;
        let parts = self.proof(cut, 2)?;
        if let Some((_, text)) = whole.failure.or(parts.failure) {
            let why = text.lines().next().unwrap_or_default();
            let why = why.strip_prefix("oomph fit: ").unwrap_or(why);
            return Ok(Some(format!("whether they keep the result was not found out on the CPU: {why}")));
        }
        let is_same = is_same(&whole.measures.gradients, &parts.measures.gradients);
        let why = "the gradient of a batch is not the mean of its parts' gradients";
        Ok((!is_same).then(|| why.to_owned()))
    }

    fn proof(&self, cut: &Cut, parts: u32) -> Result<Trial> {
        let samples = cut.batch.min(SAMPLES) / 2 * 2;
        // The DataLoader is named for whole batches, too.
        let measures = Measures { proof: Some(samples), equal_labels: true, ..cut.asked(parts) };
        let job = Job { plan: None, ring: RING, measures: Some(measures), ..self.job.clone() };
        let folder = self.folder.within(&format!("cpu-parts-{parts}"), &job)?;
        Ok(self.stage.run_on_cpu(&job, &folder)?)
    }
}

/// Whether two lists of gradients are the same up to rounding. Each group of parameters has the length of its gradient and
/// a product of it, which is at most as great.
fn is_same(whole: &[String], parts: &[String]) -> bool {
    let numbers = |texts: &[String]| texts.iter().map(|text| text.parse().ok()).collect::<Option<Vec<f64>>>();
    let (Some(whole), Some(parts)) = (numbers(whole), numbers(parts)) else { return false };
    let longest = whole.chunks_exact(2).map(|group| group[0]).fold(0.0, f64::max);
    let is_near = |(whole, parts): (&[f64], &[f64])| {
        // What is next to nothing beside the others is rounding alone.
        let scale = whole[0].max(longest * 1e-3);
        whole.iter().zip(parts).all(|(a, b)| (a - b).abs() <= NOISE * scale)
    };
    longest > 0.0
        && whole.len() == parts.len()
        && whole.chunks_exact(2).zip(parts.chunks_exact(2)).all(is_near)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(numbers: &[f64]) -> Vec<String> {
        numbers.iter().map(f64::to_string).collect()
    }

    #[test]
    fn gradients_are_the_same_up_to_rounding() {
        let whole = texts(&[2.0, -1.0, 1e-9, 1e-10]);
        assert!(is_same(&whole, &texts(&[2.0004, -1.0004, 2e-9, 0.0])));
        assert!(!is_same(&whole, &texts(&[2.0, -1.01, 1e-9, 1e-10])));
        assert!(!is_same(&whole, &texts(&[2.0, -1.0])));
        // What was never noted proves nothing.
        assert!(!is_same(&[], &[]));
        assert!(!is_same(&texts(&[0.0, 0.0]), &texts(&[0.0, 0.0])));
        assert!(!is_same(&texts(&[f64::NAN, 1.0]), &texts(&[f64::NAN, 1.0])));
    }
}

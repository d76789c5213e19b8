//! What can be done beside settings, with the peak it leads to where the recording lets it be computed.

use oomph_engine::recording::Recording;
use oomph_trace::{Bytes, named};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cause::Cause;
use crate::moment::Moment;
use crate::steps::Steps;

/// A change that is not replayed: mostly of the program, not of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Advice {
    /// What to do.
    pub title: &'static str,
    /// Bytes in use with it at the failure, or the peak, where that can be computed.
    pub in_use: Option<Bytes>,
    /// Whether it would have fitted; without a known limit, whether it needs less.
    pub helps: bool,
    /// How that is known.
    pub how: Basis,
    /// Why, with the numbers.
    pub why: String,
}

named! {
    /// How an advice is known.
    Basis {
        /// From the recording's or the message's own numbers.
        Computed = "computed",
        /// From what usually happens.
        Practice = "known from practice",
    }
}

/// What helps against this cause, what helps most first, and what people try although it does not help. Nothing where no
/// request failed, or no limit is known.
pub fn against(cause: Option<Cause>, recording: &Recording, moment: &Moment, steps: &Steps) -> Vec<Advice> {
    let (Some(cause), Some(failed), Some(ceiling)) = (cause, moment.failed, recording.ceiling()) else {
        return Vec::new();
    };
    let needed = moment.counters.active + failed.size;
    let mut advice = match cause {
        Cause::Leak => vec![without_growth(moment, steps, failed.size, ceiling)],
        Cause::Capacity => vec![smaller_batch(moment, failed.size, ceiling), checkpointing(moment)],
        Cause::Fragmentation => vec![steady_shapes()],
        // No rule names these: only messages show them.
        Cause::OtherProcess | Cause::HostMemory | Cause::Disguised | Cause::Unknown => Vec::new(),
    };
    advice.retain(|advice| advice.in_use.is_none_or(|bytes| bytes < needed));
    advice.push(empty_cache(moment));
    advice
}

impl Advice {
    fn computed(title: &'static str, in_use: Bytes, helps: bool, why: String) -> Advice {
        Advice { title, in_use: Some(in_use), helps, how: Basis::Computed, why }
    }

    fn practice(title: &'static str, why: String) -> Advice {
        Advice { title, in_use: None, helps: true, how: Basis::Practice, why }
    }
}

/// Memory that grew since the steps settled, given back.
fn without_growth(moment: &Moment, steps: &Steps, request: Bytes, ceiling: Bytes) -> Advice {
    let title = "let go of what past steps made: detach, .item(), no_grad, or move it to the CPU";
    let passed = steps.baseline.len() as u64 - 1;
    let per_step = steps.growth.as_ref().map_or(Bytes::ZERO, |growth| growth.per_step);
    let grown = Bytes(per_step.0.saturating_mul(passed));
    let in_use = moment.counters.active.saturating_sub(grown) + request;
    let why = format!("{grown} of what was in use had grown over {passed} steps");
    Advice::computed(title, in_use, in_use <= ceiling, why)
}

/// What the step under way made, and the request itself, shrink with the batch; what was there before does not.
fn smaller_batch(moment: &Moment, request: Bytes, ceiling: Bytes) -> Advice {
    let title = "half the micro-batch and twice the accumulation, the same effective batch";
    let of_step = moment.of_step + request;
    let stays = moment.counters.active.saturating_sub(moment.of_step);
    let halved = stays + Bytes(of_step.0 / 2);
    let why = format!(
        "{of_step} belongs to the step under way, which grows with the batch; {stays} was there before"
    );
    Advice::computed(title, halved, halved <= ceiling, why)
}

fn checkpointing(moment: &Moment) -> Advice {
    let of_step = moment.of_step;
    let why = format!("both shrink the {of_step} that the step under way holds; a third more time, or none");
    Advice::practice("gradient checkpointing, or mixed precision", why)
}

fn steady_shapes() -> Advice {
    let title = "fewer different sizes: pad to buckets, and put the largest batch first";
    let why = "equal requests reuse each other's blocks; what comes first shapes the segments";
    Advice::practice(title, why.to_owned())
}

fn empty_cache(moment: &Moment) -> Advice {
    let (cached, releasable) = (moment.counters.cached(), moment.releasable);
    let why = format!(
        "PyTorch gave back all it could before it failed; of the {cached} still cached {releasable} could go"
    );
    Advice::computed("torch.cuda.empty_cache()", moment.counters.active, false, why)
}

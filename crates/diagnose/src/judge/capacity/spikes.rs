//! One batch, one tensor or one pass that is larger than all else.

use oomph_trace::Bytes;

use super::parts::{arithmetic, largest_of_step, of_step};
use crate::advice::Basis;
use crate::cause::Cause;
use crate::judge::census::{Kept, lines, sum};
use crate::judge::{Case, Kind, Lives, Role, Verdict};
use crate::phase::Phase;

/// A step this much larger than all like it is an outlier.
const OUTLIER: f64 = 1.3;

/// This step asks for much more than those before it.
pub(super) fn outlier(case: &Case<'_>) -> Option<Verdict> {
    if case.need.is_first || case.need.growth < OUTLIER {
        return None;
    }
    let times = case.need.growth;
    let claim = format!("this batch is {times:.1} times as large as those before it; {}", arithmetic(case));
    Some(
        Verdict::new(Cause::Capacity, Kind::OutlierBatch, claim)
            .blame(case.asked())
            .blame(largest_of_step(case, 2))
            .cure(
                "bound the size of a batch: crop, resize or bucket the largest samples (a limit on length, resolution or tokens), or make such a batch smaller",
                Basis::Computed,
                Lives::ForGood,
                format!("the steps before it fitted; {} is needed at this size", case.need.total),
            ),
    )
}

/// One request, or one line, is most of what the step needs.
pub(super) fn spike(case: &Case<'_>) -> Option<Verdict> {
    let frames = case.frames();
    let code = case.asking_code();
    // The scores of an attention that is written out.
    let is_product =
        code.contains(" @ ") && ["transpose(-", ".mT"].iter().any(|turned| code.contains(turned));
    let has = |names: &[&str]| {
        let called = frames.iter().take(12).any(|(_, _, function)| names.contains(function));
        called || names.iter().any(|name| code.contains(&format!("{name}(")))
    };
    let size = case.failed.size;
    let of_step = case.evidence.moment.of_step + size;
    let is_large = size.share_of(case.limit) >= 0.2 || size.0 * 3 >= of_step.0 && size >= Bytes::mib(64);
    if !is_large {
        return None;
    }
    let half = case.evidence.moment.counters.active + Bytes(size.0 / 2);
    let (kind, action, why) = if has(&["cross_entropy", "log_softmax", "nll_loss"]) {
        (
            Kind::Logits,
            "compute the loss in chunks of the sequence (or with a fused linear cross entropy), so that the logits of the whole batch are never there at once",
            "scores for every position and every word of the vocabulary, and a float copy of them for the loss",
        )
    } else if is_product || has(&["softmax", "scaled_dot_product_attention", "baddbmm", "bmm", "matmul"]) {
        (
            Kind::AttentionMatrix,
            "use F.scaled_dot_product_attention: it never makes the matrix of all positions with all others",
            "a matrix that grows with the square of the length",
        )
    } else if code.contains(".grad") && has(&["cat", "stack"]) {
        (
            Kind::Gathered,
            "work on the gradients one by one, as torch.nn.utils.clip_grad_norm_ does, and not on one tensor of them all",
            "all gradients are copied into one tensor",
        )
    } else if has(&["cat", "stack", "concatenate", "pad_sequence"]) {
        (
            Kind::Gathered,
            "gather on the CPU: move each part with `.cpu()` before it is kept, and join them there; or work on one part at a time",
            "the parts and the whole are on the GPU at the same time",
        )
    } else {
        (
            Kind::LargeTensor,
            "make it in chunks (blocks of rows, a part of the batch at a time), or of a smaller type; move each result to the CPU",
            "one request is a large part of all there is",
        )
    };
    let claim = format!("one tensor of {size} is asked for at once; {}", arithmetic(case));
    let lives = case.lives_needing(half);
    Some(Verdict::new(Cause::Capacity, kind, claim).blame(case.asked()).blame(largest_of_step(case, 2)).cure(
        action,
        Basis::Computed,
        lives,
        why,
    ))
}

/// A forward pass that nothing trains records graphs all the same: sampling, rendering, scoring.
pub(super) fn without_training(case: &Case<'_>) -> Option<Verdict> {
    let made = of_step(case);
    let bytes = sum(made.iter().copied());
    let by_graph = sum(made.iter().copied().filter(|alive| alive.kept == Kept::ByGraph));
    let records = case.seen.is_some_and(|seen| seen.grad);
    let trains = case.keepers.is_some_and(|keepers| !keepers.optimizers.is_empty())
        || case.evidence.steps.phases.trains();
    let is_forward = matches!(case.oom.phase, None | Some(Phase::Forward));
    if !records
        || !is_forward
        || by_graph.0 * 3 < bytes.0
        || by_graph.share_of(case.limit) < 0.1
        || trains && (case.need.is_first || !case.is_new_call())
    {
        return None;
    }
    let without = case.needed.saturating_sub(by_graph);
    let claim = format!(
        "graphs for a backward pass that never comes keep {by_graph} of {}; {}",
        case.limit,
        arithmetic(case)
    );
    let lives = case.lives_needing(without);
    Some(
        Verdict::new(Cause::Capacity, Kind::EvaluationGraphs, claim)
            .blame(case.asked())
            .blame(lines(made, Role::Made, 3))
            .cure(
                "run this part under `torch.no_grad()`: nothing is trained here, and no graph is kept",
                Basis::Computed,
                lives,
                format!("without graphs {without} of {} would be needed", case.limit),
            )
            .needs(without),
    )
}

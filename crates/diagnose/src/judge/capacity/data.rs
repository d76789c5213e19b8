//! Data that is on the GPU as a whole.

use std::collections::BTreeMap;

use oomph_trace::Bytes;

use super::parts::arithmetic;
use crate::advice::Basis;
use crate::cause::Cause;
use crate::classes::Class;
use crate::judge::census::{Alive, Kept, keeper, lines, sum};
use crate::judge::words::named;
use crate::judge::{Case, Kind, Lives, Role, Verdict};
use crate::place::PlaceId;

/// One variable that is not a model holds much of what there is.
pub(super) fn data(case: &Case<'_>) -> Option<Verdict> {
    let fixed =
        |class| matches!(class, Class::Weights | Class::Gradients | Class::Optimizer | Class::Workspaces);
    let candidates =
        case.alive.iter().filter(|alive| !fixed(alive.class) && matches!(alive.kept, Kept::By(_)));
    let Some((kept, bytes)) = keeper(candidates).filter(|(_, bytes)| bytes.share_of(case.limit) >= 0.35)
    else {
        return unnamed_data(case);
    };
    let variable = case.variable(kept)?;
    let of_it: Vec<&Alive> = case.alive.iter().filter(|alive| alive.kept == kept).collect();
    // What a graph made is a result, not data.
    if sum(of_it.iter().copied().filter(|alive| alive.is_plain)).0 * 2 < bytes.0 {
        return None;
    }
    let without = case.need.total.saturating_sub(bytes);
    let claim = format!("{bytes} of {} is held by {}; {}", case.limit, named(variable), arithmetic(case));
    let lives = case.lives_needing(without);
    Some(
        Verdict::new(Cause::Capacity, Kind::DataOnGpu, claim)
            .blame(lines(of_it, Role::Made, 3))
            .blame(case.asked())
            .cure(
                format!("keep the data of {} on the CPU and move one batch at a time to the GPU; `del` what is not needed any more", named(variable)),
                Basis::Computed,
                lives,
                format!("without it {without} of {} would be needed", case.limit),
            )
            .needs(without),
    )
}

/// One line outside any training made most of what there is, in pieces that nothing names yet: a list that is being made,
/// or data set after data set.
pub(super) fn unnamed_data(case: &Case<'_>) -> Option<Verdict> {
    if case.evidence.steps.phases.trains() {
        return None;
    }
    let mut sums: BTreeMap<PlaceId, (Bytes, usize)> = BTreeMap::new();
    for alive in case.alive.iter().filter(|alive| matches!(alive.class, Class::Other | Class::Activations)) {
        let entry = sums.entry(alive.line).or_default();
        *entry = (entry.0 + alive.bytes, entry.1 + 1);
    }
    let (line, (bytes, count)) = sums.into_iter().max_by_key(|(_, (bytes, _))| *bytes)?;
    let asks_again =
        case.alive.iter().any(|alive| alive.line == line && alive.place.as_ref() == case.place());
    if bytes.share_of(case.limit) < 0.6
        || count < 8 && !asks_again
        || !case.seen.is_some_and(|seen| seen.grad)
    {
        return None;
    }
    let of_it = case.alive.iter().filter(|alive| alive.line == line);
    // Results of graphs are a forward pass.
    let plain = sum(of_it.clone().filter(|alive| alive.is_plain));
    if plain.0 * 10 < bytes.0 * 9 {
        return None;
    }
    let claim = format!(
        "{bytes} of {} was made by one line, in {count} tensors, before anything is computed; {}",
        case.limit,
        arithmetic(case)
    );
    Some(
        Verdict::new(Cause::Capacity, Kind::DataOnGpu, claim)
            .blame(lines(of_it, Role::Made, 2))
            .blame(case.asked())
            .cure(
                "keep the data on the CPU and move one batch at a time to the GPU, when it is used",
                Basis::Computed,
                Lives::ForGood,
                format!("without it {} of {} would be needed", case.needed.saturating_sub(bytes), case.limit),
            ),
    )
}

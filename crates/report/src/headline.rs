//! Whether a plan fits, in a line.

use oomph_diagnose::results::plan::{PlanResult, PlannedWorld};

/// What may be needed is told by its least and its most where they differ by more than this part of it.
const SPREAD: f64 = 0.01;

/// The answer in a line.
pub(crate) fn headline(result: &PlanResult) -> String {
    let card = &result.card;
    let room = match result.limit {
        Some(limit) => format!("under a limit of {limit} on the {}", card.short),
        None => format!("on the {} ({})", card.short, card.total),
    };
    let worst = result.world.as_ref().filter(|world| alike(world).is_none());
    let rank = worst.map(|world| format!(" on rank {} of {}", world.worst, world.size)).unwrap_or_default();
    match (result.fits, needed(result)) {
        // PyTorch gives its cache back in time.
        (Some(true), Some(needed)) if holds_more(result) => {
            format!("fits {room}: with more room it would hold {needed}")
        }
        (Some(true), Some(needed)) => format!("fits {room}: {needed} at its peak{rank}"),
        (Some(false), Some(needed)) => {
            format!("does not fit {room}: {needed} at its peak{rank}")
        }
        (None, Some(needed)) if result.is_close => {
            format!("too close to call {room}: {needed} at its peak{rank}")
        }
        _ => format!("cannot tell whether it fits {room}"),
    }
}

/// What the process holds at its peak: `11.02 GiB`, or `11.02 to 11.41 GiB` where it is known no better.
fn needed(result: &PlanResult) -> Option<String> {
    let (process, (least, most)) = result.process().zip(result.process_between())?;
    if (most - least).share_of(process) <= SPREAD {
        return Some(process.to_string());
    }
    let (least, most) = (least.to_string(), most.to_string());
    Some(match (least.split_once(' '), most.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} to {most}"),
        _ => format!("{least} to {most}"),
    })
}

/// Whether it would hold more than there is, had it more.
fn holds_more(result: &PlanResult) -> bool {
    let room = result.limit.unwrap_or(result.card.total.saturating_sub(result.beside()));
    result.peaks.is_some_and(|peaks| peaks.reserved > room)
}

/// That the ranks that were run need the same, in a line; `None` where they do not.
pub(crate) fn alike(world: &PlannedWorld) -> Option<String> {
    let (first, rest) = world.ranks.split_first()?;
    if rest.iter().any(|rank| rank.process != first.process) {
        return None;
    }
    let names: Vec<String> = world.ranks.iter().map(|rank| rank.rank.to_string()).collect();
    Some(match names.split_last() {
        Some((last, [])) => format!("{} in all; {last} was run", world.size),
        Some((last, others)) => {
            format!("{} in all; {} and {last} were run and need the same", world.size, others.join(", "))
        }
        None => return None,
    })
}

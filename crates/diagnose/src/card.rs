//! The whole card at a moment, where the recorder described it: what lies beside PyTorch's memory.

use oomph_engine::recording::Recording;
use oomph_trace::sidecar::Card;
use oomph_trace::{Action, Bytes};

use crate::moment::Moment;

/// What the card holds beside what PyTorch holds; with that, the parts add up to [`RestOfCard::total`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestOfCard {
    /// The card's name.
    pub name: Option<String>,
    /// The card's memory.
    pub total: Bytes,
    /// Free, and within what this process may hold.
    pub not_held: Bytes,
    /// Free, but beyond what this process may hold.
    pub beyond_limit: Bytes,
    /// What this process holds beside PyTorch's memory: the CUDA context and libraries. Where the processes of the
    /// card are not known, what they hold too.
    pub context: Bytes,
    /// What other processes hold, if that is known.
    pub others: Option<Bytes>,
}

/// The card at `moment`; `None` where its size or what is outside is not known.
///
/// At a failure the event says what the driver had left. Otherwise the recorder's last look at the card tells what is
/// outside of PyTorch, which hardly changes.
pub fn at(recording: &Recording, moment: &Moment) -> Option<RestOfCard> {
    let sidecar = recording.snapshot.sidecar.as_ref()?;
    let card = sidecar.card(recording.trace().device)?;
    let held = moment.counters.reserved;
    let total = card.total?.max(held);
    let failure =
        recording.trace().events.get(moment.event.index()).filter(|event| event.action == Action::Oom);
    let outside = match failure {
        Some(event) => total.saturating_sub(held).saturating_sub(event.device_free()),
        None => total.saturating_sub(card.free?).saturating_sub(card.stats.reserved?),
    };
    let outside = outside.min(total.saturating_sub(held));
    let free = total.saturating_sub(held).saturating_sub(outside);
    let limit = recording.setup.limit.unwrap_or(total);
    let not_held = free.min(limit.saturating_sub(held));
    let others = card.used_by_others.or_else(|| others(card, sidecar.identity.pid?));
    let others = others.map(|others| others.min(outside));
    Some(RestOfCard {
        name: card.name.clone(),
        total,
        not_held,
        beyond_limit: free.saturating_sub(not_held),
        context: outside.saturating_sub(others.unwrap_or_default()),
        others,
    })
}

/// What the listed processes hold beside this one. A list without this one cannot be used: a container knows processes
/// by other numbers than the machine does.
fn others(card: &Card, pid: u64) -> Option<Bytes> {
    let is_this = |process: &&oomph_trace::sidecar::Process| process.pid == pid;
    card.processes.iter().find(is_this)?;
    Some(card.processes.iter().filter(|process| !is_this(process)).filter_map(|process| process.bytes).sum())
}

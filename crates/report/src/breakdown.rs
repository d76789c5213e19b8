//! The memory at a moment in parts that add up: the same table in the text report, the page and the card.

use oomph_diagnose::card::RestOfCard;
use oomph_diagnose::classes::{ByClass, Class};
use oomph_diagnose::message::Facts;
use oomph_diagnose::moment::{Holder, InnerHolder};
use oomph_diagnose::results::explain::DeviceResult;
use oomph_diagnose::results::plan::{PlanResult, PlannedPeaks};
use oomph_diagnose::results::serve::ServeResult;
use oomph_diagnose::serve::room::{Room, Setup};
use oomph_trace::Bytes;

use crate::numbers::{count, counted};
use crate::{place, recording, verdict};

/// How many holders are named; the others are summed up.
pub(crate) const HOLDERS: usize = 8;
/// How many lines of packages are named below a holder, and the least share of it that each has.
const INNER: usize = 4;
const LEAST: f64 = 0.05;
/// The style of each holder's part, and last the one of all further holders.
const STYLES: [&str; HOLDERS + 1] = ["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "hx"];

/// The style that colours the holder of this rank.
pub(crate) fn style_of(rank: usize) -> &'static str {
    STYLES[rank.min(HOLDERS)]
}

/// One part of the whole, never empty.
pub(crate) struct Part {
    /// How a page draws it.
    pub(crate) style: &'static str,
    pub(crate) bytes: Bytes,
    pub(crate) what: String,
    /// The line that holds it, where it is one's.
    pub(crate) line: Option<String>,
    /// The greatest of what it is made of, not all.
    pub(crate) inner: Vec<(Bytes, String)>,
}

/// Parts that add up.
pub(crate) struct Breakdown {
    pub(crate) heading: String,
    pub(crate) parts: Vec<Part>,
    /// What the parts add up to.
    pub(crate) total: Bytes,
    /// What that is.
    pub(crate) source: String,
    /// How many of the parts, from the first on, a bar shows; all of them, unless most of the card is beyond the limit.
    shown: Option<usize>,
}

impl Breakdown {
    fn new(heading: impl Into<String>) -> Breakdown {
        Breakdown {
            heading: heading.into(),
            parts: Vec::new(),
            total: Bytes::ZERO,
            source: String::new(),
            shown: None,
        }
    }

    fn add(&mut self, style: &'static str, bytes: Bytes, what: impl Into<String>) {
        if bytes > Bytes::ZERO {
            self.parts.push(Part { style, bytes, what: what.into(), line: None, inner: Vec::new() });
        }
    }

    fn sum(&self) -> Bytes {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// The parts that a bar shows, and what they add up to: what PyTorch may hold, where most of the card is beyond that
    /// and would leave no room for what matters.
    pub(crate) fn bar(&self) -> (&[Part], Bytes) {
        let parts = &self.parts[..self.shown.unwrap_or(self.parts.len())];
        (parts, parts.iter().map(|part| part.bytes).sum())
    }

    /// What the bar leaves out, in words.
    pub(crate) fn beside_the_bar(&self) -> Option<String> {
        let (parts, shown) = self.bar();
        (parts.len() < self.parts.len())
            .then(|| format!("The bar is the limit, {shown}; the rest of the card is in the table only."))
    }

    fn amounting_to(self, total: Bytes, source: impl Into<String>) -> Breakdown {
        Breakdown { total, source: source.into(), ..self }
    }

    /// The card at the failure or the peak: who holds what, what is cached, and what PyTorch does not hold.
    pub(crate) fn at_moment(result: &DeviceResult) -> Breakdown {
        let moment = &result.explanation.moment;
        let mut all = Breakdown::new(format!("Memory {}", verdict::moment(result)));
        let unlined = recording::unlined(&result.recording);
        for (rank, holder) in moment.holders.iter().take(HOLDERS).enumerate() {
            let inner = inner(holder);
            // The line of PyTorch is that of one allocation among many; the lines below say more.
            let what = match &holder.place {
                Some(place) if !inner.is_empty() => place.line.to_string(),
                _ => place::holder(holder, unlined),
            };
            all.add(style_of(rank), holder.bytes, what + &times(holder.count));
            if let Some(part) = all.parts.last_mut() {
                part.line = holder.place.as_ref().map(|place| place.line.to_string());
                part.inner = inner;
            }
        }
        let rest = moment.holders.get(HOLDERS..).unwrap_or_default();
        let elsewhere = format!("{} elsewhere", counted(rest.len(), "line"));
        all.add("hx", rest.iter().map(|holder| holder.bytes).sum(), elsewhere);
        all.add("trapped", moment.trapped(), "cached beside blocks in use: cannot be given back");
        all.add("spare", moment.releasable, "cached, could be given back");
        all.add_what_is_not_held(result)
    }

    fn add_what_is_not_held(mut self, result: &DeviceResult) -> Breakdown {
        let reserved = result.explanation.moment.counters.reserved;
        let limit = recording::limit(&result.recording);
        match (&result.explanation.beside, limit) {
            (Some(beside), limit) => self.add_rest_of_card(beside, limit),
            (None, Some((limit, source))) => {
                self.add("unheld", limit.saturating_sub(reserved), "not held");
                self.amounting_to(limit.max(reserved), source)
            }
            (None, None) => self.amounting_to(reserved, "held in all; no limit is known"),
        }
    }

    fn add_rest_of_card(mut self, beside: &RestOfCard, limit: Option<(Bytes, String)>) -> Breakdown {
        let beyond = limit.map(|(limit, source)| {
            format!(", beyond the limit of {limit} ({})", source.strip_prefix("limit, ").unwrap_or(&source))
        });
        let others =
            if beside.others.is_some() { " and libraries" } else { ", libraries and other processes" };
        self.add("unheld", beside.not_held, "not held");
        self.shown = (beside.beyond_limit.share_of(beside.total) > 0.5).then_some(self.parts.len());
        self.add("unheld", beside.beyond_limit, format!("free{}", beyond.unwrap_or_default()));
        self.add("context", beside.context, format!("CUDA context{others}"));
        self.add("others", beside.others.unwrap_or_default(), "other processes");
        self.amounting_to(beside.total, beside.name.as_deref().unwrap_or("the card"))
    }

    /// What was in use at the moment, by what it was for; `None` where nothing tells.
    pub(crate) fn by_class(result: &DeviceResult) -> Option<Breakdown> {
        let moment = &result.explanation.moment;
        let mut all = Breakdown::new("By class");
        all.add_classes(moment.classes.as_ref()?);
        (!all.parts.is_empty()).then(|| all.amounting_to(moment.counters.active, "in use"))
    }

    /// The classes, largest first, rounding last; none where nothing is known of any.
    fn add_classes(&mut self, classes: &ByClass) {
        if classes.iter().all(|(class, _)| matches!(class, Class::Other | Class::Rounding)) {
            return;
        }
        let rank = |class: Class| (class == Class::Rounding, class == Class::Other);
        let mut shown = classes.clone();
        shown.sort_by_key(|(class, bytes)| (rank(*class), std::cmp::Reverse(*bytes), *class));
        shown.into_iter().for_each(|(class, bytes)| self.add("", bytes, class.words()));
    }

    /// A planned card at the peak, or what the process would need where that is more.
    pub(crate) fn planned(result: &PlanResult, peaks: PlannedPeaks) -> Breakdown {
        let card = &result.card;
        let mut all = Breakdown::new("Memory at the peak");
        all.add_classes(&result.by_class);
        let cached = if all.parts.is_empty() {
            all.add("", peaks.allocated, "in use");
            "cached"
        } else {
            "cached, at the peak of what is held"
        };
        all.add("", peaks.reserved.saturating_sub(all.sum()), cached);
        all.add("", result.card.context.most, "CUDA context and libraries, at most");
        all.add("", result.nccl, "NCCL, by an estimate");
        all.add("", result.late, "what DDP or FSDP1 lets go of late");
        let process = peaks.reserved + result.beside();
        if process > card.total {
            return all.amounting_to(process, format!("needed; the {} has {}", card.short, card.total));
        }
        all.add("", card.total.saturating_sub(process), "free");
        all.amounting_to(card.total, card.name.to_string())
    }

    /// A card with a model that is served, or what that would need where it is more.
    pub(crate) fn served(result: &ServeResult, room: &Room) -> Breakdown {
        let card = &result.card;
        let sequences = result.shown();
        let (chunk, _) = Setup::at_once(card);
        let mut all = Breakdown::new("Memory");
        all.add("", room.weights, "weights");
        all.add("", room.cache_of(sequences), format!("KV cache of {}", counted(sequences, "sequence")));
        all.add("", room.activations, format!("activations of a prefill of {} tokens", count(chunk)));
        all.add("", room.graphs, "CUDA graphs, an allowance");
        all.add("", room.beside, "CUDA context and libraries");
        let usable = card.total.saturating_sub(room.kept_free);
        if room.needed(sequences) > usable {
            let source = format!("needed; of the {} {usable} may be used, of {}", card.short, card.total);
            let needed = all.sum();
            return all.amounting_to(needed, source);
        }
        all.add("", usable.saturating_sub(all.sum()), "left for shorter ones");
        all.add("", room.kept_free, format!("not used, by --utilization {}", result.setup.utilization));
        all.amounting_to(card.total, card.name.to_string())
    }

    /// The numbers of a message as parts of the device; `None` where it leaves some out, or where they are rounded so
    /// that they do not add up.
    pub(crate) fn stated(facts: &Facts) -> Option<Breakdown> {
        let (total, outside, free) = (facts.total?, facts.outside()?, facts.free?);
        let others = facts.other_process.unwrap_or_default().min(outside);
        let allocated = facts.allocated.or(facts.reserved)?;
        let pools = facts.private_pools.unwrap_or_default().min(allocated);
        let mut all = Breakdown::new(STATED);
        all.add("h0", allocated - pools, "in use by tensors");
        all.add("h1", pools, "free inside private pools");
        all.add("spare", facts.cached().unwrap_or_default(), "cached by the allocator");
        all.add("h3", others, "held by other processes");
        all.add("hx", outside - others, "outside the allocator: contexts, libraries, others");
        all.add("unheld", free, "free");
        (all.sum() == total).then(|| all.amounting_to(total, "on the device in all"))
    }
}

/// The lines of packages that hold most of what a line of the user's holds: a few, each a share that matters. None where
/// one holds all of it: that stands beside the user's line.
fn inner(holder: &Holder) -> Vec<(Bytes, String)> {
    if place::only_inner(holder).is_some() {
        return Vec::new();
    }
    let lines = holder.inner.iter().take(INNER);
    let lines = lines.filter(|inner| inner.bytes.share_of(holder.bytes) >= LEAST);
    let named = |InnerHolder { bytes, count, line }: &InnerHolder| {
        (*bytes, format!("of it {}:{}{}", line.file_name(), line.line, times(*count)))
    };
    lines.map(named).collect()
}

fn times(allocations: usize) -> String {
    if allocations > 1 { format!(" ×{}", count(allocations)) } else { String::new() }
}

/// The heading of a message's numbers.
pub(crate) const STATED: &str = "Memory, as the message states it";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_shown_largest_first_and_rounding_last() {
        let all: ByClass = Class::ALL.iter().copied().zip(1..).map(|(class, n)| (class, Bytes(n))).collect();
        let check = |classes: &[(Class, Bytes)], expected: &[(u64, &str)]| {
            let mut shown = Breakdown::new("");
            shown.add_classes(&classes.to_vec());
            let found: Vec<_> = shown.parts.iter().map(|part| (part.bytes.0, part.what.as_str())).collect();
            assert_eq!(found, expected);
        };
        let expected = [
            (7, "optimizer temporaries"),
            (6, "activations"),
            (5, "workspaces"),
            (4, "buffers"),
            (3, "optimizer state"),
            (2, "gradients"),
            (1, "weights"),
            (8, "other"),
            (9, "rounding"),
        ];
        check(&all, &expected);
        check(&all[..3], &[(3, "optimizer state"), (2, "gradients"), (1, "weights")]);
        check(&all[7..], &[]);
    }
}

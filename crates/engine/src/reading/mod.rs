//! Reading a recording by contradiction: the simplest reading first, and where a replay of it parts from the recording,
//! the one that explains the parting. Every address has to agree, so a wrong reading does not survive.

mod revise;

use std::sync::Arc;

use oomph_trace::sidecar::Card;
use oomph_trace::{Bytes, Snapshot, Trace, named};

use crate::fidelity::{self, Divergence, Fidelity};
use crate::program::{Assumptions, Program, Refusal, Source, Survey};
use crate::replay::Setup;

/// Events replayed in all to find a better reading of one recording.
const REVISED_EVENTS: usize = 8_000_000;

named! {
    /// How the limit of a reading was found.
    LimitSource {
        /// The user said it.
        Given = "given",
        /// The recorder wrote it down: the share of the card that was set.
        Recorded = "recorded",
        /// From what was granted and refused.
        Refusals = "refusals",
        /// From when garbage collection ran.
        GarbageCollection = "garbage_collection",
    }
}

/// One way to read a recording, and how exact its replay is.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) program: Arc<Program>,
    pub(crate) limit: Limit,
}

/// The setup that reproduces a program, or the likeliest one.
#[derive(Debug)]
pub(crate) struct Limit {
    pub(crate) setup: Setup,
    /// `None`: nothing was refused, so nothing is known of one.
    pub(crate) source: Option<LimitSource>,
    pub(crate) fidelity: Fidelity,
}

/// What a recording is read from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) trace: &'a Trace,
    /// Of the trace.
    pub(crate) survey: &'a Survey,
    /// The allocator, without a limit.
    pub(crate) base: &'a Setup,
    /// The limit, if the user said it.
    pub(crate) given: Option<Bytes>,
    /// The card, where the recorder described it.
    pub(crate) card: Option<&'a Card>,
}

impl Reader<'_> {
    /// The simplest reading, of which nothing is replayed yet.
    pub(crate) fn first(&self) -> Program {
        self.program(&Assumptions::default())
    }

    /// Replays that reading, and revises it as long as a replay parts later each time, or nowhere.
    pub(crate) fn revised(&self, first: Arc<Program>) -> Reading {
        let mut assumptions = Assumptions::default();
        let mut reading = self.checked(first);
        // Each revision costs a replay; on a long recording a few must do.
        let mut replays = (REVISED_EVENTS / self.trace.events.len().max(1)).clamp(8, 600);
        while let Some(parted) = reading.limit.fidelity.divergence.clone() {
            let revisions =
                revise::revisions(&assumptions, &reading.program, self.trace, &reading.limit.setup, &parted);
            let better = revisions.into_iter().take(replays).find_map(|revised| {
                replays -= 1;
                let next = self.checked(Arc::new(self.program(&revised)));
                let parts_at = next.limit.fidelity.divergence.as_ref().map(|next| next.event);
                // Where two segments are in doubt at one event, settling one is progress even if the event stays.
                let settles = revised.settled() > assumptions.settled();
                let progress = parts_at.is_none_or(|at| at > parted.event || at == parted.event && settles);
                progress.then_some((revised, next))
            });
            let Some(better) = better else { break };
            (assumptions, reading) = better;
        }
        reading
    }

    fn program(&self, assumptions: &Assumptions) -> Program {
        let Reader { snapshot, trace, survey, base, .. } = *self;
        let Setup { options, profile, .. } = base;
        Program::read(&Source { snapshot, trace, survey, options, profile, assumptions })
    }

    fn checked(&self, program: Arc<Program>) -> Reading {
        let limit = self.find_limit(&program);
        Reading { program, limit }
    }

    fn check(&self, program: &Program, setup: Setup, source: Option<LimitSource>) -> Limit {
        let fidelity = fidelity::check(self.trace, program, &setup);
        Limit { setup, source, fidelity }
    }

    /// What the program may have run on, the likeliest first. There is always one.
    pub(crate) fn setups(&self, program: &Program) -> Vec<(Setup, Option<LimitSource>)> {
        use LimitSource::{Given, Recorded, Refusals};
        let with_limit = |limit| Setup { limit, ..self.base.clone() };
        if self.given.is_some() {
            return vec![(with_limit(self.given), Some(Given))];
        }
        let taken = program.limit.taken();
        let limited = with_limit(taken);
        let full = Setup { capacity: taken, ..self.base.clone() };
        let mut tries = Vec::new();
        if let Some(limit) = self.card.and_then(|card| card.limit) {
            tries.push((with_limit(Some(limit)), Some(Recorded)));
            // A share of the card leaves more than the card has, where others fill it.
            if taken.is_some_and(|taken| taken < limit) {
                tries.push((Setup { limit: Some(limit), ..full.clone() }, Some(Recorded)));
            }
        }
        // Without a share of the card only the card itself can refuse.
        let unlimited = self.card.is_some_and(|card| card.limit.is_none());
        match program.limit.refusal {
            None => tries.push((self.base.clone(), None)),
            Some(Refusal::Unnamed) if unlimited => {
                tries.extend([(full, Some(Refusals)), (limited, Some(Refusals))]);
            }
            Some(Refusal::Device { .. }) => tries.extend([(full, Some(Refusals)), (limited, Some(Refusals))]),
            Some(Refusal::Limit | Refusal::Unnamed) => {
                tries.extend([(limited, Some(Refusals)), (full, Some(Refusals))]);
            }
        }
        tries
    }

    fn find_limit(&self, program: &Program) -> Limit {
        let mut first = None;
        for (setup, source) in self.setups(program) {
            let found = self.check(program, setup, source);
            if found.fidelity.divergence.is_none() {
                return found;
            }
            first.get_or_insert(found);
        }
        let collects = self.given.is_none() && self.base.options.garbage_collection_threshold > 0.0;
        let searched = if collects { self.search_limit(program) } else { None };
        searched.or(first).expect("at least one setup is tried")
    }

    /// Halves the interval of possible limits: where a replay parts from the recording tells on which side it lies.
    fn search_limit(&self, program: &Program) -> Option<Limit> {
        let mut low = program.limit.at_least.0;
        // Collection starts at threshold × limit, and it did start while no more than `at_least` was held.
        let threshold = self.base.options.garbage_collection_threshold;
        let collects_below = ((low as f64 / threshold) as u64).saturating_add(1);
        let mut high = program.limit.below.map_or(collects_below, |below| below.0.min(collects_below));
        while low < high {
            let middle = low + (high - low) / 2;
            let setup = Setup { limit: Some(Bytes(middle)), ..self.base.clone() };
            let found = self.check(program, setup, Some(LimitSource::GarbageCollection));
            match found.fidelity.divergence.as_ref().map(Divergence::wants_higher_limit) {
                None => return Some(found),
                Some(Some(true)) => low = middle + 1,
                Some(Some(false)) => high = middle,
                Some(None) => return None,
            }
        }
        None
    }
}

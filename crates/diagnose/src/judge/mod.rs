//! The verdict on a failure: what, once removed, would have let the job live on, and what to do about it.
//!
//! In reading order: what a verdict consists of (`verdict`), what is alive at the failure and how old it is (`census`),
//! what the step under way would still have needed (`need`), what people say of such faults (`folklore`), and the hypotheses, each of which answers with a verdict
//! or is silent. The first that answers wins: they are in the order of how much they explain, since what grows for ever
//! ends any job, whatever else is wrong with it.

mod verdict;

mod census;

mod need;

mod folklore;

mod words;

mod capacity;
mod evaluation;
mod fragmentation;
mod generation;
mod growth;
mod neighbour;
mod replaced;
mod retry;

use oomph_engine::replay::Run;
use oomph_engine::simulated::SimulatedDevice;
use oomph_trace::sidecar::{Keepers, SeenOom};
use oomph_trace::{Bytes, EventIdx};

use crate::card::RestOfCard;
use crate::classes::Classes;
use crate::frame::{self, Owner};
use crate::moment::Failure;
use crate::oom::{self, Oom};
use crate::place::{self, Place, Places};
use crate::rules::Evidence;

pub use verdict::{Culprit, Cure, Kind, Lives, Not, Role, Verdict};

use crate::advice::Basis;

use census::Alive;
use need::Need;

/// What the hypotheses look at.
pub(crate) struct Case<'a> {
    evidence: Evidence<'a>,
    /// What lies on the card beside PyTorch's memory.
    beside: Option<&'a RestOfCard>,
    /// The first request that failed.
    oom: &'a Oom,
    failed: Failure,
    /// What could be held.
    limit: Bytes,
    /// In use, and the request.
    needed: Bytes,
    /// What was alive, by address order of the replay.
    alive: Vec<Alive>,
    need: Need,
    /// Who kept storages alive, where the recorder looked.
    keepers: Option<&'a Keepers>,
    /// The failure as the recorder saw it.
    seen: Option<&'a SeenOom>,
}

impl Case<'_> {
    /// The lines of a stack at the failure, innermost first: file, line, function.
    fn frames(&self) -> Vec<(&str, u32, &str)> {
        let snapshot = &self.evidence.recording.snapshot;
        match self.evidence.recording.trace().events[self.oom.event.index()].stack {
            Some(stack) => place::shown(snapshot, snapshot.stacks.frames_of(stack)).collect(),
            None => place::shown_seen(self.seen.map_or(&[][..], |seen| &seen.frames)).collect(),
        }
    }

    /// What the program's innermost line says that led to the failure; empty where nobody saw it.
    fn asking_code(&self) -> &str {
        let Some(seen) = self.seen else { return "" };
        let lines = seen.frames.iter().zip(&seen.code);
        let mut own = lines.filter(|(frame, _)| frame::owner(&frame.file) == Owner::User);
        own.next().map_or("", |(_, code)| code)
    }

    /// Where the step under way began; the beginning where no steps are known.
    fn step_began(&self) -> EventIdx {
        self.evidence.steps.began(self.oom.event).unwrap_or_default()
    }

    /// How long the job lives if it needs so much.
    fn lives_needing(&self, bytes: Bytes) -> Lives {
        if bytes <= self.limit { Lives::ForGood } else { Lives::Unknown }
    }

    /// The line that asked for what was refused.
    fn place(&self) -> Option<&Place> {
        self.oom.place.as_ref()
    }
}

/// What the judge is given beside the evidence.
pub(crate) struct Given<'a> {
    pub(crate) evidence: Evidence<'a>,
    /// The replay up to the failure.
    pub(crate) run: &'a Run<'a, SimulatedDevice>,
    pub(crate) beside: Option<&'a RestOfCard>,
    pub(crate) classes: Option<&'a Classes>,
    pub(crate) ooms: &'a [Oom],
}

/// Judges the first failure. `None` without one, or where nothing tells what could be held.
pub(crate) fn judge(given: &Given<'_>, places: &mut Places<'_>) -> Option<Verdict> {
    let evidence = given.evidence;
    let oom = given.ooms.first()?;
    let failed = evidence.moment.failed?;
    let limit = evidence.recording.ceiling()?;
    let needed = evidence.moment.counters.active + failed.size;
    let time = evidence.recording.trace().events[oom.event.index()].time_us;
    let keepers = evidence.recording.snapshot.sidecar.as_ref().and_then(|sidecar| sidecar.keepers.as_ref());
    let alive = census::alive(given, keepers, places);
    let case = Case {
        evidence,
        beside: given.beside,
        oom,
        failed,
        limit,
        needed,
        need: need::of(&evidence, oom, needed, &alive, keepers),
        alive,
        keepers,
        seen: oom::seen_on(evidence.recording).min_by_key(|seen| seen.time_us.abs_diff(time)),
    };
    let verdict = neighbour::judge(&case)
        .or_else(|| retry::judge(&case, given.ooms))
        .or_else(|| generation::judge(&case))
        .or_else(|| growth::judge(&case))
        .or_else(|| evaluation::graphs(&case))
        .or_else(|| replaced::judge(&case))
        .or_else(|| fragmentation::judge(&case))
        .or_else(|| evaluation::size(&case))
        .unwrap_or_else(|| capacity::judge(&case));
    Some(verdict)
}

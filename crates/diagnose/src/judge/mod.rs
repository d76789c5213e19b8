//! The verdict on a failure: what, once removed, would have let the job live on, and what to do about it.
//!
//! In reading order: what a verdict consists of (`verdict`), what is alive at the failure and how old it is (`census`),
//! what the step under way would still have needed (`need`), and the hypotheses, each of which answers with a verdict
//! or is silent. The first that answers wins: they are in the order of how much they explain, since what grows for ever
//! ends any job, whatever else is wrong with it.

mod verdict;

mod census;

mod need;

mod words;

mod capacity;
mod evaluation;
mod fragmentation;
mod growth;
mod neighbour;
mod retry;

use oomph_engine::recording::Recording;
use oomph_trace::Bytes;
use oomph_trace::sidecar::{Keepers, SeenOom};

use crate::card::RestOfCard;
use crate::classes::Classes;
use crate::fixes::Fix;
use crate::moment::{Failure, Moment};
use crate::oom::Oom;
use crate::place::{Place, Places};
use crate::steps::Steps;

pub use verdict::{Culprit, Cure, Kind, Lives, Not, Role, Verdict};

use crate::advice::Basis;

use census::Alive;
use need::Need;

/// What the hypotheses look at.
pub(crate) struct Case<'a> {
    pub(crate) recording: &'a Recording,
    pub(crate) moment: &'a Moment,
    pub(crate) steps: &'a Steps,
    pub(crate) fixes: &'a [Fix],
    pub(crate) beside: Option<&'a RestOfCard>,
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
    fn frames(&self) -> Vec<(String, u32, String)> {
        let entry = &self.recording.trace().events[self.oom.event.index()];
        let snapshot = &self.recording.snapshot;
        if let Some(stack) = entry.stack {
            let frames = snapshot.stacks.frames_of(stack).iter().map(|id| snapshot.stacks.frame(*id));
            let text = |id| snapshot.texts.get(id).to_owned();
            return frames.map(|frame| (text(frame.file), frame.line, text(frame.function))).collect();
        }
        let seen = self.seen.map_or(&[][..], |seen| &seen.frames);
        seen.iter().map(|frame| (frame.file.clone(), frame.line, frame.function.clone())).collect()
    }

    /// The line that asked for what was refused.
    fn place(&self) -> Option<&Place> {
        self.oom.place.as_ref()
    }
}

/// What the judge is given beside the evidence.
pub(crate) struct Given<'a> {
    pub(crate) recording: &'a Recording,
    pub(crate) moment: &'a Moment,
    pub(crate) steps: &'a Steps,
    pub(crate) fixes: &'a [Fix],
    pub(crate) beside: Option<&'a RestOfCard>,
    pub(crate) classes: Option<&'a Classes>,
    pub(crate) ooms: &'a [Oom],
}

/// Judges the first failure. `None` without one, or where nothing tells what could be held.
pub(crate) fn judge(given: &Given<'_>, places: &mut Places<'_>) -> Option<Verdict> {
    let oom = given.ooms.first()?;
    let failed = given.moment.failed?;
    let limit = given.recording.ceiling()?;
    let sidecar = given.recording.snapshot.sidecar.as_ref();
    let device = given.recording.trace().device;
    let time = given.recording.trace().events[oom.event.index()].time_us;
    let here = sidecar.map_or(&[][..], |sidecar| &sidecar.ooms).iter();
    let here = here.filter(|seen| i64::from(seen.device) == i64::from(device));
    let keepers = sidecar.and_then(|sidecar| sidecar.keepers.as_ref());
    let alive = census::alive(given, oom.event, keepers, places);
    let need = need::of(given, oom.event, &alive, keepers);
    let case = Case {
        recording: given.recording,
        moment: given.moment,
        steps: given.steps,
        fixes: given.fixes,
        beside: given.beside,
        oom,
        failed,
        limit,
        needed: given.moment.counters.active + failed.size,
        alive,
        need,
        keepers,
        seen: here.min_by_key(|seen| seen.time_us.abs_diff(time)),
    };
    let verdict = neighbour::judge(&case)
        .or_else(|| retry::judge(&case, given.ooms))
        .or_else(|| growth::judge(&case))
        .or_else(|| evaluation::graphs(&case))
        .or_else(|| fragmentation::judge(&case))
        .or_else(|| evaluation::size(&case))
        .unwrap_or_else(|| capacity::judge(&case));
    Some(verdict)
}

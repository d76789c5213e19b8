//! A request that failed in a recording.

use oomph_engine::recording::Recording;
use oomph_trace::sidecar::SeenOom;
use oomph_trace::{Bytes, EventIdx};

use crate::phase::Phase;
use crate::place::Place;

/// A request that failed in the recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Oom {
    /// Its event.
    pub event: EventIdx,
    /// What was needed, after rounding.
    pub size: Bytes,
    /// What the driver called free.
    pub device_free: Bytes,
    /// Where.
    pub place: Option<Place>,
    /// In which step, counted from 1, if steps were marked or found.
    pub step: Option<u64>,
    /// In which phase, if phases were marked.
    pub phase: Option<Phase>,
}

/// The failures on the recording's card that the recorder saw.
pub(crate) fn seen_on(recording: &Recording) -> impl Iterator<Item = &SeenOom> {
    let seen = recording.snapshot.sidecar.as_ref().map_or(&[][..], |sidecar| &sidecar.ooms);
    seen.iter().filter(|oom| i64::from(oom.device) == i64::from(recording.trace().device))
}

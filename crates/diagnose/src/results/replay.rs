//! What `oomph replay` finds: one recording under other settings, or the check of it under its own.

use std::sync::Arc;

use oomph_engine::recording::Recording;
use oomph_engine::replay::{OnFailure, Outcome, Setup, replay};
use oomph_engine::torch::options::OptionError;
use oomph_trace::Bytes;

/// The result for one device.
#[derive(Clone, Debug)]
pub struct ReplayResult {
    /// The recording.
    pub recording: Arc<Recording>,
    /// What it was replayed on.
    pub setup: Setup,
    /// Whether that is what it was recorded on, so that the self-check applies.
    pub as_recorded: bool,
    /// What the replay gave.
    pub replayed: Outcome,
}

/// Settings that cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// PyTorch would refuse them.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// They name a share of something unknown.
    #[error(
        "per_process_memory_fraction is a share of a card whose size no snapshot states: \
         give the limit itself with --limit"
    )]
    ShareOfUnknown,
}

impl ReplayResult {
    /// Replays a recording under its own settings with `settings` on top, and under `limit` if one is given.
    pub fn of(
        recording: Arc<Recording>,
        settings: &[String],
        limit: Option<Bytes>,
    ) -> Result<ReplayResult, ReplayError> {
        let mut options = recording.setup.options.clone();
        for setting in settings {
            options.apply(setting, &recording.setup.profile)?;
        }
        if options.per_process_memory_fraction.is_some_and(|share| share < 1.0) && limit.is_none() {
            return Err(ReplayError::ShareOfUnknown);
        }
        let setup = match limit {
            Some(limit) => Setup { options, limit: Some(limit), capacity: None, ..recording.setup },
            None => Setup { options, ..recording.setup.clone() },
        };
        let as_recorded = setup == recording.setup;
        let replayed = if as_recorded && recording.is_exact() {
            recording.fidelity.replayed
        } else {
            let start = recording.start_for(&setup.options);
            replay(&recording.program, &setup, start, OnFailure::FollowRecording)
        };
        Ok(ReplayResult { recording, setup, as_recorded, replayed })
    }
}

/// Whether `limit` can be the one the job ran under: all that was granted fits it, all that was refused does not.
pub fn can_be_its_limit(recording: &Recording, limit: Bytes) -> bool {
    let bounds = &recording.program.limit;
    bounds.at_least <= limit && bounds.below.is_none_or(|below| limit < below)
}

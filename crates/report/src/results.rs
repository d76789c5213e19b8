//! What the verbs hand over to be shown.

use oomph_diagnose::explain::Explanation;
use oomph_diagnose::message::Log;
use oomph_diagnose::steps::Growth;
use oomph_diagnose::tune::Candidate;
use oomph_engine::recording::Recording;
use oomph_engine::replay::{Replayed, Setup};
use oomph_trace::{Bytes, Sidecar};

/// The result of `replay` for one device.
#[derive(Clone, Debug)]
pub struct ReplayResult<'a> {
    /// The recording.
    pub recording: &'a Recording<'a>,
    /// What it was replayed on.
    pub setup: Setup,
    /// Whether that is what it was recorded on, so that the self-check applies.
    pub as_recorded: bool,
    /// What the replay gave.
    pub replayed: Replayed,
}

/// The result of `tune` for one device.
#[derive(Clone, Debug)]
pub struct TuneResult<'a> {
    /// The recording.
    pub recording: &'a Recording<'a>,
    /// The limit of the search.
    pub limit: Option<Bytes>,
    /// Every setting tried, the recorded one first.
    pub candidates: Vec<Candidate>,
    /// The one to recommend, as its place in the list; `None`: none helps.
    pub best: Option<usize>,
    /// What grows from iteration to iteration, which no setting cures.
    pub growth: Option<Growth>,
}

/// The result of `explain` for one device.
#[derive(Clone, Debug)]
pub struct ExplainResult<'a> {
    /// The recording.
    pub recording: &'a Recording<'a>,
    /// The verdict.
    pub explanation: Explanation,
}

/// The result of `explain` for a recording that holds no memory of a card.
#[derive(Clone, Debug)]
pub struct ProcessResult<'a> {
    /// What the recorder knew.
    pub sidecar: &'a Sidecar,
    /// What the exception's text says, if there was one.
    pub log: Option<Log>,
}

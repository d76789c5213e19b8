//! A program to run, and everything it is run with.

use std::ffi::OsString;

use oomph_engine::torch::variables::{CUDA, GENERAL};
use oomph_trace::Bytes;
use oomph_trace::cards::Card;
use serde::Serialize;

use crate::measures::Measures;
use crate::program::Program;
use crate::settings::Settings;

/// How many events the recorder keeps, where nothing else is said.
pub const RING: u64 = 300_000;

/// A run, before it starts.
#[derive(Clone, Debug)]
pub struct Job {
    /// What to start.
    pub program: Program,
    /// PyTorch's allocator settings.
    pub settings: Settings,
    /// The variables of the other frameworks' allocators.
    pub frameworks: Vec<(&'static str, OsString)>,
    /// The memory to run with.
    pub limit: Option<Bytes>,
    /// The card whose memory to run with.
    pub card: Option<&'static Card>,
    /// How many events the recorder keeps.
    pub ring: u64,
    /// The card that is not there, where the program runs on one.
    pub phantom: Option<&'static Card>,
    /// Which try this is, where the job may be started again from a checkpoint.
    pub resume: Option<ResumeRequest>,
    /// What `oomph plan` needs of the process, where this is a plan or runs as one.
    pub plan: Option<PlanRequest>,
    /// What is done inside it to need less memory.
    pub measures: Option<Measures>,
}

/// What `--resume` needs of the process, under `resume` in run.json.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ResumeRequest {
    /// How often the job was started again: 0 in the first try.
    pub restarts: u64,
    /// When the first try began, in microseconds since the epoch: what was saved before that is another job's.
    pub since_us: u64,
}

/// What a plan needs of the process, under `plan` in run.json.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PlanRequest {
    /// Optimizer steps after which it ends; `None`: when the peak stands still.
    pub steps: Option<u64>,
    /// Whether it ends only when the program does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub to_the_end: bool,
    /// Which rank it is of a world in which it is alone; `None`: the other ranks are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub world: Option<WorldRequest>,
}

/// A rank that runs without the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WorldRequest {
    /// Its number.
    pub rank: u32,
    /// How many ranks a node has; `None`: as many as the program's own launcher says.
    pub per_node: Option<u32>,
    /// How many nodes there are.
    pub nodes: u32,
    /// Where ranks leave what they send each other, from the run's folder.
    pub messages: &'static str,
}

impl Job {
    /// The variables of the frameworks' allocators; `had` is what the user's variable of PyTorch's says.
    pub(crate) fn variables(&self, had: &str) -> Vec<(&'static str, OsString)> {
        let mut variables = self.frameworks.clone();
        if !self.settings.is_empty() {
            // PyTorch 2.9 knows only the first; later ones obey it where both are set.
            let merged = self.settings.merged_into(had);
            variables.extend([CUDA, GENERAL].map(|name| (name, OsString::from(&merged))));
        }
        variables
    }
}

//! Recordings of training jobs that never ran: complete, self-consistent, and the same for the same seed.

mod random;
mod session;
mod sidecar;
mod job;
mod stacks;

use oomph_engine::simulated::SimulatedDevice;
use oomph_engine::torch::Torch;
use oomph_engine::torch::options::Options;
use oomph_engine::torch::profile::{Profile, Version};
use oomph_trace::{Bytes, Fields, PoolId, RecordedSettings, Snapshot};

use crate::recorder::Recorder;
use job::{Loop, Shape};
use session::Session;
use sidecar::SidecarRecorder;

pub use random::Random;

/// The memory that is free before the job begins.
const DEVICE: Bytes = Bytes::gib(80);

/// How a job ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// After the last whole step.
    Complete,
    /// In the middle of a forward pass, with a request that cannot be served and the frees of the exception.
    OutOfMemory,
}

/// A training job to record.
#[derive(Clone, Debug)]
pub struct Job {
    /// About how many events; the last step is not cut short.
    pub events: usize,
    /// Frames per stack; 0 records no stacks.
    pub stack_depth: usize,
    /// How many different stacks.
    pub stacks: usize,
    /// How many streams are used. The streams after the first bring batches, whose frees have to wait.
    pub streams: u16,
    /// Whether the sequence length changes from step to step.
    pub ragged: bool,
    /// Equal seeds give equal recordings.
    pub seed: u64,
    /// The PyTorch it runs on.
    pub version: Version,
    /// Its settings.
    pub options: Options,
    /// What PyTorch may hold. A job that needs more fails.
    pub limit: Option<Bytes>,
    /// How it ends.
    pub ending: Ending,
    /// Oomph's recorder records it, with stacks in every n-th step; `None`: the job has no recorder.
    pub sampled: Option<u64>,
}

impl Default for Job {
    fn default() -> Job {
        Job {
            events: 10_000,
            stack_depth: 12,
            stacks: 200,
            streams: 2,
            ragged: true,
            seed: 1,
            version: Version::two(11),
            options: Options::default(),
            limit: None,
            ending: Ending::Complete,
            sampled: None,
        }
    }
}

impl Job {
    /// Runs the job and gives what PyTorch would have recorded from its start.
    pub fn record(&self) -> Snapshot {
        let since = |minor| self.version >= Version::two(minor);
        let mut random = Random::new(self.seed);
        let mut snapshot = Snapshot { pools: vec![PoolId::DEFAULT], ..Snapshot::default() };
        let stacks = match self.stack_depth {
            0 => Vec::new(),
            depth => stacks::add(&mut snapshot, self.stacks, depth, &mut random),
        };
        let limit = self.limit.or((self.ending == Ending::OutOfMemory).then_some(Bytes::gib(16)));
        let recorded = SidecarRecorder::new(self.sampled, limit);
        let limit = if self.sampled.is_some() { recorded.limit() } else { limit };
        let device = Recorder::new(SimulatedDevice::new(Some(DEVICE)));
        let torch = Torch::new(Profile::of(self.version), self.options.clone(), limit, device);
        let session = Session::new(torch, random, DEVICE, since(12));
        let shape = Shape {
            layers: 12,
            hidden: 768,
            batch: 8,
            sequence: 512,
            ragged: self.ragged,
            streams: self.streams.max(1),
        };
        let mut run = Loop::new(session, shape, &stacks, recorded);
        let mut going = run.load();
        while going.is_ok() && run.session.trace.events.len() < self.events {
            going = run.step(&mut snapshot);
        }
        if going.is_ok() && self.ending == Ending::OutOfMemory {
            going = run.overreach(limit.unwrap_or(DEVICE));
        }
        run.classify();
        if going.is_err() {
            run.recorded.fail(run.session.trace.events.last());
            run.unwind();
        }
        let mut trace = run.session.trace.clone();
        trace.segments = run.session.final_segments();
        if !since(2) {
            trace.events.iter_mut().for_each(|event| event.time_us = 0);
        }
        if !since(5) {
            snapshot.annotations.clear();
        }
        snapshot.sidecar = run.recorded.sidecar(self.version, &run.session.torch);
        snapshot.traces.push(trace);
        snapshot.settings = since(3).then(|| self.recorded_settings());
        snapshot.fields = fields_of(self.version);
        snapshot
    }

    fn recorded_settings(&self) -> RecordedSettings {
        let conf = self.options.to_string();
        RecordedSettings {
            conf: (!conf.is_empty()).then_some(conf),
            max_split_size: self.options.max_split_size,
            garbage_collection_threshold: self.options.garbage_collection_threshold,
            expandable_segments: self.options.expandable_segments,
            roundup_power2_divisions: self.options.roundup_power2_divisions.0,
        }
    }
}

/// The fields that a snapshot of `version` has after an ordinary run.
pub fn fields_of(version: Version) -> Fields {
    let since = |minor| version >= Version::two(minor);
    Fields {
        is_expandable: since(1),
        time_us: since(2),
        allocator_settings: since(3),
        external_annotations: since(5),
        compile_context: since(8),
        record_stream_reuse: since(9),
        user_metadata: since(10),
        // Only in anomaly mode.
        forward_frames: false,
        pool_id: since(12),
        max_round_threshold: since(13),
        host: since(14),
        // Only if something was set.
        internal_metadata: false,
    }
}

/// What a ring buffer of `events` entries would have kept: the last of them, and everything else.
#[must_use]
pub fn window(mut snapshot: Snapshot, events: usize) -> Snapshot {
    for trace in &mut snapshot.traces {
        let gone = trace.events.len().saturating_sub(events);
        trace.events.drain(..gone);
    }
    snapshot
}

//! What oomph's recorder would have written about a job: marks, classes, spans with stacks, the card.

use oomph_engine::simulated::SimulatedDevice;
use oomph_engine::torch::Torch;
use oomph_engine::torch::profile::Version;
use oomph_trace::sidecar::{
    Card, ClassSample, Exception, Framework, HeldByClass, Identity, Link, Mark, MarkKind, MemorySample,
    Process, SeenFrame, SeenOom, Sidecar, Span, Stats, StorageClass, Versions, Why,
};
use oomph_trace::{Bytes, Event};

use super::DEVICE;
use super::session::Allocation;
use crate::recorder::Recorder;

/// What the process takes of the card beside PyTorch's memory.
const CONTEXT: Bytes = Bytes::mib(518);
/// What another process takes.
const OTHERS: Bytes = Bytes::mib(1024);
const PID: u64 = 4711;

/// The recorder of a job. If the job has none, it does nothing.
pub(super) struct SidecarRecorder {
    /// Stacks are recorded in every n-th step; `None`: there is no recorder.
    every: Option<u64>,
    /// The current step, from 1; 0 before the first.
    steps: u64,
    total: Bytes,
    fraction: Option<f64>,
    sidecar: Sidecar,
}

impl SidecarRecorder {
    pub(super) fn new(every: Option<u64>, limit: Option<Bytes>) -> SidecarRecorder {
        let total = DEVICE + CONTEXT + OTHERS;
        let fraction = limit.map(|limit| limit.0 as f64 / total.0 as f64);
        SidecarRecorder { every, steps: 0, total, fraction, sidecar: Sidecar::default() }
    }

    /// The limit that PyTorch computes from the share.
    pub(super) fn limit(&self) -> Option<Bytes> {
        self.fraction.map(|fraction| Bytes((fraction * self.total.0 as f64) as u64))
    }

    /// Whether stacks are recorded at this moment.
    pub(super) fn samples_stacks(&self) -> bool {
        self.every.is_none_or(|every| self.steps.saturating_sub(1).is_multiple_of(every.max(1)))
    }

    pub(super) fn begin_step(&mut self, time_us: &mut u64) {
        if self.every.is_none() {
            return;
        }
        self.steps += 1;
        *time_us += 1;
        let records = self.samples_stacks();
        match self.sidecar.stacks.last_mut().filter(|span| span.to_us.is_none()) {
            Some(span) if !records => span.to_us = Some(*time_us),
            None if records => {
                let from_us = if self.steps == 1 { 0 } else { *time_us };
                self.sidecar.stacks.push(Span { from_us, to_us: None });
            }
            _ => {}
        }
        self.sidecar.marks.push(Mark { time_us: *time_us, kind: MarkKind::Step, number: self.steps - 1 });
    }

    pub(super) fn mark(&mut self, time_us: &mut u64, kind: MarkKind) {
        if self.every.is_none() {
            return;
        }
        *time_us += 1;
        self.sidecar.marks.push(Mark { time_us: *time_us, kind, number: self.steps.saturating_sub(1) });
    }

    pub(super) fn classify(
        &mut self,
        time_us: &mut u64,
        storages: impl Iterator<Item = (Allocation, StorageClass)>,
    ) {
        if self.every.is_none() {
            return;
        }
        *time_us += 1;
        let entry = |(live, class): (Allocation, StorageClass)| ClassSample {
            time_us: *time_us,
            device: 0,
            addr: live.addr,
            bytes: live.size,
            class,
            module: None,
        };
        self.sidecar.classes.extend(storages.map(entry));
    }

    /// The last event is a failure that nobody caught.
    pub(super) fn fail(&mut self, event: Option<&Event>) {
        let Some(event) = event else { return };
        let line = SeenFrame {
            file: "/home/user/project/train.py".to_owned(),
            line: 61,
            function: "train_step".to_owned(),
        };
        let text = format!("CUDA out of memory. Tried to allocate {}.", event.size);
        self.sidecar.ooms.push(SeenOom {
            time_us: event.time_us,
            device: 0,
            requested: Some(event.size),
            total: Some(self.total),
            free: Some(event.device_free()),
            text: Some(text.clone()),
            frames: vec![line],
            code: Vec::new(),
            grad: false,
        });
        self.sidecar.exception = Some(Exception {
            class: Some("torch.OutOfMemoryError".to_owned()),
            text: Some(text.clone()),
            traceback: None,
            uncaught: true,
            oom: true,
            chain: vec![Link {
                classes: vec!["torch.OutOfMemoryError".to_owned(), "RuntimeError".to_owned()],
                text,
            }],
        });
    }

    /// All of it, if there was a recorder.
    pub(super) fn sidecar(
        &self,
        version: Version,
        torch: &Torch<Recorder<SimulatedDevice>>,
    ) -> Option<Sidecar> {
        self.every?;
        let counters = torch.counters();
        let card = Card {
            index: 0,
            name: Some("NVIDIA H200".to_owned()),
            total: Some(self.total),
            capability: Some((9, 0)),
            uuid: Some("GPU-0123".to_owned()),
            fraction: self.fraction,
            limit: self.limit(),
            free: Some(DEVICE.saturating_sub(counters.reserved)),
            used_by_others: Some(OTHERS),
            processes: vec![
                Process {
                    pid: PID,
                    name: Some("python".to_owned()),
                    bytes: Some(counters.reserved + CONTEXT),
                },
                Process { pid: 99, name: Some("jupyter".to_owned()), bytes: Some(OTHERS) },
            ],
            stats: Stats {
                allocated: Some(counters.allocated),
                reserved: Some(counters.reserved),
                retries: Some(torch.tally().retries),
                ooms: Some(torch.tally().ooms),
                ..Stats::default()
            },
            history: vec![MemorySample {
                time_us: 1,
                step: 0,
                allocated: counters.allocated,
                reserved: counters.reserved,
                peak_allocated: counters.allocated,
            }],
            by_class: Some(HeldByClass { weights: Bytes::mib(3), ..HeldByClass::default() }),
        };
        Some(Sidecar {
            identity: Identity {
                oomph: Some("0.1.0".to_owned()),
                run: Some("20261115-064012-train-4710".to_owned()),
                name: Some("main".to_owned()),
                pid: Some(PID),
                argv: vec!["train.py".to_owned(), "--lr".to_owned(), "1".to_owned()],
                ..Identity::default()
            },
            why: Some(if self.sidecar.ooms.is_empty() { Why::Exit } else { Why::Oom }),
            framework: Some(Framework::Torch),
            versions: Versions { torch: Some(format!("{version}.0+cu130")), ..Versions::default() },
            devices: vec![card],
            ..self.sidecar.clone()
        })
    }
}

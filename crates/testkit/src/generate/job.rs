//! The training loop of a small transformer, as its allocations.

use oomph_trace::{Annotation, Bytes, Snapshot, StackId};

use oomph_trace::sidecar::{MarkKind, StorageClass};

use super::session::{Allocation, Session};
use super::sidecar::SidecarRecorder;

/// The shape of the model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) layers: u64,
    pub(super) hidden: u64,
    pub(super) batch: u64,
    pub(super) sequence: u64,
    pub(super) ragged: bool,
    pub(super) streams: u16,
}

/// A request failed; the job unwinds.
pub(super) struct OutOfMemory;

/// What the job holds.
pub(super) struct Loop<'a> {
    pub(super) session: Session,
    shape: Shape,
    stacks: &'a [StackId],
    weights: Vec<(Allocation, u64)>,
    optimizer: Vec<Allocation>,
    gradients: Vec<Allocation>,
    /// Per layer, what its backward needs.
    activations: Vec<Vec<Allocation>>,
    temporary: Vec<Allocation>,
    prefetched: Vec<Allocation>,
    /// What oomph's recorder writes about it.
    pub(super) recorded: SidecarRecorder,
}

impl<'a> Loop<'a> {
    pub(super) fn new(
        session: Session,
        shape: Shape,
        stacks: &'a [StackId],
        recorded: SidecarRecorder,
    ) -> Loop<'a> {
        Loop {
            session,
            shape,
            stacks,
            weights: Vec::new(),
            optimizer: Vec::new(),
            gradients: Vec::new(),
            activations: Vec::new(),
            temporary: Vec::new(),
            prefetched: Vec::new(),
            recorded,
        }
    }

    /// The stack of the n-th place in the program.
    fn stack(&self, place: u64) -> Option<StackId> {
        let recorded = !self.stacks.is_empty() && self.recorded.samples_stacks();
        recorded.then(|| self.stacks[(place % self.stacks.len() as u64) as usize])
    }

    fn alloc(&mut self, bytes: u64, stream: u16, place: u64) -> Result<Allocation, OutOfMemory> {
        let stack = self.stack(place);
        self.session.alloc(Bytes(bytes.max(4)), stream, stack).ok_or(OutOfMemory)
    }

    /// Allocates the weights.
    pub(super) fn load(&mut self) -> Result<(), OutOfMemory> {
        let hidden = self.shape.hidden;
        let vocabulary = self.alloc(hidden * 4096 * 4, 0, 1)?;
        self.weights.push((vocabulary, hidden * 4096 * 4));
        for layer in 0..self.shape.layers {
            for (n, elements) in [
                3 * hidden * hidden,
                3 * hidden,
                hidden * hidden,
                hidden,
                4 * hidden * hidden,
                4 * hidden * hidden,
            ]
            .into_iter()
            .enumerate()
            {
                let live = self.alloc(elements * 4, 0, 10 + layer * 8 + n as u64)?;
                self.weights.push((live, elements * 4));
            }
        }
        Ok(())
    }

    /// One step: forward, backward, optimizer.
    pub(super) fn step(&mut self, snapshot: &mut Snapshot) -> Result<(), OutOfMemory> {
        let sequence = self.sequence();
        self.begin_step();
        self.forward(sequence, self.shape.layers)?;
        self.mark(MarkKind::Backward);
        self.backward(sequence)?;
        self.mark(MarkKind::BackwardEnd);
        self.update(snapshot)
    }

    fn begin_step(&mut self) {
        self.recorded.begin_step(&mut self.session.time_us);
    }

    fn mark(&mut self, kind: MarkKind) {
        self.recorded.mark(&mut self.session.time_us, kind);
    }

    /// Records what weights, gradients and the optimizer's state are for.
    pub(super) fn classify(&mut self) {
        let weights = self.weights.iter().map(|(live, _)| (*live, StorageClass::Weights));
        let gradients = self.gradients.iter().map(|live| (*live, StorageClass::Gradients));
        let state = self.optimizer.iter().map(|live| (*live, StorageClass::Optimizer));
        self.recorded.classify(&mut self.session.time_us, weights.chain(gradients).chain(state));
    }

    fn sequence(&mut self) -> u64 {
        let longest = self.shape.sequence;
        if self.shape.ragged { self.session.random.between(longest / 3, longest + 1) } else { longest }
    }

    /// The first `layers` layers forward.
    pub(super) fn forward(&mut self, sequence: u64, layers: u64) -> Result<(), OutOfMemory> {
        self.prefetch(sequence)?;
        let tokens = self.shape.batch * sequence;
        let hidden = self.shape.hidden;
        for layer in 0..layers {
            let place = 1000 + layer * 32;
            self.activations.push(Vec::new());
            for (n, elements) in
                [hidden, 3 * hidden, sequence * 4, hidden, hidden, 4 * hidden, 4 * hidden, hidden]
                    .into_iter()
                    .enumerate()
            {
                // Each operator makes one temporary tensor, and one that is kept.
                let scratch = self.alloc(tokens * hidden * 2, 0, place + 16 + n as u64)?;
                self.temporary.push(scratch);
                let kept = self.alloc(tokens * elements * 2, 0, place + n as u64)?;
                if let Some(kept_by_layer) = self.activations.last_mut() {
                    kept_by_layer.push(kept);
                }
                // Sums and norms are small.
                let norm = self.alloc(tokens * 4, 0, place + 24)?;
                self.temporary.push(norm);
                self.drop_temporary(place + 25);
            }
        }
        Ok(())
    }

    /// The layers backward: activations are freed in reverse order, gradients are allocated.
    fn backward(&mut self, sequence: u64) -> Result<(), OutOfMemory> {
        let tokens = self.shape.batch * sequence;
        let hidden = self.shape.hidden;
        while let Some(mut kept) = self.activations.pop() {
            let place = 3000 + self.activations.len() as u64 * 32;
            let flowing = self.alloc(tokens * hidden * 2, 0, place)?;
            self.temporary.push(flowing);
            while let Some(activation) = kept.pop() {
                let scratch = self.alloc(tokens * hidden * 2, 0, place + 1 + kept.len() as u64);
                let stack = self.stack(place + 16);
                self.session.free(activation, stack);
                match scratch {
                    Ok(scratch) => self.temporary.push(scratch),
                    Err(died) => {
                        self.activations.push(kept);
                        return Err(died);
                    }
                }
            }
            for n in 0..6 {
                let index = 1 + self.activations.len() * 6 + n;
                let (_, bytes) = self.weights[index];
                let gradient = self.alloc(bytes, 0, place + 20 + n as u64)?;
                self.gradients.push(gradient);
            }
            self.drop_temporary(place + 30);
        }
        Ok(())
    }

    /// The optimizer allocates its state in the first step; gradients are freed after every step.
    fn update(&mut self, snapshot: &mut Snapshot) -> Result<(), OutOfMemory> {
        self.annotate(snapshot, true);
        self.mark(MarkKind::Optimizer);
        if self.optimizer.is_empty() {
            for index in 0..self.weights.len() {
                let (_, bytes) = self.weights[index];
                for n in 0..2 {
                    let state = self.alloc(bytes, 0, 5000 + index as u64 * 2 + n)?;
                    self.optimizer.push(state);
                }
            }
        }
        for index in 0..self.weights.len() {
            let (_, bytes) = self.weights[index];
            let scratch = self.alloc(bytes, 0, 6000 + index as u64)?;
            self.temporary.push(scratch);
            self.drop_temporary(6500);
        }
        self.annotate(snapshot, false);
        self.mark(MarkKind::OptimizerEnd);
        if self.recorded.samples_stacks() {
            self.classify();
        }
        let stack = self.stack(7000);
        for gradient in std::mem::take(&mut self.gradients) {
            self.session.free(gradient, stack);
        }
        Ok(())
    }

    /// The next batch arrives on other streams; then the default one uses it.
    fn prefetch(&mut self, sequence: u64) -> Result<(), OutOfMemory> {
        let stack = self.stack(8001);
        for batch in std::mem::take(&mut self.prefetched) {
            self.session.free_later(batch, stack);
        }
        for stream in 1..self.shape.streams {
            let bytes = self.shape.batch * sequence * 8 * u64::from(stream);
            let batch = self.alloc(bytes, stream, 8000)?;
            self.prefetched.push(batch);
            let image = self.alloc(self.shape.batch * (3 << 18), stream, 8002)?;
            self.prefetched.push(image);
        }
        Ok(())
    }

    fn drop_temporary(&mut self, place: u64) {
        let stack = self.stack(place);
        while let Some(live) = self.temporary.pop() {
            self.session.free(live, stack);
        }
    }

    /// Asks for more than is left, in the middle of a forward pass.
    pub(super) fn overreach(&mut self, limit: Bytes) -> Result<(), OutOfMemory> {
        let sequence = self.sequence();
        self.begin_step();
        self.forward(sequence, self.shape.layers / 2 + 1)?;
        let left = limit.saturating_sub(self.session.torch.counters().active);
        let logits = self.alloc(left.0 + (64 << 20), 0, 9000)?;
        self.temporary.push(logits);
        Ok(())
    }

    /// The exception leaves the step: what only the step held is freed, the model stays.
    pub(super) fn unwind(&mut self) {
        self.drop_temporary(9500);
        let stack = self.stack(9501);
        for live in std::mem::take(&mut self.activations).into_iter().flatten() {
            self.session.free(live, stack);
        }
    }

    fn annotate(&mut self, snapshot: &mut Snapshot, starts: bool) {
        let name = snapshot.texts.intern("Optimizer.step#AdamW.step");
        snapshot.annotations.push(Annotation { name, starts, device: 0, time_us: self.session.time_us });
    }
}

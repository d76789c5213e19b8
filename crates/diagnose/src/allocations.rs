//! Every allocation of a recording as one row, for programs that ask their own questions.

use oomph_engine::program::{AllocId, Allocation, OpKind};
use oomph_engine::recording::Recording;
use oomph_engine::replay::Effect;
use oomph_trace::{Addr, Bytes, EventIdx, StackId};

use crate::classes::{Class, Classes};
use crate::phase::Phase;
use crate::phases::Phases;
use crate::place::{Line, Places};

/// One allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The GPU's number.
    pub device: i32,
    /// Where the recording placed it.
    pub addr: Addr,
    /// What the program asked for.
    pub requested: Bytes,
    /// The block that served it, as replayed under the recorded settings.
    pub size: Bytes,
    /// The handle of its stream.
    pub stream: u64,
    /// Whose pool it came from, as PyTorch names it: `0.0` is the default one.
    pub pool: String,
    /// Where the segment begins that it lies in, as replayed.
    pub segment: Addr,
    /// The event that granted it; `None`: it was there before the first.
    pub alloc_event: Option<EventIdx>,
    /// When that was, in microseconds.
    pub alloc_time_us: Option<u64>,
    /// The event from which on its memory could serve others; `None`: none.
    pub free_event: Option<EventIdx>,
    /// When that was, in microseconds.
    pub free_time_us: Option<u64>,
    /// What it was for, where the recording tells.
    pub class: Option<Class>,
    /// The line that asked for it.
    pub line: Option<Line>,
    /// Its stack.
    pub stack: Option<StackId>,
    /// The step that asked for it.
    pub step: Option<u64>,
    /// The phase that asked for it.
    pub phase: Option<Phase>,
}

/// The allocations of one recording, in order of their ids.
pub struct Rows<'a> {
    recording: &'a Recording,
    places: Places<'a>,
    phases: Phases,
    classes: Option<Classes>,
    /// The block and the segment of each.
    placed: Vec<(Bytes, Addr)>,
    next: u32,
}

impl<'a> Rows<'a> {
    /// Replays the recording once, to know the blocks.
    pub fn of(recording: &'a Recording) -> Rows<'a> {
        let phases = Phases::of(recording);
        let classes = Classes::find(recording, &phases);
        let places = Places::new(recording);
        Rows { recording, places, phases, classes, placed: placed(recording), next: 0 }
    }

    fn row(&mut self, id: AllocId, allocation: &Allocation) -> Row {
        let recording = self.recording;
        let (trace, program) = (recording.trace(), &recording.program);
        let time = |event: EventIdx| trace.events.get(event.index()).map(|event| event.time_us);
        let stack = self.places.stack_of(allocation);
        let place = self.places.of(stack);
        let born = allocation.born();
        let owner = program
            .owners
            .get(usize::from(allocation.owner.0))
            .map_or((0, 0), |owner| (owner.id.0, owner.id.1));
        let (size, segment) = self.placed[id.index()];
        Row {
            device: trace.device,
            addr: allocation.addr,
            requested: allocation.size,
            size,
            stream: program.streams.get(usize::from(allocation.stream.0)).map_or(0, |stream| stream.0),
            pool: format!("{}.{}", owner.0, owner.1),
            segment,
            alloc_event: born,
            alloc_time_us: born.and_then(time),
            free_event: allocation.died(),
            free_time_us: allocation.died().and_then(time),
            class: self.classes.as_ref().map(|classes| classes.of(id)),
            line: self.places.get(place).map(|place| place.line.clone()),
            stack,
            step: born.and_then(|event| self.phases.step_at(event)),
            phase: born.and_then(|event| self.phases.phase_at(event)),
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let id = AllocId(self.next);
        let allocation = *self.recording.program.allocations.get(id.index())?;
        self.next += 1;
        Some(self.row(id, &allocation))
    }
}

/// The block and the segment of each allocation, as replayed under the recorded settings.
fn placed(recording: &Recording) -> Vec<(Bytes, Addr)> {
    let program = &recording.program;
    let mut placed: Vec<(Bytes, Addr)> =
        program.allocations.iter().map(|allocation| (allocation.size, allocation.addr)).collect();
    let mut run = recording.run();
    let early: Vec<(AllocId, Bytes, Addr)> =
        run.live().map(|(id, _, block)| (id, block.size, run.torch().segment(block.segment).addr)).collect();
    for (id, size, segment) in early {
        placed[id.index()] = (size, segment);
    }
    while let Some((op, effect)) = run.step() {
        if let (OpKind::Alloc(id), Effect::Served(block)) = (op.kind, effect) {
            let block = run.torch().block(block);
            placed[id.index()] = (block.size, run.torch().segment(block.segment).addr);
        }
    }
    placed
}

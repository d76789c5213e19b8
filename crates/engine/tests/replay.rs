//! The allocations of a program, and replays of it: up to an event, and under other settings than the recorded ones.

use oomph_engine::recording::{Known, Recording};
use oomph_engine::replay::{Run, Setup, Start};
use oomph_engine::simulated::SimulatedDevice;
use oomph_trace::{
    Action, Addr, Block, BlockState, Bytes, Event, EventIdx, PoolId, PoolIdx, Segment, Snapshot, Stream,
    Trace,
};

const SIZE: Bytes = Bytes::mib(20);
const A: Addr = Addr(0x7f00_0000_0000);
const B: Addr = Addr(0x7f00_1000_0000);
const C: Addr = Addr(0x7f00_2000_0000);

fn event((action, addr): (Action, Addr)) -> Event {
    Event { addr, size: SIZE, stream: Stream(0), time_us: 0, stack: None, metadata: None, pool: None, action }
}

fn segment(addr: Addr, state: BlockState) -> Segment {
    let requested = if state == BlockState::Free { Bytes::ZERO } else { SIZE };
    Segment {
        addr,
        size: SIZE,
        stream: Stream(0),
        pool: PoolIdx(0),
        small: false,
        expandable: false,
        stack: None,
        blocks: vec![Block { addr, size: SIZE, requested, state, stack: None }],
    }
}

fn recording<const N: usize>(events: [(Action, Addr); N], segments: Vec<Segment>) -> Recording {
    let trace = Trace { device: 0, events: events.map(event).to_vec(), segments };
    let snapshot = Snapshot { traces: vec![trace], pools: vec![PoolId::DEFAULT], ..Snapshot::default() };
    let recording = Recording::understand(snapshot, 0, Known::default());
    assert!(recording.is_exact(), "{:?}", recording.fidelity.divergence);
    recording
}

/// B is made and freed, A is from before the start and its free waits for another stream, C outlives the recording.
fn three() -> Recording {
    let events = [
        (Action::SegmentAlloc, B),
        (Action::Alloc, B),
        (Action::FreeRequested, A),
        (Action::FreeRequested, B),
        (Action::FreeCompleted, B),
        (Action::FreeCompleted, A),
    ];
    let segments = [(A, BlockState::Free), (B, BlockState::Free), (C, BlockState::Allocated)];
    recording(events, segments.map(|(addr, state)| segment(addr, state)).to_vec())
}

#[test]
fn an_allocation_is_born_freed_and_dies_as_far_as_the_recording_shows_it() {
    let recording = three();
    let at = |event: Option<EventIdx>| event.map(|event| event.0);
    let allocations = recording.program.allocations.iter();
    let lives: Vec<_> = allocations
        .map(|found| (found.addr, at(found.born()), at(found.freed()), at(found.died())))
        .collect();
    assert_eq!(lives, [(B, Some(1), Some(4), Some(4)), (A, None, Some(2), Some(5)), (C, None, None, None)]);
}

#[test]
fn a_replay_advances_to_the_state_after_an_event() {
    let recording = three();
    let live = |event| {
        let mut run = recording.run();
        run.advance_to(EventIdx(event));
        run.live().map(|(_, allocation, block)| (allocation.addr, block.size)).collect::<Vec<_>>()
    };
    assert_eq!(live(0), [(A, SIZE), (C, SIZE)]);
    assert_eq!(live(1), [(B, SIZE), (A, SIZE), (C, SIZE)]);
    // What waits for another stream is in use.
    assert_eq!(live(4), [(A, SIZE), (C, SIZE)]);
    assert_eq!(live(5), [(C, SIZE)]);
}

#[test]
fn a_completion_that_a_release_has_overtaken_completes_nothing_else() {
    let events = [
        (Action::SegmentAlloc, A),
        (Action::Alloc, A),
        (Action::FreeRequested, A),
        (Action::SegmentAlloc, B),
        (Action::Alloc, B),
        (Action::FreeRequested, B),
        (Action::FreeCompleted, A),
    ];
    let segments = vec![segment(A, BlockState::Free), segment(B, BlockState::PendingFree)];
    let recording = recording(events, segments);

    // Under this limit the second request releases the cache, which completes the free of the first and may give its
    // block's id to the second. When the recording then completes the first, the second must stay pending.
    let setup = Setup { limit: Some(SIZE), ..recording.setup.clone() };
    let mut run = Run::new(&recording.program, &setup, SimulatedDevice::new(None), Start::AsRecorded);
    while run.step().is_some() {}
    assert_eq!(run.outcome().tally.retries, 1);
    assert_eq!(run.torch().counters().active, SIZE);
}

//! Replays under other settings than the recorded ones.

use oomph_engine::recording::{Known, Recording};
use oomph_engine::replay::{Run, Setup, Start};
use oomph_engine::simulated::SimulatedDevice;
use oomph_trace::{
    Action, Addr, Block, BlockState, Bytes, Event, PoolId, PoolIdx, Segment, Snapshot, Stream, Trace,
};

const SIZE: Bytes = Bytes::mib(20);
const A: Addr = Addr(0x7f00_0000_0000);
const B: Addr = Addr(0x7f00_1000_0000);

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
    let trace = Trace {
        device: 0,
        events: events.map(event).to_vec(),
        segments: vec![segment(A, BlockState::Free), segment(B, BlockState::PendingFree)],
    };
    let snapshot = Snapshot { traces: vec![trace], pools: vec![PoolId::DEFAULT], ..Snapshot::default() };
    let recording = Recording::understand(snapshot.clone(), 0, Known::default());
    assert!(recording.is_exact(), "{:?}", recording.fidelity.divergence);

    // Under this limit the second request releases the cache, which completes the free of the first and may give its
    // block's id to the second. When the recording then completes the first, the second must stay pending.
    let setup = Setup { limit: Some(SIZE), ..recording.setup.clone() };
    let mut run = Run::new(&recording.program, &setup, SimulatedDevice::new(None), Start::AsRecorded);
    while run.step().is_some() {}
    assert_eq!(run.outcome().tally.retries, 1);
    assert_eq!(run.torch().counters().active, SIZE);
}

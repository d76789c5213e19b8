//! What is read out of a recording, and what is not, on traces of a few events.

// In a test a panic is the report.
#![allow(clippy::unwrap_used)]

use oomph_engine::program::Refusal;
use oomph_engine::recording::{Known, Recording};
use oomph_engine::torch::profile::Version;
use oomph_testkit::generate::fields_of;
use oomph_trace::{
    Action, Addr, Block, BlockState, Bytes, Event, PoolId, PoolIdx, Segment, Snapshot, Stream, Trace,
};

/// Where the segments of these traces begin.
const A: Addr = Addr(0x7f00_0000_0000);
const B: Addr = Addr(0x7f10_0000_0000);
const C: Addr = Addr(0x7f20_0000_0000);

fn event(action: Action, addr: Addr, size: Bytes) -> Event {
    let stream = Stream(0);
    Event { addr, size, stream, time_us: 0, stack: None, metadata: None, pool: None, action }
}

/// A large segment; its blocks are allocated and free by turns, the first of `sizes` allocated.
fn segment(addr: Addr, sizes: &[Bytes]) -> Segment {
    let mut next = addr;
    let blocks = sizes.iter().enumerate().map(|(place, &size)| {
        let state = if place % 2 == 0 { BlockState::Allocated } else { BlockState::Free };
        let block = Block { addr: next, size, requested: size, state, stack: None };
        next = next.offset(size);
        block
    });
    let blocks = blocks.filter(|block| block.size > Bytes::ZERO).collect();
    Segment {
        addr,
        size: sizes.iter().copied().sum(),
        stream: Stream(0),
        pool: PoolIdx(0),
        small: false,
        expandable: false,
        stack: None,
        blocks,
    }
}

fn snapshot(events: Vec<Event>, segments: Vec<Segment>) -> Snapshot {
    Snapshot {
        traces: vec![Trace { device: 0, events, segments }],
        pools: vec![PoolId::DEFAULT],
        fields: fields_of(Version::two(11)),
        ..Snapshot::default()
    }
}

#[test]
fn a_block_is_never_taken_to_be_more_than_a_mebibyte_longer_than_it_must_be() {
    // 3 MiB at the start of A were in use before the first event; the space above is passed over for 36.5 MiB and
    // again for 36 MiB. Half a MiB more explains the first, but not both.
    let half = Bytes::kib(512);
    let (first, second) = (Bytes::mib(36) + half, Bytes::mib(36));
    let snapshot = snapshot(
        vec![
            event(Action::Alloc, B, first),
            event(Action::Alloc, C, second),
            event(Action::FreeRequested, A, Bytes::mib(3)),
            event(Action::FreeCompleted, A, Bytes::mib(3)),
        ],
        vec![
            segment(A, &[Bytes::ZERO, Bytes::mib(40)]),
            segment(B, &[first, Bytes::mib(23) + half]),
            segment(C, &[second, Bytes::mib(25)]),
        ],
    );
    let recording = Recording::understand(snapshot.clone(), 0, Known::default());
    let length = recording.program.initial[0].blocks[0].size;
    assert_eq!(length, Bytes::mib(3) + half + Bytes(512));
    assert_eq!(recording.fidelity.divergence.map(|parted| parted.event.0), Some(1));
}

#[test]
fn a_limit_is_not_taken_for_the_card_because_a_later_request_exceeds_the_card() {
    // 1 GiB is held. 1 GiB more is refused with 70 GiB free, so by the limit; 200 GiB no card has.
    let (held, free) = (Bytes::gib(1), Addr(70 << 30));
    let grow = [event(Action::SegmentAlloc, A, held), event(Action::Alloc, A, held)];
    let by_limit = event(Action::Oom, free, Bytes::gib(1));
    let by_card = event(Action::Oom, free, Bytes::gib(200));
    let refusal = |ooms: &[Event]| {
        let snapshot = snapshot([&grow, ooms].concat(), vec![segment(A, &[held])]);
        Recording::understand(snapshot.clone(), 0, Known::default()).program.limit.refusal.unwrap()
    };
    assert_eq!(refusal(&[by_limit]), Refusal::Limit);
    assert_eq!(refusal(&[by_card]), Refusal::Device { capacity: Bytes::gib(71) });
    assert_eq!(refusal(&[by_limit, by_card]), Refusal::Limit);
    assert_eq!(refusal(&[by_card, by_limit]), Refusal::Limit);
}

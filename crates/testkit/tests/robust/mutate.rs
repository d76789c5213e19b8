//! Changes that keep a snapshot well-formed and make it absurd.

use oomph_testkit::generate::Random;
use oomph_trace::sidecar::Span;
use oomph_trace::{
    Action, Addr, BlockState, Bytes, PoolId, PoolIdx, RecordedSettings, Sidecar, Snapshot, Stream, Trace,
};

const ACTIONS: [Action; 10] = [
    Action::Alloc,
    Action::FreeRequested,
    Action::FreeCompleted,
    Action::SegmentAlloc,
    Action::SegmentFree,
    Action::SegmentMap,
    Action::SegmentUnmap,
    Action::Snapshot,
    Action::Oom,
    Action::Annotate,
];
const STATES: [BlockState; 3] = [BlockState::Allocated, BlockState::PendingFree, BlockState::Free];

/// Makes a few changes, some of them many times over; gives what they are.
pub(crate) fn mutate(snapshot: &mut Snapshot, seed: u64) -> String {
    let mut random = Random::new(seed ^ 0x0dd5);
    snapshot.pools.extend([PoolId(7, 0), PoolId(0, 7)]);
    let pools = snapshot.pools.len() as u64;
    let mut changes = Vec::new();
    for _ in 0..random.between(1, 5) {
        let times = [1, 1, 3, 20, 300][random.between(0, 5) as usize];
        let kind = random.between(0, 24);
        changes.push(format!("{kind}×{times}"));
        for _ in 0..times {
            let device = random.between(0, snapshot.traces.len() as u64) as usize;
            change(&mut snapshot.traces[device], kind, pools, &mut random);
        }
        if kind == 23 {
            snapshot.settings = Some(settings(&mut random));
            snapshot.fields.internal_metadata = random.one_in(2);
            snapshot.fields.pool_id = random.one_in(2);
            snapshot.fields.time_us = random.one_in(2);
        }
    }
    for trace in &mut snapshot.traces {
        trace.segments.sort_by_key(|segment| segment.addr);
    }
    if let Some(sidecar) = &mut snapshot.sidecar {
        for _ in 0..random.between(0, 40) {
            let kind = random.between(0, 12);
            changes.push(format!("s{kind}"));
            change_sidecar(sidecar, kind, &mut random);
        }
    }
    changes.join(" ")
}

fn change_sidecar(sidecar: &mut Sidecar, kind: u64, random: &mut Random) {
    let any = |count: usize, random: &mut Random| random.between(0, count.max(1) as u64) as usize;
    let (mark, class) = (any(sidecar.marks.len(), random), any(sidecar.classes.len(), random));
    let other = any(sidecar.marks.len(), random);
    let (marks, classes) = (&mut sidecar.marks, &mut sidecar.classes);
    match kind {
        0 if !marks.is_empty() => marks.swap(mark, other),
        1 if !marks.is_empty() => marks[mark].number = number(random, marks[mark].number),
        2 if !marks.is_empty() => marks[mark].time_us = number(random, marks[mark].time_us),
        3 if !marks.is_empty() => marks[mark].kind = marks[other].kind,
        4 if !marks.is_empty() => drop(marks.remove(mark)),
        5 if !classes.is_empty() => classes[class].time_us = number(random, classes[class].time_us),
        6 if !classes.is_empty() => classes[class].addr = Addr(number(random, classes[class].addr.0)),
        7 if !classes.is_empty() => classes[class].bytes = Bytes(number(random, classes[class].bytes.0)),
        8 => sidecar.stacks.push(Span {
            from_us: number(random, 1_794_705_255_000_100),
            to_us: random.one_in(2).then(|| number(random, 1_794_705_255_009_000)),
        }),
        9 => sidecar.stacks.clear(),
        10 => sidecar.devices.iter_mut().for_each(|card| {
            card.total = random.one_in(3).then(|| Bytes(number(random, 80 << 30)));
            card.limit = random.one_in(2).then(|| Bytes(number(random, 16 << 30)));
            card.free = random.one_in(3).then(|| Bytes(number(random, 60 << 30)));
            card.used_by_others = random.one_in(2).then(|| Bytes(number(random, 1 << 30)));
            card.stats.reserved = random.one_in(3).then(|| Bytes(number(random, 6 << 30)));
        }),
        11 => sidecar.ooms.iter_mut().for_each(|oom| oom.time_us = number(random, oom.time_us)),
        _ => {}
    }
}

fn change(trace: &mut Trace, kind: u64, pools: u64, random: &mut Random) {
    match kind {
        0..12 => change_events(trace, kind, pools, random),
        12..23 => change_segments(trace, kind, pools, random),
        _ => {}
    }
}

fn change_events(trace: &mut Trace, kind: u64, pools: u64, random: &mut Random) {
    let count = trace.events.len();
    if count == 0 {
        return;
    }
    let at = random.between(0, count as u64) as usize;
    let other = random.between(0, count as u64) as usize;
    let donor = trace.events[other];
    let event = &mut trace.events[at];
    match kind {
        0 => trace.events.swap(at, other),
        1 => {
            trace.events.remove(at);
        }
        2 => trace.events.insert(at, donor),
        3 => event.size = Bytes(number(random, event.size.0)),
        4 => event.addr = Addr(number(random, event.addr.0)),
        5 => event.action = ACTIONS[random.between(0, 10) as usize],
        6 => event.stream = Stream(random.between(0, 3000)),
        7 => event.pool = Some(PoolIdx(random.between(0, pools) as u16)),
        8 => event.addr = donor.addr,
        9 => event.size = donor.size,
        // Nothing but calls of the driver, or of one kind.
        10 => {
            let action = ACTIONS[random.between(0, 10) as usize];
            trace.events[at.min(other)..at.max(other)].iter_mut().for_each(|event| event.action = action);
        }
        _ => trace.events[at.min(other)..at.max(other)].reverse(),
    }
}

fn change_segments(trace: &mut Trace, kind: u64, pools: u64, random: &mut Random) {
    let count = trace.segments.len();
    if count == 0 {
        return;
    }
    let at = random.between(0, count as u64) as usize;
    let copy = trace.segments[random.between(0, count as u64) as usize].clone();
    let segment = &mut trace.segments[at];
    let blocks = segment.blocks.len();
    let block = random.between(0, blocks.max(1) as u64) as usize;
    match kind {
        12 => {
            trace.segments.remove(at);
        }
        13 => trace.segments.push(copy),
        14 => segment.size = Bytes(number(random, segment.size.0)),
        15 => segment.addr = Addr(number(random, segment.addr.0)),
        16 => (segment.small, segment.expandable) = (random.one_in(2), random.one_in(2)),
        17 => segment.stream = Stream(random.between(0, 3000)),
        18 => segment.pool = PoolIdx(random.between(0, pools) as u16),
        _ if block >= blocks => {}
        19 => {
            segment.blocks.remove(block);
        }
        20 => {
            let twin = segment.blocks[block];
            segment.blocks.insert(block, twin);
        }
        21 => {
            let block = &mut segment.blocks[block];
            block.size = Bytes(number(random, block.size.0));
            block.requested = Bytes(number(random, block.requested.0));
            block.addr = Addr(number(random, block.addr.0));
        }
        _ => segment.blocks[block].state = STATES[random.between(0, 3) as usize],
    }
}

/// A number that breaks arithmetic, or one near `value`. Few are such that the whole snapshot is refused for them.
fn number(random: &mut Random, value: u64) -> u64 {
    let refused = [1 << 60, 1 << 63, u64::MAX, u64::MAX - 511];
    let near = [value.wrapping_add(512), value.wrapping_sub(1 << 20), value.wrapping_mul(2), value / 2];
    let odd = [0, 1, 511, (1 << 20) + 1, 1 << 45, (1 << 48) - 512, 1 << 48];
    let of = |numbers: &[u64], random: &mut Random| numbers[random.between(0, numbers.len() as u64) as usize];
    match random.between(0, 200) {
        0 => of(&refused, random),
        1..100 => of(&near, random),
        _ => of(&odd, random),
    }
}

fn settings(random: &mut Random) -> RecordedSettings {
    let thresholds = [0.0, 0.6, 1e-300, f64::NAN, f64::INFINITY, -1.0];
    let confs = [
        "large_segment_size_mb:4294967295",
        "per_process_memory_fraction:0.0",
        "expandable_segments_reserve:1",
        "expandable_segments_reserve:21M",
        "throw_on_cudamalloc_oom:True,per_process_memory_fraction:0.01",
        "max_non_split_rounding_mb:20,,:,[[[",
    ];
    RecordedSettings {
        conf: Some(confs[random.between(0, confs.len() as u64) as usize].to_owned()),
        max_split_size: random.one_in(2).then(|| Bytes(number(random, 20 << 20))),
        garbage_collection_threshold: thresholds[random.between(0, 6) as usize],
        expandable_segments: random.one_in(2),
        roundup_power2_divisions: std::array::from_fn(|_| {
            [0, 1, 3, 4, u32::MAX][random.between(0, 5) as usize]
        }),
    }
}

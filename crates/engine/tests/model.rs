//! Random programs on PyTorch's allocator and on the naive one: the same addresses, blocks and counters after every
//! step, and every invariant holds.

use oomph_engine::simulated::SimulatedDevice;
use oomph_engine::torch::block::{BlockId, OwnerIdx, StreamIdx};
use oomph_engine::torch::options::{Options, Reserve};
use oomph_engine::torch::profile::{Profile, Version};
use oomph_engine::torch::rounding::Divisions;
use oomph_engine::torch::{Request, Torch};
use oomph_testkit::model::{Handle, Naive};
use oomph_testkit::recorder::Recorder;
use oomph_trace::Bytes;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

#[derive(Clone, Debug)]
enum Op {
    Alloc {
        size: u64,
        stream: u16,
        owner: u16,
    },
    /// Frees the n-th of what lives, counted round.
    Free(usize),
    FreeLater(usize),
    Complete(usize),
    EmptyCache,
    EmptyPool(u16),
    Abandon(u16),
}

#[derive(Clone, Debug)]
struct Case {
    minor: u32,
    options: Options,
    limit: Option<Bytes>,
    capacity: Option<Bytes>,
    ops: Vec<Op>,
}

/// Few different sizes, so that equal ones meet; each class and its edges.
fn sizes() -> impl Strategy<Value = u64> {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    prop_oneof![
        3 => prop::sample::select(vec![1, 512, 1000, 4 * KIB, 300 * KIB, 700 * KIB, MIB]),
        4 => prop::sample::select(vec![MIB + 1, 2 * MIB, 3 * MIB, 5 * MIB, 8 * MIB, 10 * MIB - KIB]),
        4 => prop::sample::select(vec![10 * MIB, 12 * MIB, 20 * MIB, 21 * MIB, 30 * MIB, 45 * MIB, 64 * MIB, 70 * MIB]),
        1 => 1..(90 * MIB),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let stream = prop_oneof![6 => Just(0u16), 2 => Just(1), 1 => Just(2)];
    let owner = prop_oneof![8 => Just(0u16), 1 => Just(1), 1 => Just(2)];
    let op = prop_oneof![
        40 => (sizes(), stream, owner).prop_map(|(size, stream, owner)| Op::Alloc { size, stream, owner }),
        30 => any::<usize>().prop_map(Op::Free),
        5 => any::<usize>().prop_map(Op::FreeLater),
        5 => any::<usize>().prop_map(Op::Complete),
        2 => Just(Op::EmptyCache),
        1 => (1u16..3).prop_map(Op::EmptyPool),
        1 => (1u16..3).prop_map(Op::Abandon),
    ];
    prop::collection::vec(op, 1..120)
}

prop_compose! {
    fn options(throws: bool)(
        expandable_segments in any::<bool>(),
        large in prop::sample::select(vec![20u64, 20, 32]),
        max_split in prop::sample::select(vec![None, None, Some(0u64), Some(12), Some(40)]),
        rounding in prop::sample::select(vec![None, None, Some(10u64)]),
        divisions in prop::sample::select(vec![0u32, 0, 2, 4]),
        threshold in prop::sample::select(vec![0.0, 0.0, 0.3, 0.7]),
        reserve in prop::sample::select(vec![
            None, None, Some(Reserve::Size(Bytes::mib(60))), Some(Reserve::Fraction(0.5)),
        ]),
    ) -> Options {
        let large_segment_size = Bytes::mib(large);
        Options {
            expandable_segments,
            // PyTorch accepts no less than the large segment.
            max_split_size: max_split.map(|more| large_segment_size + Bytes::mib(more)),
            max_non_split_rounding: rounding.map(|more| large_segment_size + Bytes::mib(more)),
            roundup_power2_divisions: Divisions::uniform(divisions),
            garbage_collection_threshold: threshold,
            large_segment_size,
            per_process_memory_fraction: None,
            throw_on_cudamalloc_oom: throws,
            expandable_segments_reserve: reserve,
        }
    }
}

fn cases(throws: bool) -> impl Strategy<Value = Case> {
    let bound = || prop_oneof![1 => Just(None), 3 => (20u64..400).prop_map(|mib| Some(Bytes::mib(mib)))];
    (11u32..14, options(throws), bound(), bound(), ops())
        .prop_map(|(minor, options, limit, capacity, ops)| Case { minor, options, limit, capacity, ops })
}

/// What one allocation is on both sides.
type Pair = (BlockId, Handle);

struct Both {
    torch: Torch<Recorder<SimulatedDevice>>,
    naive: Naive<Recorder<SimulatedDevice>>,
    live: Vec<Pair>,
    pending: Vec<Pair>,
    abandoned: [bool; 3],
}

impl Both {
    fn new(case: &Case) -> Both {
        let profile = Profile::of(Version::two(case.minor));
        let device = Recorder::new(SimulatedDevice::new(case.capacity));
        let mut torch = Torch::new(profile, case.options.clone(), case.limit, device.clone());
        let mut naive = Naive::new(profile, case.options.clone(), case.limit, device);
        for captures in [true, false] {
            torch.add_owner(captures);
            naive.add_owner(captures);
        }
        Both { torch, naive, live: Vec::new(), pending: Vec::new(), abandoned: [false; 3] }
    }

    fn step(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match *op {
            Op::Alloc { size, stream, owner } => {
                // Nobody asks an abandoned pool.
                let owner = if self.abandoned[usize::from(owner)] { 0 } else { owner };
                let request =
                    Request { size: Bytes(size), stream: StreamIdx(stream), owner: OwnerIdx(owner) };
                let (ours, naive) = (self.torch.malloc(request), self.naive.malloc(request));
                let addresses = (
                    ours.ok().map(|block| self.torch.block(block).addr),
                    naive.map(|handle| self.naive.addr(handle)),
                );
                prop_assert_eq!(addresses.0, addresses.1);
                self.live.extend(ours.ok().zip(naive));
            }
            Op::Free(n) => {
                if let Some((block, handle)) = take(&mut self.live, n) {
                    self.torch.free(block);
                    self.naive.free(handle);
                }
            }
            Op::FreeLater(n) => {
                if let Some((block, handle)) = take(&mut self.live, n) {
                    self.torch.free_later(block);
                    self.naive.free_later(handle);
                    self.pending.push((block, handle));
                }
            }
            Op::Complete(n) => {
                if let Some((block, handle)) = take(&mut self.pending, n) {
                    prop_assert!(self.torch.complete(block));
                    self.naive.complete(handle);
                }
            }
            Op::EmptyCache => {
                self.torch.empty_cache();
                self.naive.empty_cache();
            }
            Op::EmptyPool(owner) => {
                self.torch.empty_pool(OwnerIdx(owner));
                self.naive.empty_pool(owner);
            }
            Op::Abandon(owner) => {
                self.abandoned[usize::from(owner)] = true;
                self.torch.abandon(OwnerIdx(owner));
                self.naive.abandon(owner);
            }
        }
        // A release completes what was pending.
        let naive = &self.naive;
        self.pending.retain(|(_, handle)| naive.is_pending(*handle));
        self.compare()
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        if let Err(problem) = self.torch.check_invariants() {
            return Err(TestCaseError::fail(problem));
        }
        prop_assert_eq!(*self.torch.counters(), self.naive.counters());
        prop_assert_eq!(*self.torch.tally(), self.naive.tally());
        let ours = self.torch.segments();
        let ours = ours.iter().flat_map(|segment| segment.blocks.iter().map(move |block| (segment, block)));
        let ours: Vec<_> = ours
            .map(|(s, b)| {
                (b.addr, b.size, b.requested, b.state, s.stream.0, s.owner.0, s.small, s.expandable)
            })
            .collect();
        let naive = self.naive.blocks();
        let naive: Vec<_> = naive
            .iter()
            .map(|b| (b.addr, b.size, b.requested, b.state, b.stream, b.owner, b.small, b.expandable))
            .collect();
        prop_assert_eq!(ours, naive);
        Ok(())
    }
}

fn take(pairs: &mut Vec<Pair>, n: usize) -> Option<Pair> {
    (!pairs.is_empty()).then(|| pairs.swap_remove(n % pairs.len()))
}

fn run(case: &Case) -> Result<(), TestCaseError> {
    let mut both = Both::new(case);
    for op in &case.ops {
        both.step(op)?;
        let (ours, naive) = (both.torch.device_mut().take_calls(), both.naive.device_mut().take_calls());
        prop_assert_eq!(ours, naive);
    }
    Ok(())
}

fn check(cases: impl Strategy<Value = Case>, count: u32) {
    let config =
        Config { cases: count, failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    if let Err(failure) = runner.run(&cases, |case| run(&case)) {
        panic!("{failure}");
    }
}

#[test]
fn random_programs_run_alike_on_the_naive_allocator() {
    check(cases(false), 20_000);
}

#[test]
fn random_programs_run_alike_with_throw_on_cudamalloc_oom() {
    check(cases(true), 3000);
}

//! Allocator scripts: `a = alloc 3MiB; free a; b = alloc 512 on s1`, run on PyTorch's allocator over a simulated
//! device, with every invariant checked after every step, and drawn as text.

mod draw;
mod parse;

use std::collections::{BTreeMap, BTreeSet};

use oomph_engine::simulated::SimulatedDevice;
use oomph_engine::torch::block::{BlockId, OwnerIdx, State, StreamIdx};
use oomph_engine::torch::options::Options;
use oomph_engine::torch::profile::{Profile, Version};
use oomph_engine::torch::{Request, SegmentView, Torch};
use oomph_trace::{Action, Bytes, EventIdx};

use crate::recorder::{Call, Recorder};

pub use draw::exact;
pub use parse::{Pool, Step, parse};

/// What a script runs on.
#[derive(Clone, Debug)]
pub struct On {
    version: Version,
    conf: String,
    limit: Option<Bytes>,
    capacity: Option<Bytes>,
    total: Option<Bytes>,
}

impl On {
    /// PyTorch 2.`minor` with its default settings, on a device with any amount of memory.
    pub fn torch(minor: u32) -> On {
        On { version: Version::two(minor), conf: String::new(), limit: None, capacity: None, total: None }
    }

    /// With these settings, such as `expandable_segments:True`.
    #[must_use]
    pub fn conf(self, conf: &str) -> On {
        On { conf: conf.to_owned(), ..self }
    }

    /// PyTorch may hold this much.
    #[must_use]
    pub fn limit(self, limit: Bytes) -> On {
        On { limit: Some(limit), ..self }
    }

    /// The driver can give this much.
    #[must_use]
    pub fn capacity(self, capacity: Bytes) -> On {
        On { capacity: Some(capacity), ..self }
    }

    /// The device says that it has this much in all.
    #[must_use]
    pub fn total(self, total: Bytes) -> On {
        On { total: Some(total), ..self }
    }

    /// Runs `script`. Gives what the steps print and which requests fail, and then a drawing of the state.
    ///
    /// An error is a mistake in the script, an invalid setting or a broken invariant, with the step.
    pub fn draw(&self, script: &str) -> Result<String, String> {
        let steps = parse(script)?;
        let mut run = Run::new(self)?;
        for step in &steps {
            run.step(step).map_err(|problem| format!("{step:?}: {problem}"))?;
            run.torch.check_invariants().map_err(|problem| format!("after {step:?}: {problem}"))?;
            run.observe();
        }
        run.draw();
        Ok(run.lines.join("\n"))
    }
}

struct Run {
    torch: Torch<Recorder<SimulatedDevice>>,
    /// The blocks in use, including those whose free is pending.
    blocks: BTreeMap<String, BlockId>,
    /// Freed later, and completed by a release before the script said so.
    completed: BTreeSet<String>,
    pending: BTreeSet<String>,
    pools: Vec<String>,
    order: draw::Order,
    /// Calls of the driver that were not printed.
    calls: Vec<Call>,
    lines: Vec<String>,
}

impl Run {
    fn new(on: &On) -> Result<Run, String> {
        let profile = Profile::of(on.version);
        let options = Options::parse(&on.conf, &profile).map_err(|error| error.to_string())?;
        let mut device = SimulatedDevice::new(on.capacity);
        if let Some(total) = on.total {
            device = device.with_total(total);
        }
        Ok(Run {
            torch: Torch::new(profile, options, on.limit, Recorder::new(device)),
            blocks: BTreeMap::new(),
            completed: BTreeSet::new(),
            pending: BTreeSet::new(),
            pools: vec![String::new()],
            order: draw::Order::default(),
            calls: Vec::new(),
            lines: Vec::new(),
        })
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        self.torch.set_now(EventIdx(self.lines.len() as u32));
        match step {
            Step::Alloc { names, size, stream, pool } => {
                let owner = pool.as_ref().map_or(OwnerIdx::DEFAULT, |pool| self.owner(pool));
                let request = Request { size: *size, stream: StreamIdx(*stream), owner };
                for name in names {
                    if self.blocks.contains_key(name) {
                        return Err(format!("`{name}` is in use"));
                    }
                    let served = self.torch.malloc(request);
                    self.forget_completed();
                    self.observe();
                    match served {
                        Ok(block) => {
                            self.blocks.insert(name.clone(), block);
                        }
                        Err(_) => self.lines.push(format!("{name}: out of memory")),
                    }
                }
            }
            Step::Free(names) => {
                for name in names {
                    let block = self.blocks.remove(name).ok_or(format!("`{name}` is not in use"))?;
                    self.torch.free(block);
                }
            }
            Step::FreeLater(names) => {
                for name in names {
                    let block = self.blocks.get(name).ok_or(format!("`{name}` is not in use"))?;
                    self.torch.free_later(*block);
                    self.pending.insert(name.clone());
                }
            }
            Step::Complete(names) => {
                for name in names {
                    if self.completed.remove(name) {
                        continue;
                    }
                    let block = self.blocks.remove(name).ok_or(format!("`{name}` is not in use"))?;
                    if !self.pending.remove(name) || !self.torch.complete(block) {
                        return Err(format!("`{name}` waits for nothing"));
                    }
                }
            }
            Step::EmptyCache => {
                self.torch.empty_cache();
                self.forget_completed();
            }
            Step::Abandon(pool) => {
                let owner = self.owner(pool);
                self.torch.abandon(owner);
            }
            Step::Draw => self.draw(),
            Step::Counters => {
                let held = self.torch.counters();
                self.lines.push(format!(
                    "requested {}, allocated {}, active {}, reserved {}",
                    exact(held.requested),
                    exact(held.allocated),
                    exact(held.active),
                    exact(held.reserved)
                ));
            }
            Step::Tally => {
                let tally = self.torch.tally();
                self.lines.push(format!(
                    "retries {}, ooms {}, grows {}, shrinks {}",
                    tally.retries, tally.ooms, tally.driver_grows, tally.driver_shrinks
                ));
            }
            Step::Driver => self.print_driver_calls(),
        }
        Ok(())
    }

    /// A release completes pending frees; after that their blocks may serve other requests.
    fn forget_completed(&mut self) {
        let torch = &self.torch;
        let blocks = &mut self.blocks;
        let (pending, completed) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|name: &String| torch.block(blocks[name]).state == State::PendingFree);
        self.pending = pending;
        for name in &completed {
            blocks.remove(name);
        }
        self.completed.extend::<BTreeSet<String>>(completed);
    }

    fn print_driver_calls(&mut self) {
        let shown = std::mem::take(&mut self.calls).into_iter().map(|call| {
            let verb = match call.action {
                Action::SegmentAlloc => "malloc",
                Action::SegmentFree => "free",
                Action::SegmentMap => "map",
                Action::SegmentUnmap => "unmap",
                other => other.name(),
            };
            format!("{verb} {}", exact(call.size))
        });
        let shown: Vec<String> = shown.collect();
        self.lines.push(if shown.is_empty() { "no calls".to_owned() } else { shown.join(", ") });
    }

    fn owner(&mut self, pool: &Pool) -> OwnerIdx {
        let known = self.pools.iter().position(|name| *name == pool.name);
        known.map_or_else(
            || {
                self.pools.push(pool.name.clone());
                self.torch.add_owner(pool.captures)
            },
            |index| OwnerIdx(index as u16),
        )
    }

    /// The segments after a step, and the order to draw them in.
    fn observe(&mut self) -> (Vec<SegmentView>, Vec<usize>) {
        for call in self.torch.device_mut().take_calls() {
            if call.action == Action::SegmentFree {
                self.order.forget(call.addr);
            }
            self.calls.push(call);
        }
        let segments = self.torch.segments();
        let ranks = self.order.observe(&segments);
        (segments, ranks)
    }

    fn draw(&mut self) {
        let (segments, ranks) = self.observe();
        let names = self.blocks.iter().map(|(name, block)| (*block, name.clone())).collect();
        let pools = &self.pools;
        let pool = |segment: &SegmentView| match segment.owner {
            OwnerIdx::DEFAULT => String::new(),
            OwnerIdx(index) => format!(" {}", pools[usize::from(index)]),
        };
        self.lines.push(draw::draw(&segments, &ranks, &names, pool));
    }
}

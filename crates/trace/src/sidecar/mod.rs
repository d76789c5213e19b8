//! What oomph's recorder adds to a snapshot: who ran, on what, in which step and phase, and what each storage was for.
//!
//! It is the dictionary under the key `oomph`; docs/reference/recording.md has every field. Whatever is missing or of
//! another kind than expected is absent here: a recording is read as far as it goes.

mod read;

use crate::units::{Addr, Bytes};

pub use read::Node;

/// What the recorder knew when it wrote the recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sidecar {
    /// Who recorded what.
    pub identity: Identity,
    /// When recording began, in microseconds since the epoch, the clock of [`Event::time_us`](crate::Event::time_us).
    pub started_us: Option<u64>,
    /// When this was written.
    pub written_us: Option<u64>,
    /// What it was written for.
    pub why: Option<Why>,
    /// The framework that was imported.
    pub framework: Option<Framework>,
    /// The versions that are known.
    pub versions: Versions,
    /// The variables that set the allocator.
    pub settings: Variables,
    /// The cards, as the driver and the allocator described them when this was written.
    pub devices: Vec<Card>,
    /// Where steps and phases begin and end, by time.
    pub marks: Vec<Mark>,
    /// When stacks were recorded; events outside carry none.
    pub stacks: Vec<Span>,
    /// What storages were for, by time.
    pub classes: Vec<Classed>,
    /// The host's memory.
    pub host: Option<Host>,
    /// The failures that the recorder saw.
    pub ooms: Vec<SeenOom>,
    /// The exception that ended the program, or the last that reported a lack of memory.
    pub exception: Option<Exception>,
    /// Whether the program ended with running out of memory: nobody caught it, or whoever did gave up.
    pub ended_in_oom: bool,
}

impl Sidecar {
    /// The card of this number.
    pub fn card(&self, device: i32) -> Option<&Card> {
        self.devices.iter().find(|card| i64::from(card.index) == i64::from(device))
    }
}

/// Who recorded what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The version of oomph.
    pub oomph: Option<String>,
    /// The run's name, which is its folder's.
    pub run: Option<String>,
    /// The process's name in the run: `main`, `rank0`, `pid4711`.
    pub name: Option<String>,
    /// The process.
    pub pid: Option<u64>,
    /// What it was started with.
    pub argv: Vec<String>,
    /// Its number among all processes of the job.
    pub rank: Option<u32>,
    /// Its number among those of this machine.
    pub local_rank: Option<u32>,
    /// How many processes the job has.
    pub world_size: Option<u32>,
}

/// What a recording was written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The process began.
    Start,
    /// Time had passed.
    Beat,
    /// A request failed.
    Oom,
    /// The process ended.
    Exit,
    /// A signal asked for it.
    Signal,
    /// A person asked for it.
    Dump,
}

impl Why {
    const ALL: [Why; 6] = [Why::Start, Why::Beat, Why::Oom, Why::Exit, Why::Signal, Why::Dump];

    /// The word in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Why::Start => "start",
            Why::Beat => "beat",
            Why::Oom => "oom",
            Why::Exit => "exit",
            Why::Signal => "signal",
            Why::Dump => "dump",
        }
    }
}

/// The framework of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framework {
    /// PyTorch.
    Torch,
    /// JAX.
    Jax,
    /// TensorFlow.
    TensorFlow,
}

impl Framework {
    const ALL: [Framework; 3] = [Framework::Torch, Framework::Jax, Framework::TensorFlow];

    /// The word in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Framework::Torch => "torch",
            Framework::Jax => "jax",
            Framework::TensorFlow => "tensorflow",
        }
    }
}

/// Versions as they print themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    /// Of Python.
    pub python: Option<String>,
    /// Of PyTorch, such as `2.11.0+cu130`.
    pub torch: Option<String>,
    /// Of CUDA, as PyTorch was built.
    pub cuda: Option<String>,
    /// Of the driver.
    pub driver: Option<String>,
}

/// The environment variables that set PyTorch's allocator, as the process found them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    /// `PYTORCH_ALLOC_CONF`.
    pub alloc_conf: Option<String>,
    /// `PYTORCH_CUDA_ALLOC_CONF`.
    pub cuda_alloc_conf: Option<String>,
}

/// A card and what was on it when the recording was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Card {
    /// Its number.
    pub index: u32,
    /// What it is called.
    pub name: Option<String>,
    /// Its memory.
    pub total: Option<Bytes>,
    /// Its compute capability.
    pub capability: Option<(u32, u32)>,
    /// The driver's name for it.
    pub uuid: Option<String>,
    /// The share of it that this process may hold, if one was set.
    pub fraction: Option<f64>,
    /// What this process may hold: `fraction` × `total`, cut to whole bytes, where a share below 1 was set; else the
    /// limit that the recorder set itself, if it did.
    pub limit: Option<Bytes>,
    /// What the driver called free.
    pub free: Option<Bytes>,
    /// What other processes held.
    pub used_by_others: Option<Bytes>,
    /// The processes on it.
    pub processes: Vec<Process>,
    /// What the allocator says of itself.
    pub stats: Stats,
}

/// A process on a card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u64,
    /// What it is called.
    pub name: Option<String>,
    /// What it holds.
    pub bytes: Option<Bytes>,
}

/// The allocator's own statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The peak of what was asked for.
    pub peak_requested: Option<Bytes>,
    /// The peak of what served an allocation.
    pub peak_allocated: Option<Bytes>,
    /// The peak of the same and of what waits for another stream.
    pub peak_active: Option<Bytes>,
    /// The peak of what was held from the driver.
    pub peak_reserved: Option<Bytes>,
    /// What served an allocation when this was written.
    pub allocated: Option<Bytes>,
    /// What was held from the driver when this was written.
    pub reserved: Option<Bytes>,
    /// How often the cache was dropped for a request.
    pub retries: Option<u64>,
    /// How many requests failed.
    pub ooms: Option<u64>,
}

/// A step or a phase begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub time_us: u64,
    /// What.
    pub kind: MarkKind,
    /// The step's number, from 0; for other kinds whatever the recorder counts.
    pub number: u64,
}

/// What a mark marks. What lies between the others is forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MarkKind {
    /// An optimizer step begins, the first at the first use of the card.
    Step,
    /// A backward pass begins.
    Backward,
    /// It ends.
    BackwardEnd,
    /// The optimizer begins.
    Optimizer,
    /// It ends.
    OptimizerEnd,
    /// The model is set to training.
    Train,
    /// The model is set to evaluation.
    Eval,
}

impl MarkKind {
    const ALL: [MarkKind; 7] = [
        MarkKind::Step,
        MarkKind::Backward,
        MarkKind::BackwardEnd,
        MarkKind::Optimizer,
        MarkKind::OptimizerEnd,
        MarkKind::Train,
        MarkKind::Eval,
    ];

    /// The word in the file.
    pub const fn name(self) -> &'static str {
        match self {
            MarkKind::Step => "step",
            MarkKind::Backward => "backward",
            MarkKind::BackwardEnd => "backward_end",
            MarkKind::Optimizer => "optimizer",
            MarkKind::OptimizerEnd => "optimizer_end",
            MarkKind::Train => "train",
            MarkKind::Eval => "eval",
        }
    }
}

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first microsecond.
    pub from_us: u64,
    /// The first that is no more of it; `None`: it was going on when the recording was written.
    pub to_us: Option<u64>,
}

impl Span {
    /// Whether this moment is in it.
    pub fn holds(self, time_us: u64) -> bool {
        self.from_us <= time_us && self.to_us.is_none_or(|to| time_us < to)
    }
}

/// What the storage that began at an address was for at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classed {
    /// When that was so.
    pub time_us: u64,
    /// On which card.
    pub device: u32,
    /// Where the storage begins.
    pub addr: Addr,
    /// How long it is.
    pub bytes: Bytes,
    /// What for.
    pub class: StorageClass,
}

/// What a storage is for, as its owner tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StorageClass {
    /// A module's parameters.
    Weights,
    /// Their gradients.
    Gradients,
    /// What an optimizer keeps.
    Optimizer,
    /// A module's buffers.
    Buffers,
    /// The scratch memory of libraries.
    Workspaces,
}

impl StorageClass {
    const ALL: [StorageClass; 5] = [
        StorageClass::Weights,
        StorageClass::Gradients,
        StorageClass::Optimizer,
        StorageClass::Buffers,
        StorageClass::Workspaces,
    ];

    /// The word in the file.
    pub const fn name(self) -> &'static str {
        match self {
            StorageClass::Weights => "weights",
            StorageClass::Gradients => "gradients",
            StorageClass::Optimizer => "optimizer",
            StorageClass::Buffers => "buffers",
            StorageClass::Workspaces => "workspaces",
        }
    }
}

/// The host's memory when the recording was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// What the process held.
    pub rss: Option<Bytes>,
    /// The most it ever held.
    pub peak_rss: Option<Bytes>,
    /// What the machine had left.
    pub available: Option<Bytes>,
    /// What it has.
    pub total: Option<Bytes>,
    /// What the process's control group may hold.
    pub cgroup_limit: Option<Bytes>,
    /// What that group held.
    pub cgroup_current: Option<Bytes>,
    /// How many of its processes the kernel has killed for memory.
    pub cgroup_oom_kills: Option<u64>,
    /// The size of `/dev/shm`.
    pub shm_total: Option<Bytes>,
    /// What was free of it.
    pub shm_free: Option<Bytes>,
    /// The same figures over time.
    pub samples: Vec<HostSample>,
}

/// The host's memory at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostSample {
    /// When.
    pub time_us: u64,
    /// What the process held.
    pub rss: Bytes,
    /// What the machine had left.
    pub available: Bytes,
}

/// A failure that the recorder saw, whether or not the program caught it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenOom {
    /// When.
    pub time_us: u64,
    /// On which card.
    pub device: u32,
    /// What was asked for.
    pub requested: Option<Bytes>,
    /// The card's memory.
    pub total: Option<Bytes>,
    /// What the driver called free.
    pub free: Option<Bytes>,
    /// What the exception said.
    pub text: Option<String>,
    /// The stack, innermost first.
    pub frames: Vec<SeenFrame>,
}

/// One line of a stack that the recorder walked itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenFrame {
    /// The source file.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The function.
    pub function: String,
}

/// An exception.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exception {
    /// Its class.
    pub class: Option<String>,
    /// What it says.
    pub text: Option<String>,
    /// Its traceback, as Python prints it.
    pub traceback: Option<String>,
    /// Whether it ended the program.
    pub uncaught: bool,
    /// Whether the recorder took it for a lack of memory, by a few words; its reader knows more of them.
    pub oom: bool,
    /// It, and what it was raised from or while handling.
    pub chain: Vec<Link>,
}

/// One exception of a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Its classes as Python prints them, its own first, then those it derives from.
    pub classes: Vec<String>,
    /// What it says.
    pub text: String,
}

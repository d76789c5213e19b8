//! What oomph's recorder adds to a snapshot: who ran, on what, in which step and phase, and what each storage was for.
//!
//! It is the dictionary under the key `oomph`; docs/reference/recording.md has every field. A field that is missing or
//! of the wrong type is missing here, and all others are still read.

mod read;

mod modules;

mod notes;

use schemars::JsonSchema;
use serde::Serialize;

use crate::named;
use crate::units::{Addr, Bytes};
use read::{Field, dicts, lists, plain, value_or, words};

pub use modules::{ModuleNotes, ModuleTurn};
pub use notes::{GrowingNote, HurryEnd, HurryNote, MeasureNotes};
pub use read::Node;

dicts! {
    /// What the recorder knew when it wrote the recording. In the order of reading: what a verdict needs most comes
    /// first, in case texts are too long.
    Sidecar {
        /// The exception that ended the program, or the last that reported a lack of memory.
        exception: Option<Exception>,
        /// Whether the program ended because it ran out of memory: the error was not caught, or the program gave up after it.
        ended_in_oom: bool,
        /// The failures that the recorder saw.
        ooms: Vec<SeenOom>,
        /// The versions that are known.
        versions: Versions,
        /// The variables that set the allocator.
        settings: Variables,
        /// Who recorded what.
        identity(..): Identity,
        /// The cards, as the driver and the allocator described them when this was written.
        devices: Vec<Card>,
        /// When recording began, in microseconds since the epoch, the clock of
        /// [`Event::time_us`](crate::Event::time_us).
        started_us: Option<u64>,
        /// When this was written.
        written_us: Option<u64>,
        /// Why it was written.
        why: Option<Why>,
        /// The framework that was imported.
        framework: Option<Framework>,
        /// Where steps and phases begin and end, by time.
        marks: Vec<Mark>,
        /// When stacks were recorded; events at other times have none.
        stacks: Vec<Span>,
        /// What storages were for, by time.
        classes: Vec<ClassSample>,
        /// The modules of the program's models and when each was at work; a plan's recorder follows them.
        modules: Option<ModuleNotes>,
        /// Who kept storages alive when memory last ran out.
        keepers: Option<Keepers>,
        /// What the cells of a notebook say: they are in no file.
        cells: Vec<Cell>,
        /// The host's memory.
        host: Option<Host>,
        /// What a process that runs for a plan tells of itself.
        plan: Option<PlanNotes>,
        /// What a process with measures against its need of memory tells of them.
        measures: Option<MeasureNotes>,
        /// What the program's own lines said that asked for memory: their files may have been edited since.
        lines: Vec<Cell>,
    }

    /// Who recorded what.
    #[derive(Serialize, JsonSchema)]
    Identity {
        /// The version of oomph.
        #[serde(skip)]
        oomph: Option<String>,
        /// The run's name, which is its folder's.
        run: Option<String>,
        /// The process's name in the run: `main`, `rank0`, `pid4711`.
        name: Option<String>,
        /// The process.
        pid: Option<u64>,
        /// Its command line.
        argv: Vec<String>,
        /// Its number among all processes of the job.
        rank: Option<u32>,
        /// Its number among those of this machine.
        local_rank: Option<u32>,
        /// How many processes the job has.
        world_size: Option<u32>,
    }

    /// Versions as they print themselves.
    #[derive(Serialize, JsonSchema)]
    Versions {
        /// Of Python.
        python: Option<String>,
        /// Of PyTorch, such as `2.11.0+cu130`.
        torch: Option<String>,
        /// Of CUDA, as PyTorch was built.
        cuda: Option<String>,
        /// Of the driver.
        driver: Option<String>,
    }

    /// The environment variables that set PyTorch's allocator, as the process found them.
    Variables {
        /// `PYTORCH_ALLOC_CONF`.
        alloc_conf("PYTORCH_ALLOC_CONF"): Option<String>,
        /// `PYTORCH_CUDA_ALLOC_CONF`.
        cuda_alloc_conf("PYTORCH_CUDA_ALLOC_CONF"): Option<String>,
    }

    /// A card and what was on it when the recording was written.
    Card {
        /// Its number.
        index: u32,
        /// What it is called.
        name: Option<String>,
        /// Its memory.
        total: Option<Bytes>,
        /// Its compute capability.
        capability: Option<(u32, u32)>,
        /// The driver's name for it.
        uuid: Option<String>,
        /// The share of it that this process may hold, if one was set.
        fraction: Option<f64>,
        /// What this process may hold: `fraction` × `total`, cut to whole bytes, where a share below 1 was set; else the
        /// limit that the recorder set itself, if it did.
        limit: Option<Bytes>,
        /// What the driver called free.
        free: Option<Bytes>,
        /// What other processes held.
        used_by_others: Option<Bytes>,
        /// The processes on it.
        processes: Vec<Process>,
        /// What the allocator says of itself.
        stats(..): Stats,
        /// What it said at the ends of the last steps, oldest first.
        history: Vec<MemorySample>,
        /// What models and optimizers hold on it, where they are known.
        by_class: Option<HeldByClass>,
    }

    /// What models and optimizers hold on a card.
    #[derive(Copy, Serialize, JsonSchema)]
    HeldByClass {
        /// Parameters of modules.
        weights: Bytes = Bytes::ZERO,
        /// Their gradients.
        gradients: Bytes = Bytes::ZERO,
        /// What optimizers keep.
        optimizer: Bytes = Bytes::ZERO,
        /// Buffers of modules.
        buffers: Bytes = Bytes::ZERO,
    }

    /// A process on a card.
    Process {
        /// Its number.
        pid: u64,
        /// What it is called.
        name: Option<String>,
        /// What it holds.
        bytes: Option<Bytes>,
    }

    /// The allocator's own statistics.
    Stats {
        /// The peak of what was asked for.
        peak_requested: Option<Bytes>,
        /// The peak of what served an allocation.
        peak_allocated: Option<Bytes>,
        /// The peak of the same and of what waits for another stream.
        peak_active: Option<Bytes>,
        /// The peak of what was held from the driver.
        peak_reserved: Option<Bytes>,
        /// What served an allocation when this was written.
        allocated: Option<Bytes>,
        /// What was held from the driver when this was written.
        reserved: Option<Bytes>,
        /// How often the cache was dropped for a request.
        retries: Option<u64>,
        /// How many requests failed.
        ooms: Option<u64>,
    }

    /// The host's memory when the recording was written.
    #[derive(Serialize, JsonSchema)]
    Host {
        /// What the process held.
        rss: Option<Bytes>,
        /// The most it ever held.
        peak_rss: Option<Bytes>,
        /// What the machine had left.
        available: Option<Bytes>,
        /// What it has.
        total: Option<Bytes>,
        /// What the process's control group may hold.
        cgroup_limit: Option<Bytes>,
        /// What that group held.
        cgroup_current: Option<Bytes>,
        /// How many of its processes the kernel has killed for memory.
        cgroup_oom_kills: Option<u64>,
        /// The size of `/dev/shm`.
        shm_total: Option<Bytes>,
        /// What was free of it.
        shm_free: Option<Bytes>,
        /// The same figures over time.
        #[serde(skip)]
        samples: Vec<HostSample>,
    }

    /// A failure that the recorder saw, whether or not the program caught it.
    SeenOom {
        /// When.
        time_us: u64,
        /// On which card.
        device: u32 = 0,
        /// What was asked for.
        requested: Option<Bytes>,
        /// The card's memory.
        total: Option<Bytes>,
        /// What the driver called free.
        free: Option<Bytes>,
        /// What the exception said.
        text: Option<String>,
        /// The stack, innermost first.
        frames: Vec<SeenFrame>,
        /// What the first lines of it say; empty where a file is not there.
        code: Vec<String>,
        /// Whether operations were recorded for a backward pass: no `no_grad` was in force.
        grad: bool,
    }

    /// Who kept storages alive, found by following the program's variables.
    Keepers {
        /// When.
        time_us: u64,
        /// The variables that lead to storages.
        holders: Vec<Keeper>,
        /// The storages that Python knows. Others that are in use belong to graphs, or to C++.
        storages: Vec<KeptStorage>,
        /// Whether the search ended before it had seen all.
        cut: bool,
        /// The parameters that get gradients.
        trained: Option<Bytes>,
        /// The optimizers.
        optimizers: Vec<Optimizer>,
    }

    /// An optimizer and what it keeps.
    Optimizer {
        /// Its class.
        name: String,
        /// The parameters that it updates.
        parameters: Bytes = Bytes::ZERO,
        /// What it keeps for them by now.
        state: Bytes = Bytes::ZERO,
        /// What it keeps for them after its first update.
        whole: Bytes = Bytes::ZERO,
    }

    /// A variable that leads to storages: the outermost container on the way.
    Keeper {
        /// How to reach it: `results`, `model.maps`.
        path: String,
        /// Its class: `list`, `Adam`; empty for a tensor.
        class: String = String::new(),
        /// The function whose variable it is, such as `search(), train.py:38`; empty for a global.
        place: String = String::new(),
        /// The shape and type of the largest tensor under it.
        shape: String = String::new(),
        /// The largest graph that a tensor under it keeps, in operations; counted up to a bound.
        graph: u64 = 0,
    }

    /// A cell of a notebook, or a file.
    Cell {
        /// Its name in stacks: `In[3]`, or a path.
        name: String,
        /// Its lines; empty where no stack names them.
        code: Vec<String>,
    }

    /// One line of a stack that the recorder walked itself.
    SeenFrame {
        /// The source file.
        file("filename"): String,
        /// The line.
        line: u32 = 0,
        /// The function.
        function("name"): String = String::new(),
    }

    /// What a process that runs for a plan tells of itself.
    PlanNotes {
        /// That it ended before the script did.
        stopped: Option<StopNote>,
        /// That loops over a DataLoader were cut once the peak stood still.
        hurry: Option<HurryNote>,
        /// Where the program waits for gradients.
        backward: Option<StackNote>,
        /// Where the program first saved something, which was not done.
        saved: Option<StackNote>,
        /// Questions that were answered with an invented value.
        questions("asked"): Vec<Question>,
        /// What was done otherwise than the script says.
        remarks: Vec<String>,
        /// The world of ranks that it joined.
        world: Option<WorldNote>,
        /// The address that it asked for in vain, where it failed for want of a network.
        wanted: Option<String>,
        /// The most of the host's memory that PyTorch had pinned; `None` where its version does not tell.
        pinned: Option<Bytes>,
        /// Workspaces of convolutions that are known only nearly.
        doubts: Vec<Doubt>,
        /// The most that padding a matrix product takes of which it is not known whether it is padded.
        padded: u64 = 0,
    }

    /// A rank's place in its world.
    WorldNote {
        /// Its number.
        rank: u32,
        /// How many ranks there are.
        size: u32,
        /// The ranks that have the stages of its pipeline, in their order.
        stages: Vec<u32>,
        /// The ranks that it waited for in vain: they had sent nothing yet.
        missing: Vec<u32>,
        /// How many of NCCL's communicators it made.
        communicators: u32 = 0,
        /// What DDP's first buckets hold until NCCL lets go of them, in bytes: they may be held beside the second ones.
        late: u64 = 0,
        /// What two of FSDP1's units hold when their parameters are gathered, in bytes: so much more may be held.
        gathered: u64 = 0,
    }

    /// That a process ended before its script did.
    StopNote {
        /// Why.
        why: Option<Stop>,
    }

    /// The stack at a moment of the program.
    StackNote {
        /// Innermost first.
        frames: Vec<SeenFrame>,
    }

    /// A workspace that is known only nearly.
    Doubt {
        /// What was asked for it.
        bytes: u64 = 0,
        /// By how much that may be wrong.
        by: u64 = 0,
    }

    /// A question of the script that a phantom GPU cannot answer.
    Question {
        /// What was wanted: `item`, `nonzero`, …
        kind: String,
        /// Where, innermost first.
        frames: Vec<SeenFrame>,
        /// For a length: the most bytes that depend on it.
        bytes: u64 = 0,
    }

    /// An exception.
    #[derive(Serialize, JsonSchema)]
    Exception {
        /// Its class.
        #[serde(rename = "type")]
        class("type"): Option<String>,
        /// What it says.
        text: Option<String>,
        /// Its traceback, as Python prints it.
        #[serde(skip)]
        traceback: Option<String>,
        /// Whether it ended the program.
        uncaught: bool,
        /// Whether the recorder took it for a lack of memory, by a few words; its reader knows more of them.
        oom: bool,
        /// It, and what it was raised from or while handling.
        #[serde(skip)]
        chain: Vec<Link>,
    }

    /// One exception of a chain.
    Link {
        /// Its classes as Python prints them, its own first, then those it derives from.
        classes: Vec<String>,
        /// What it says.
        text: String,
    }
}

impl Sidecar {
    /// What a line of a notebook's cell or of a file said, where it was noted.
    pub fn text_of(&self, name: &str, line: u32) -> Option<&str> {
        let cell = self.cells.iter().chain(&self.lines).find(|cell| cell.name == name)?;
        let code = cell.code.get(usize::try_from(line).ok()?.checked_sub(1)?)?;
        Some(code.trim()).filter(|code| !code.is_empty())
    }
}

lists! {
    /// The beginning or the end of a step or a phase.
    Mark {
        /// When.
        time_us: u64,
        /// Of what.
        kind: MarkKind,
        /// The step's number, from 0; for other kinds a count of the recorder's own.
        number: u64 = 0,
    }

    /// A stretch of time.
    Span {
        /// Its first microsecond.
        from_us: u64,
        /// The first microsecond after it; `None`: it had not ended when the recording was written.
        to_us: Option<u64>,
    }

    /// What the storage at an address was for at one time.
    ClassSample {
        /// When.
        time_us: u64,
        /// On which card.
        device: u32,
        /// Where the storage begins.
        addr: Addr,
        /// How long it is.
        bytes: Bytes,
        /// What it was for.
        class: StorageClass,
        /// The number of the module that it belongs to, where modules are told apart.
        module: Option<u32>,
    }

    /// A storage that Python knows.
    KeptStorage {
        /// On which card.
        device: u32,
        /// Where it begins.
        addr: Addr,
        /// How long it is.
        bytes: Bytes,
        /// Its place among the holders; `None`: no variable leads to it.
        keeper: Option<u64>,
        /// Whether a tensor of it is the result of a graph.
        has_graph: bool,
        /// Whether only objects that refer to each other keep it.
        in_cycle: bool,
    }

    /// What PyTorch's allocator said of a card when a step had ended.
    MemorySample {
        /// When.
        time_us: u64,
        /// How many steps were done.
        step: u64,
        /// What served allocations.
        allocated: Bytes,
        /// What was held from the driver.
        reserved: Bytes,
        /// The most that had served allocations by then.
        peak_allocated: Bytes,
    }

    /// The host's memory at one time.
    HostSample {
        /// When.
        time_us: u64,
        /// What the process held.
        rss: Bytes,
        /// What the machine had left.
        available: Bytes,
    }
}

words! {
    /// Why a recording was written.
    Why {
        /// The process began.
        Start = "start",
        /// Time had passed.
        Beat = "beat",
        /// A request failed.
        Oom = "oom",
        /// The process ended.
        Exit = "exit",
        /// A signal asked for it.
        Signal = "signal",
        /// A person asked for it.
        Dump = "dump",
    }

    /// The framework of a process.
    Framework {
        /// PyTorch.
        Torch = "torch",
        /// JAX.
        Jax = "jax",
        /// TensorFlow.
        TensorFlow = "tensorflow",
    }

    /// What a mark is for. Between the others, the program goes forward.
    MarkKind {
        /// An optimizer step begins, the first at the first use of the card.
        Step = "step",
        /// A backward pass begins.
        Backward = "backward",
        /// It ends.
        BackwardEnd = "backward_end",
        /// The optimizer begins.
        Optimizer = "optimizer",
        /// It ends.
        OptimizerEnd = "optimizer_end",
        /// The model is set to training.
        Train = "train",
        /// The model is set to evaluation.
        Eval = "eval",
    }

    /// Why a process that runs for a plan ended before its script did.
    Stop {
        /// The peak stood still.
        Repeats = "repeats",
        /// So many steps were wanted.
        Steps = "steps",
        /// It took too long.
        Time = "time",
    }

    /// What a storage is for, as its owner says.
    StorageClass {
        /// A module's parameters.
        Weights = "weights",
        /// Their gradients.
        Gradients = "gradients",
        /// What an optimizer keeps.
        Optimizer = "optimizer",
        /// A module's buffers.
        Buffers = "buffers",
        /// The scratch memory of libraries.
        Workspaces = "workspaces",
    }
}

impl Sidecar {
    /// The card of this number.
    pub fn card(&self, device: i32) -> Option<&Card> {
        self.devices.iter().find(|card| i64::from(card.index) == i64::from(device))
    }
}

impl Span {
    /// Whether this moment is in it.
    pub fn holds(self, time_us: u64) -> bool {
        self.from_us <= time_us && self.to_us.is_none_or(|to| time_us < to)
    }
}

//! What oomph's recorder adds to documents: who ran, and how it ended as far as the recorder saw.

use oomph_diagnose::card;
use oomph_diagnose::classes::{ByClass, Class};
use oomph_diagnose::explain::Explanation;
use oomph_trace::sidecar::{self, Framework, Why};
use oomph_trace::{Bytes, Sidecar};

document! {
    /// The process that was recorded.
    pub(super) fn process(sidecar: &Sidecar) -> Process with (identity = &sidecar.identity) {
        /// The run's name, which is its folder's.
        run: Option<String> = identity.run.clone(),
        /// The process's name in the run: `main`, `rank0`, `pid4711`.
        name: Option<String> = identity.name.clone(),
        /// Its number.
        pid: Option<u64> = identity.pid,
        /// What it was started with.
        argv: Vec<String> = identity.argv.clone(),
        /// Its number among all processes of the job.
        rank: Option<u32> = identity.rank,
        /// Its number among those of this machine.
        local_rank: Option<u32> = identity.local_rank,
        /// How many processes the job has.
        world_size: Option<u32> = identity.world_size,
        /// What the recording was written for.
        #[schemars(extend("enum" = ["start", "beat", "oom", "exit", "signal", "dump", null]))]
        why: Option<&'static str> = sidecar.why.map(Why::name),
        /// The framework that was imported.
        #[schemars(extend("enum" = ["torch", "jax", "tensorflow", null]))]
        framework: Option<&'static str> = sidecar.framework.map(Framework::name),
        /// The versions that are known.
        versions: Versions = versions(&sidecar.versions),
        /// The exception that ended the program, or the last that reported a lack of memory.
        exception: Option<Exception> = sidecar.exception.as_ref().map(exception),
        /// The host's memory when the recording was written.
        host: Option<HostMemory> = sidecar.host.as_ref().map(host),
    }

    /// Versions as they print themselves.
    fn versions(versions: &sidecar::Versions) -> Versions {
        /// Of Python.
        python: Option<String> = versions.python.clone(),
        /// Of PyTorch, such as `"2.11.0+cu130"`.
        torch: Option<String> = versions.torch.clone(),
        /// Of CUDA, as PyTorch was built.
        cuda: Option<String> = versions.cuda.clone(),
        /// Of the driver.
        driver: Option<String> = versions.driver.clone(),
    }

    /// An exception.
    fn exception(exception: &sidecar::Exception) -> Exception {
        /// Its class.
        r#type: Option<String> = exception.class.clone(),
        /// What it says.
        text: Option<String> = exception.text.clone(),
        /// Whether it ended the program.
        uncaught: bool = exception.uncaught,
        /// Whether it reports a lack of memory.
        oom: bool = exception.oom,
    }

    /// The host's memory when the recording was written.
    fn host(host: &sidecar::Host) -> HostMemory {
        /// What the process held.
        rss: Option<Bytes> = host.rss,
        /// The most it ever held.
        peak_rss: Option<Bytes> = host.peak_rss,
        /// What the machine had left.
        available: Option<Bytes> = host.available,
        /// What it has.
        total: Option<Bytes> = host.total,
        /// What the process's control group may hold.
        cgroup_limit: Option<Bytes> = host.cgroup_limit,
        /// What that group held.
        cgroup_current: Option<Bytes> = host.cgroup_current,
        /// How many of its processes the kernel has killed for memory.
        cgroup_oom_kills: Option<u64> = host.cgroup_oom_kills,
        /// The size of `/dev/shm`.
        shm_total: Option<Bytes> = host.shm_total,
        /// What was free of it.
        shm_free: Option<Bytes> = host.shm_free,
    }

    /// The whole card at the moment, in parts that add up to its memory.
    pub(super) fn card(beside: &card::RestOfCard, held: Bytes) -> Card {
        /// What it is called.
        name: Option<String> = beside.name.clone(),
        /// Its memory.
        total: Bytes = beside.total,
        /// Held by PyTorch: `moment.reserved`.
        held: Bytes = held,
        /// Free, and within the limit of this process.
        not_held: Bytes = beside.not_held,
        /// Free, but beyond the limit of this process.
        beyond_limit: Bytes = beside.beyond_limit,
        /// The CUDA context and libraries.
        context: Bytes = beside.context,
        /// What other processes hold; null where unknown: then `context` holds it too.
        other_processes: Option<Bytes> = beside.others,
    }

    /// Lines lent to allocations whose stack was not recorded.
    pub(super) fn borrowed(explanation: &Explanation) -> Borrowed {
        /// How many allocations have a lent line.
        allocations: usize = explanation.borrowed.iter().map(|(_, count)| count).sum(),
        /// The steps that lent.
        from: Vec<Lender> = explanation.borrowed.iter().map(|(step, count)| lender(*step, *count)).collect(),
    }

    /// A step that lent its lines.
    fn lender(step: u64, allocations: usize) -> Lender {
        /// The step.
        step: u64 = step,
        /// To how many allocations of other steps.
        allocations: usize = allocations,
    }

    /// What memory of one class had in use.
    pub(super) fn class_bytes(class: Class, bytes: Bytes) -> ClassBytes {
        /// What it was for.
        #[schemars(extend("enum" = Class::ALL.map(key)))]
        class: String = key(class),
        /// How much.
        bytes: Bytes = bytes,
    }
}

/// The classes that are not empty.
pub(super) fn classes(classes: &ByClass) -> Vec<ClassBytes> {
    classes.iter().map(|(class, bytes)| class_bytes(*class, *bytes)).collect()
}

/// A class as programs name it.
pub(super) fn key(class: Class) -> String {
    class.name().replace(' ', "_")
}

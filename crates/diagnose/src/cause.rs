//! Why a job ran out of memory: the one list, for recordings and for messages.

use oomph_trace::named;

named! {
    /// Why a job ran out of memory.
    Cause {
        /// More was needed than there is.
        Capacity = "capacity",
        /// There was enough, in pieces that could not serve the request.
        Fragmentation = "fragmentation",
        /// Memory grew until it was full.
        Leak = "leak",
        /// Somebody else holds the device's memory. Only messages show it.
        OtherProcess = "other_process",
        /// The computer's own memory ran out, not the device's. Only messages show it.
        HostMemory = "host_memory",
        /// An error that hides that memory ran out, or one that only looks like it. Only messages show it.
        Disguised = "disguised",
        /// The message does not tell.
        Unknown = "unknown",
    }
}

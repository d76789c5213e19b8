//! Why a job ran out of memory: the one list, for recordings and for messages.

/// Why a job ran out of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// More was needed than there is.
    Capacity,
    /// There was enough, in pieces that could not serve the request.
    Fragmentation,
    /// Memory grew until it was full.
    Leak,
    /// Somebody else holds the device's memory. Only messages show it.
    OtherProcess,
    /// The computer's own memory ran out, not the device's. Only messages show it.
    HostMemory,
    /// An error that hides that memory ran out, or one that only looks like it. Only messages show it.
    Disguised,
    /// The message does not tell.
    Unknown,
}

impl Cause {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Capacity => "capacity",
            Cause::Fragmentation => "fragmentation",
            Cause::Leak => "leak",
            Cause::OtherProcess => "other_process",
            Cause::HostMemory => "host_memory",
            Cause::Disguised => "disguised",
            Cause::Unknown => "unknown",
        }
    }
}

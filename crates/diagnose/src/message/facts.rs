//! What a message says, as values.

use oomph_trace::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

/// The amounts that a message may print; the tables know them by these names.
macro_rules! facts {
    ($($(#[$doc:meta])* $amount:ident,)*) => {
        /// The numbers of a message; `None` where it does not print one.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Facts {
            $($(#[$doc])* pub $amount: Option<Bytes>,)*
            /// The device's index.
            pub device: Option<u32>,
            /// The processes listed.
            pub processes: Vec<Process>,
            /// The elements of the array that was asked for, where its shape is printed.
            pub(super) elements: Option<u64>,
        }

        impl Facts {
            /// Every amount by its name.
            pub(super) fn amounts(&self) -> [(&'static str, Option<Bytes>); 11] {
                [$((stringify!($amount), self.$amount)),*]
            }

            fn named(&mut self, name: &str) -> Option<&mut Option<Bytes>> {
                match name { $(stringify!($amount) => Some(&mut self.$amount),)* _ => None }
            }
        }
    };
}

facts! {
    /// The request that failed.
    tried,
    /// The memory of the device, or the most the allocator may have.
    total,
    /// What live tensors hold.
    allocated,
    /// What the allocator holds from the device, free or not.
    reserved,
    /// What the device had free.
    free,
    /// What other processes hold, where the message lists them.
    other_process,
    /// A limit set by the user.
    allowed,
    /// Free memory inside private pools, which PyTorch counts as allocated.
    private_pools,
    /// Memory that counts against the limit but is no tensor (MPS).
    other_allocations,
    /// What this process holds in all, where printed.
    this_process,
    /// What a pool holds in all, where it prints no more than that (CuPy).
    pool,
}

impl Facts {
    /// Held by the allocator and not in use.
    pub fn cached(&self) -> Option<Bytes> {
        Some(self.reserved?.saturating_sub(self.allocated?))
    }

    /// In use on the device, but not by this allocator: contexts, libraries, other processes.
    pub fn outside(&self) -> Option<Bytes> {
        let held = self.reserved.or(self.allocated)? + self.free?;
        Some(self.total?.saturating_sub(held))
    }

    /// The most there could be: the device, or a limit below it.
    pub fn limit(&self) -> Option<Bytes> {
        self.total.into_iter().chain(self.allowed).min()
    }

    /// Takes an amount by its name, where none is known. `cached` is what `reserved` holds beyond `allocated`.
    pub(super) fn put(&mut self, name: &str, bytes: Bytes) {
        let (name, bytes) = match (name, self.allocated) {
            ("cached", Some(allocated)) => ("reserved", allocated + bytes),
            // Without a limit the largest number there is gets printed.
            ("allowed", _) if bytes >= Bytes(1 << 60) => return,
            _ => (name, bytes),
        };
        if let Some(field) = self.named(name) {
            *field = field.or(Some(bytes));
        }
    }

    /// Takes what `other` says where this says nothing.
    pub(super) fn fill(&mut self, other: &Facts) {
        for (name, bytes) in other.amounts() {
            bytes.into_iter().for_each(|bytes| self.put(name, bytes));
        }
        self.device = self.device.or(other.device);
    }
}

/// A process that a message lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ListedProcess")]
pub struct Process {
    /// Its number; null for "this process".
    pub pid: Option<u64>,
    /// What it holds.
    pub bytes: Bytes,
    /// Whether it is the one that wrote the message. In a container a process does not know its own id on the host
    /// and lists itself like any other.
    pub is_this: bool,
}

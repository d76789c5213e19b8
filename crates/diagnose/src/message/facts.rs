//! What a message says, as values.

use oomph_trace::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

/// The numbers of a message; `None` where it does not print one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The request that failed.
    pub tried: Option<Bytes>,
    /// The memory of the device, or the most the allocator may have.
    pub total: Option<Bytes>,
    /// What live tensors hold.
    pub allocated: Option<Bytes>,
    /// What the allocator holds from the device, free or not.
    pub reserved: Option<Bytes>,
    /// What the device had free.
    pub free: Option<Bytes>,
    /// What other processes hold, where the message lists them.
    pub other_process: Option<Bytes>,
    /// A limit set by the user.
    pub allowed: Option<Bytes>,
    /// Free memory inside private pools, which PyTorch counts as allocated.
    pub private_pools: Option<Bytes>,
    /// Memory that counts against the limit but is no tensor (MPS).
    pub other_allocations: Option<Bytes>,
    /// What this process holds in all, where printed.
    pub this_process: Option<Bytes>,
    /// The device's index.
    pub device: Option<u32>,
    /// The processes listed.
    pub processes: Vec<Process>,
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

    /// Every amount by its name.
    pub(super) fn amounts(&self) -> [(&'static str, Option<Bytes>); 10] {
        [
            ("tried", self.tried),
            ("total", self.total),
            ("allocated", self.allocated),
            ("reserved", self.reserved),
            ("free", self.free),
            ("other_process", self.other_process),
            ("allowed", self.allowed),
            ("private_pools", self.private_pools),
            ("other_allocations", self.other_allocations),
            ("this_process", self.this_process),
        ]
    }

    /// Takes an amount by its name, where none is known. `cached` is what `reserved` holds beyond `allocated`.
    pub(super) fn put(&mut self, name: &str, bytes: Bytes) {
        let (field, bytes) = match name {
            "tried" => (&mut self.tried, bytes),
            "total" => (&mut self.total, bytes),
            "allocated" => (&mut self.allocated, bytes),
            "reserved" => (&mut self.reserved, bytes),
            "cached" => match self.allocated {
                Some(allocated) => (&mut self.reserved, allocated + bytes),
                None => return,
            },
            "free" => (&mut self.free, bytes),
            "other_process" => (&mut self.other_process, bytes),
            // Without a limit the largest number there is gets printed.
            "allowed" if bytes < Bytes(1 << 60) => (&mut self.allowed, bytes),
            "private_pools" => (&mut self.private_pools, bytes),
            "other_allocations" => (&mut self.other_allocations, bytes),
            "this_process" => (&mut self.this_process, bytes),
            _ => return,
        };
        *field = field.or(Some(bytes));
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

//! What an allocator asks of the driver.

use oomph_trace::{Addr, Bytes};

/// A device's memory as its driver lends it. The simulated device, the recorded one and a real one
/// implement it alike; an allocator cannot tell them apart.
pub trait Device {
    /// `cudaMalloc`: a range of `size` bytes, or `None` when the device has no room.
    fn malloc(&mut self, size: Bytes) -> Option<Addr>;

    /// `cudaFree` of a range that [`Device::malloc`] gave.
    fn free(&mut self, addr: Addr, size: Bytes);

    /// Reserves `size` bytes of address space, which hold nothing and cost nothing until pages are mapped.
    fn reserve(&mut self, size: Bytes) -> Option<Addr>;

    /// Gives reserved address space back; nothing is mapped in it any more.
    fn unreserve(&mut self, addr: Addr, size: Bytes);

    /// Maps memory at `addr`, all `size` bytes of it or, answering false, none.
    #[must_use]
    fn map(&mut self, addr: Addr, size: Bytes) -> bool;

    /// Unmaps memory that [`Device::map`] mapped.
    fn unmap(&mut self, addr: Addr, size: Bytes);

    /// The memory of the whole device, which sizes the address space of expandable segments.
    fn total(&self) -> Bytes;
}

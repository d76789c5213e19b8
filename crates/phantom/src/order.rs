//! Streams and events: names that are never waited for. All is done at once.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A handle that no other has.
pub(crate) fn handle() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0x1000);
    NEXT.fetch_add(16, Ordering::Relaxed)
}

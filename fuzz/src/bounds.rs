//! Reading a file takes at most 4 times its size plus 200 MB, and time that grows as its size does. A case that takes
//! more panics, and so is a finding.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with a count of what is live.
pub struct Counting;

// SAFETY: every call goes to the system's allocator as it is; only numbers are kept.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Runs one case on an input of `size` bytes. `each_byte` is the time that a byte may take, instrumented and on a slow
/// machine; a second goes to what is the same for every file.
pub fn bounded<T>(size: usize, each_byte: Duration, case: impl FnOnce() -> T) -> T {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let start = used();
    let result = case();
    let (took, held) = (used() - start, PEAK.load(Relaxed).saturating_sub(before));
    let most_time = Duration::from_secs(1) + each_byte * size as u32;
    assert!(took <= most_time, "{size} bytes took {took:?}; at most {most_time:?}");
    let most_held = 4 * size + 200_000_000;
    assert!(held <= most_held, "{size} bytes took {held} bytes of memory; at most {most_held}");
    result
}

/// The processor time of this thread: other programs on the machine do not count.
fn used() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

//! A library that answers as NVML would, for tests on machines without a GPU.
//!
//! Its answers are a text inside the library file itself, which `oomph_testkit::nvml` writes into a copy. So each
//! test has its own library and needs no variable and no other file. [`Scenario`] describes the lines of the text.

#![allow(unsafe_code)]

mod scenario;

mod answers;

pub use scenario::Scenario;

/// Marks the place of the text in the library file; zeros follow it.
pub const MARK: &[u8; 24] = b"oomph fake NVML scenario";
/// The length of that place, including the mark.
pub const ROOM: usize = 8192;

#[used]
static TEXT: [u8; ROOM] = {
    let mut room = [0; ROOM];
    let mut at = 0;
    while at < MARK.len() {
        room[at] = MARK[at];
        at += 1;
    }
    room
};

/// The text in this library file.
fn text() -> String {
    // SAFETY: the pointer is to a static of that very type. The read is volatile because the file may differ from what
    // was compiled, and a compiler that knows the text's initial value must not use it.
    let room = unsafe { std::ptr::read_volatile(&TEXT) };
    let end = room.iter().position(|byte| *byte == 0).unwrap_or(ROOM);
    String::from_utf8_lossy(&room[MARK.len().min(end)..end]).into_owned()
}

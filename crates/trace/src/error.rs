//! Why a file could not be read: what, where, and what to do.

use std::io;

/// Why a file cannot be read as a snapshot. Bytes count from the start of the unpacked file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is nothing in the file.
    #[error("the file is empty: the process that wrote it may have died first; dump the snapshot again")]
    Empty,
    /// The file is of another, known kind.
    #[error("{hint}")]
    Foreign {
        /// What it is and what to do about it.
        hint: &'static str,
    },
    /// The file is of no known kind.
    #[error(
        "the file begins with byte {byte:#04x}, which no pickle does: \
         give the file written by torch.cuda.memory._dump_snapshot"
    )]
    NotPickle {
        /// The first byte.
        byte: u8,
    },
    /// The file ends too early.
    #[error("the file ends at byte {at} inside {inside}: it was cut off; copy it again or dump it again")]
    Truncated {
        /// How many bytes there are.
        at: u64,
        /// What is incomplete.
        inside: &'static str,
    },
    /// The file asks to run code. It is not run.
    #[error("byte {at}: the file asks to run code (opcode {opcode}); a memory snapshot never does")]
    RunsCode {
        /// The place of the opcode.
        at: u64,
        /// The opcode.
        opcode: &'static str,
    },
    /// No snapshot was ever written in this protocol.
    #[error("the file is a pickle of protocol {version}; protocols 2 to 5 can be read: dump it again")]
    Protocol {
        /// Its protocol.
        version: u8,
    },
    /// A byte is not an opcode of the protocols 2 to 5.
    #[error(
        "byte {at}: {byte:#04x} is not a pickle opcode: the file is damaged; copy it again or dump it again"
    )]
    Opcode {
        /// Its place.
        at: u64,
        /// The byte.
        byte: u8,
    },
    /// The opcodes contradict each other.
    #[error("byte {at}: {what}: the file is damaged; copy it again or dump it again")]
    Damaged {
        /// Where it was noticed.
        at: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// Reading on would take far more memory than any snapshot of this size needs.
    #[error("byte {at}: {bytes} packed bytes unpack to far more than a snapshot holds: not read any further")]
    Bomb {
        /// Where it was noticed.
        at: u64,
        /// How many bytes of the packed file had been read.
        bytes: u64,
    },
    /// There are more of something than a 32-bit number can count.
    #[error("byte {at}: more than 2^31 {what}: record a shorter part of the job (max_entries)")]
    TooMany {
        /// Where it was noticed.
        at: u64,
        /// Of what.
        what: &'static str,
    },
    /// The bytes could not be read.
    #[error("byte {at}: {source}")]
    Io {
        /// Where it failed.
        at: u64,
        /// Why.
        source: io::Error,
    },
    /// The pickle is valid but holds something else.
    #[error(
        "the file is a pickle but not a memory snapshot: it holds {found}; \
         give the file written by torch.cuda.memory._dump_snapshot"
    )]
    NotSnapshot {
        /// What it holds.
        found: String,
    },
    /// A part of the snapshot has a shape that no known PyTorch writes.
    #[error("{place}: {problem}")]
    Content {
        /// Where, such as `device 0, event 17`.
        place: String,
        /// What is wrong there.
        problem: String,
    },
}

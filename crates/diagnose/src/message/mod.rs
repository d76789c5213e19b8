//! From the text of an error, or a log of any size, to what ran out of memory, why, where, and what helps.
//!
//! In reading order: the stretches of a log that may hold a report (`scan`, cleaned by `clean`), the messages in them by
//! the table of signs (`find`, with the words and numbers of `pattern`), each failure once (`distinct`), and from a
//! message to what is reported of it (`report`), by the tables of causes, cures and tracebacks (`tables`, `case`).
//!
//! ```
//! let log = "RuntimeError: CUDA out of memory. Tried to allocate 9.80 GiB (GPU 0; 14.76 GiB total capacity; \
//!            9.94 GiB already allocated; 3.89 GiB free; 160.79 MiB cached)";
//! let read = oomph_diagnose::message::read(log.as_bytes()).unwrap();
//! assert_eq!(read.reports[0].verdict.cause.name(), "capacity");
//! ```

mod framework;
mod facts;
mod size;
mod speech;
mod text;
mod pattern;
mod processes;
mod verdict;
mod tables;
mod find;
mod traceback;
mod case;
mod clean;
mod distinct;
mod exception;
mod report;
mod scan;

use std::io::{self, BufRead};

use oomph_trace::named;

use crate::advice::Advice;
use crate::phase::Phase;
use crate::place::Place;

pub use exception::{is_out_of_memory, noted_out_of_memory};
pub use facts::{Facts, Process};
pub use framework::Framework;
pub use scan::Extent;
pub use tables::Shape;
pub use verdict::{Confidence, Verdict};

/// Reports kept of one log.
const KEPT: usize = 256;

/// What a log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// The reports: the culprit first, then the others in the order of the log. Empty: the text is no report of
    /// memory that ran out.
    pub reports: Vec<Report>,
    /// How many further stretches of the log may hold reports; with this many at hand they were not read.
    pub unread: u64,
    /// How much was read.
    pub extent: Extent,
}

/// One report of memory that ran out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Who wrote it.
    pub framework: Framework,
    /// Its part in the log.
    pub role: Role,
    /// Its line in the input, from 1.
    pub line: u64,
    /// The first byte of that line.
    pub offset: u64,
    /// The exception's class, as printed.
    pub class: Option<String>,
    /// The versions that word it this way.
    pub writer: Option<&'static str>,
    /// Its numbers.
    pub facts: Facts,
    /// The cause.
    pub verdict: Verdict,
    /// Where in the program, by its traceback. A line of 0 is not printed.
    pub place: Option<Place>,
    /// The code of that line; empty where not printed.
    pub code: String,
    /// What the job was doing.
    pub phase: Option<Phase>,
    /// A known shape of failure.
    pub shape: Option<&'static Shape>,
    /// Changes: those that help, best first, then those that do not.
    pub fixes: Vec<Advice>,
    /// The message, cut to a line or two.
    pub text: String,
}

named! {
    /// The part a report plays in its log.
    Role {
        /// The first failure.
        Culprit = "culprit",
        /// A failure after the first, most likely because of it.
        Follows = "follows",
        /// No failure: something was tried and done without.
        Warning = "warning",
    }
}

/// Reads any bytes. Memory is bounded whatever the input, time is linear in it. The only error is the input's own.
pub fn read(input: impl BufRead) -> io::Result<Log> {
    let mut log = Log::default();
    let mut unread = 0;
    let extent = scan::excerpts(input, |excerpt| {
        if log.reports.len() < KEPT {
            let found = find::messages(&excerpt.text, excerpt.from);
            let messages = distinct::distinct(&excerpt.text, found);
            let reports = messages.into_iter().map(|message| report::report(&excerpt.text, message));
            log.reports.extend(reports.take(KEPT - log.reports.len()));
        } else {
            unread += 1;
        }
    })?;
    // The first failure is the culprit and comes first; one that is known goes before one that is only said.
    let fails = |report: &Report| report.role != Role::Warning;
    let is_known = |report: &Report| fails(report) && report.framework != Framework::UNKNOWN;
    let known = log.reports.iter().position(is_known);
    if let Some(first) = known.or_else(|| log.reports.iter().position(fails)) {
        log.reports[first].role = Role::Culprit;
        log.reports[..=first].rotate_right(1);
    }
    log.unread = unread;
    log.extent = extent;
    Ok(log)
}

//! Results as JSON, schema 1: the same bytes for the same input. Fields are added, never renamed or removed.
//!
//! Each document is a type whose fields say what they are: [the reference](../../../../docs/reference/json.md) and the
//! schemas beside it are made of them (`OOMPH_BLESS=1 cargo test -p oomph-report schema::`).

#[macro_use]
mod document;

mod process;
mod recording;
mod explain;
mod diff;
mod fit;
mod inspect;
mod lint;
mod message;
mod plan;
mod replay;
mod run;
mod serve;
mod status;
mod top;
mod tune;

use oomph_diagnose::results::explain::{Explained as Found, FileResult, ProcessResult};
use schemars::JsonSchema;
pub use serde::Serialize;

pub use diff::{Diff, diff};
pub use explain::{Explain, explain};
pub use fit::{Fit, fit};
pub use inspect::{Inspect, inspect};
pub(crate) use inspect::{held, in_use};
pub use lint::{Lint, lint};
pub use message::{Message, message};
pub use plan::{Plan, plan};
pub use replay::{Replay, replay};
pub use run::{Run, run};
pub use serve::{Serve, serve};
pub use status::{Machine, status};
pub use top::{Top, top};
pub use tune::{Tune, tune};

/// The schema's number.
pub const SCHEMA: u32 = 1;

/// What `oomph explain` says of one device, log, message, or process without a GPU.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Explained {
    /// Of a device.
    Device(Box<Explain>),
    /// Of a log, a message, or a process that used no GPU.
    Message(Box<Message>),
}

/// `oomph explain --json`: everything explained.
pub fn files(files: &[FileResult]) -> String {
    document(files.iter().flat_map(|file| &file.results).map(explained))
}

/// One thing explained.
pub fn explained(result: &Found) -> Explained {
    match result {
        Found::Device(result) => Explained::Device(Box::new(explain(result))),
        Found::Process(result) => Explained::Message(Box::new(process(result))),
        Found::Text(log) => Explained::Message(Box::new(message(log, None))),
    }
}

/// What the log of a process without memory of a card says, and the process.
pub fn process(result: &ProcessResult) -> Message {
    message(result.log.as_ref().unwrap_or(&Default::default()), Some(&result.sidecar))
}

/// Devices' results as one document: the object itself for one device, a list for several.
pub fn document(results: impl IntoIterator<Item = impl Serialize>) -> String {
    match results.into_iter().collect::<Vec<_>>().as_slice() {
        [one] => printed(one),
        several => printed(&several),
    }
}

/// A document as it is printed.
pub fn printed(document: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(document);
    text.expect("maps with string keys and finite numbers always print") + "\n"
}

document! {
    /// What `oomph export` wrote.
    pub fn export(written: &[(&'static str, String, usize)]) -> Export {
        /// The schema's number: 1.
        schema: u32 = SCHEMA,
        /// The files.
        written: Vec<Written> = written.iter().map(|(form, path, bytes)| file(form, path, *bytes)).collect(),
    }

    /// A file that was written.
    fn file(form: &'static str, path: &str, bytes: usize) -> Written {
        /// Its format: `perfetto`, `folded`, `speedscope`, `parquet`.
        form: &'static str = form,
        /// Where it is.
        path: String = path.to_owned(),
        /// How long it is.
        bytes: usize = bytes,
    }

    /// Where `oomph dump` had recordings written.
    pub fn dump(recordings: &[String]) -> Dump {
        /// The schema's number: 1.
        schema: u32 = SCHEMA,
        /// The paths of the recordings.
        recordings: Vec<String> = recordings.to_vec(),
    }
}

//! What oomph's recorder adds to documents: who ran, and how it ended as far as the recorder saw.

use oomph_diagnose::borrow::Lender;
use oomph_diagnose::card;
use oomph_diagnose::classes::{ByClass, Class};
use oomph_diagnose::explain::Explanation;
use oomph_trace::sidecar::{Exception, Framework, Host, Identity, Versions, Why};
use oomph_trace::{Bytes, Sidecar};

document! {
    /// The process that was recorded.
    pub(super) fn process(sidecar: &Sidecar) -> Process {
        #[serde(flatten)]
        identity: Identity = sidecar.identity.clone(),
        /// Why the recording was written.
        why: Option<Why> = sidecar.why,
        /// The framework that was imported.
        framework: Option<Framework> = sidecar.framework,
        /// The versions that are known.
        versions: Versions = sidecar.versions.clone(),
        /// The exception that ended the program, or the last that reported a lack of memory.
        exception: Option<Exception> = sidecar.exception.clone(),
        /// The host's memory when the recording was written.
        host: Option<Host> = sidecar.host.clone(),
    }

    /// The whole card at the moment, in parts that add up to its memory.
    pub(super) fn card(beside: &card::RestOfCard, held: Bytes) -> Card {
        /// What it is called.
        name: Option<String> = beside.name.clone(),
        /// Its memory.
        total: Bytes = beside.total,
        /// Held by PyTorch: `moment.reserved`.
        held: Bytes = held,
        /// Free, and within the limit of this process.
        not_held: Bytes = beside.not_held,
        /// Free, but beyond the limit of this process.
        beyond_limit: Bytes = beside.beyond_limit,
        /// The CUDA context and libraries.
        context: Bytes = beside.context,
        /// What other processes hold; null where unknown: then `context` holds it too.
        other_processes: Option<Bytes> = beside.others,
    }

    /// Lines taken from other steps, for allocations whose stack was not recorded.
    pub(super) fn borrowed(explanation: &Explanation) -> Borrowed {
        /// How many allocations have such a line.
        allocations: usize = explanation.borrowed.iter().map(|lender| lender.allocations).sum(),
        /// The steps whose lines they are.
        from: Vec<Lender> = explanation.borrowed.clone(),
    }

    /// What one class had in use.
    pub(super) fn class_bytes(class: Class, bytes: Bytes) -> ClassBytes {
        /// What it was for.
        class: Class = class,
        /// How much.
        bytes: Bytes = bytes,
    }
}

/// The classes that are not empty.
pub(super) fn classes(classes: &ByClass) -> Vec<ClassBytes> {
    classes.iter().map(|(class, bytes)| class_bytes(*class, *bytes)).collect()
}

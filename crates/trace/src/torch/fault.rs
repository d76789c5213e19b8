//! Why a dict is not what it should be.

use crate::text::{TextId, Texts};

/// Why a dict is not an event, block or segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A field is not there.
    Missing(&'static str),
    /// A field holds something of another kind.
    Wrong(&'static str),
    /// An unknown action.
    Action(TextId),
    /// The frames are not a list of frames.
    Frames,
}

impl Fault {
    /// The fault in words.
    pub(super) fn describe(self, texts: &Texts) -> String {
        match self {
            Fault::Missing(field) => format!("`{field}` is missing"),
            Fault::Wrong(field) => format!("`{field}` holds something no PyTorch writes there"),
            Fault::Action(word) => format!("unknown action `{}`", texts.get(word)),
            Fault::Frames => "`frames` is not a list of frames".to_owned(),
        }
    }
}

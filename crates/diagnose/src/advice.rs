//! A change that somebody could make, whether it helps, and how that is known.

use std::borrow::Cow;

use oomph_trace::{Bytes, named};
use schemars::JsonSchema;
use serde::Serialize;

/// A change that is not replayed: mostly of the program, not of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Advice {
    /// What to do.
    pub title: Cow<'static, str>,
    /// Bytes in use with it at the failure, or the peak, where that can be computed.
    pub in_use: Option<Bytes>,
    /// Whether it would have fitted; without a known limit, whether it needs less.
    pub helps: bool,
    /// How that is known.
    pub how: Basis,
    /// Why, with the numbers.
    pub why: String,
    /// What people say of it, measured: the part of docs/folklore.md behind the `#`.
    pub folklore: Option<&'static str>,
}

named! {
    /// How an advice is known.
    Basis {
        /// The recording was replayed with it.
        Replayed = "replayed",
        /// From the recording's or the message's own numbers.
        Computed = "computed",
        /// From what usually happens.
        Practice = "known from practice",
    }
}

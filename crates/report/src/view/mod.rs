//! `oomph view`: the page, and what it asks for.
//!
//! In reading order: a hash and an encoding that the page's own protection needs; names made fit to be shown; what the page
//! asks of a recording, of a moment, of a search, of the verdict; the page; and the page with its answers in one file.

mod sha256;
mod base64;
mod foreign;
mod recording;
mod moment;
mod tiles;
mod compared;
mod found;
mod verdict;
mod document;
mod file;

pub use compared::compared;
pub use document::{served, served_policy};
pub use file::{Budget, Kept, single_file};
pub use found::{block, found};
pub use moment::{flame, modules, slice};
pub use recording::{Listed, list, meta, refused, replayed};
pub use tiles::{BadKey, Key};
pub use verdict::{Judged, verdict};

//! Running a script on a GPU that is not there, and saying whether it fits on one that is.
//!
//! In reading order: the cards that are asked about, the library that stands in for them, one run of the script on it
//! (`traced`), what that says of a card (`answer`), the changes that are tried (`options`), and the search over a flag
//! (`vary`).

pub mod cards;

pub mod phantom;

pub mod traced;

pub mod refusal;

pub mod answer;

pub mod options;

pub mod vary;

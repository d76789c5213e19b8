//! Running a script on a GPU that is not there, and saying whether it fits on one that is.
//!
//! In reading order: the cards in question, the library that stands in for them, one run of the script on it (`trial`),
//! the script as the user names it (`subject`),
//! what that says of a card (`answer`), the changes that are tried (`options`), the search over a flag (`vary`), and the
//! planner that goes through all of it.

pub mod cards;

pub mod phantom;

pub mod trial;

pub mod subject;

mod refusal;

pub mod answer;

pub mod options;

pub mod vary;

pub mod planner;

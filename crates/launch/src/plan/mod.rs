//! Running a script on a GPU that is not there, and saying whether it fits on one that is.
//!
//! In reading order: the cards in question, the library that stands in for them, one run of the script on it (`trial`),
//! the script as the user names it (`subject`),
//! what that says of a card (`answer`), the ranks of a distributed job (`ranks`), the search over a flag (`vary`), the changes
//! that are tried (`options`), which of them together (`combinations`), the count of runs (`progress`), all of that for one
//! card (`changes`), the planner that goes through all of it; last, models that are
//! served (`serve`), for which nothing is run.

pub mod cards;

pub mod phantom;

pub mod trial;

pub mod subject;

mod refusal;

mod caveats;

pub mod answer;

pub mod ranks;

pub mod vary;

pub mod options;

mod combinations;

mod progress;

mod changes;

pub mod planner;

pub mod serve;

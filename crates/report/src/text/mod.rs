//! Results as text for people: 80 columns, colour only where it is asked for.

pub mod explain;
mod heading;
pub mod inspect;
pub mod message;
pub mod process;
pub mod replay;
pub mod rules;
pub mod run;
pub mod status;
mod style;
pub mod tune;

pub use style::Colour;

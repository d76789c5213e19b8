//! Results as text for people: 80 columns, colour only where it is asked for.

pub mod explain;
pub mod inspect;
pub mod message;
pub mod plan;
pub mod process;
pub mod replay;
mod report;
pub mod rules;
pub mod run;
pub mod status;
pub mod tune;

use oomph_diagnose::results::explain::Explained;
pub use report::Colour;

/// One thing explained.
pub fn explained(result: &Explained, colour: Colour) -> String {
    match result {
        Explained::Device(result) => explain::render(result, colour),
        Explained::Process(result) => process::render(result, colour),
        Explained::Text(log) => message::render(log, colour),
    }
}

//! Results as text for people: 80 columns, colour only where it is asked for.

mod report;
pub mod verdict;
pub mod explain;
pub mod diff;
pub mod fit;
pub mod inspect;
mod proof;
pub mod lint;
pub mod message;
pub mod plan;
pub mod process;
pub mod replay;
pub mod rules;
pub mod run;
pub mod serve;
pub mod status;
pub mod top;
pub mod tune;

pub use explain::Section;
use oomph_diagnose::results::explain::{Explained, FileResult};
pub use report::Colour;

/// Everything explained, each file under its name where there are several. Of recordings these sections; what is found in
/// a text or of a process without a GPU is short and has none.
pub fn files(files: &[FileResult], sections: &[Section], colour: Colour) -> String {
    let one = |result: &Explained| match result {
        Explained::Device(result) => explain::render(result, sections, colour),
        other => explained(other, colour),
    };
    let all = |results: &[Explained]| results.iter().map(one).collect::<Vec<String>>().join("\n");
    match files {
        [file] => all(&file.results),
        files => {
            let named = |file: &FileResult| {
                format!("{}\n\n{}", Colour::Off.printable(&file.name), all(&file.results))
            };
            files.iter().map(named).collect::<Vec<String>>().join("\n")
        }
    }
}

/// One thing explained.
pub fn explained(result: &Explained, colour: Colour) -> String {
    match result {
        Explained::Device(result) => explain::render(result, Section::ALL, colour),
        Explained::Process(result) => process::render(result, colour),
        Explained::Text(log) => message::render(log, colour),
    }
}

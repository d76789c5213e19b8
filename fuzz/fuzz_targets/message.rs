//! Any bytes as a log or a pasted message: what is read of it, as text, JSON and page.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use oomph_diagnose::message;
use oomph_diagnose::results::explain::{Explained, FileResult};
use oomph_fuzz::bounds::bounded;
use oomph_report::text::Colour;
use oomph_report::{html, json, text};

fuzz_target!(|data: &[u8]| {
    let Ok(log) = bounded(data.len(), Duration::from_micros(50), || message::read(data)) else {
        unreachable!("bytes in memory can be read");
    };
    bounded(data.len(), Duration::from_micros(200), || {
        let explained = Explained::Text(log);
        assert!(!text::explained(&explained, Colour::Off).is_empty());
        assert!(!json::document(vec![json::explained(&explained)]).is_empty());
        drop(html::page(&[FileResult { name: String::new(), results: vec![explained] }]));
    });
});

//! The page as text: its parts add up, it says what the text report says, and nothing foreign in it is markup.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use oomph_diagnose::layout::{self, Kind};
use oomph_diagnose::results::explain::Explained;
use oomph_diagnose::timeline;
use oomph_report::text::{self, Colour};
use oomph_trace::{Bytes, EventIdx};

use crate::page;

#[test]
fn the_parts_of_every_bar_add_up() {
    for fixture in page::fixtures() {
        let bars = page::bars(&page::page(&page::snapshot(&fixture)));
        assert!(!bars.is_empty(), "{fixture} has no bar");
        for (parts, total) in bars {
            assert_eq!(parts.iter().sum::<u64>(), total, "{fixture}: {parts:?}");
        }
    }
}

#[test]
fn curves_keep_their_peaks_and_the_map_its_bytes() {
    for fixture in page::fixtures() {
        let snapshot = page::snapshot(&fixture);
        let results = page::results(&snapshot);
        for result in results.iter().filter_map(Explained::device) {
            let peaks = &result.recording.peaks;
            let curves = timeline::of(&result.recording, 2000);
            let end = EventIdx(curves.events as u32);
            for (curve, peak) in [
                (&curves.allocated, peaks.allocated),
                (&curves.active, peaks.active),
                (&curves.reserved, peaks.reserved),
            ] {
                assert!(curve.points.len() <= 2000, "{fixture}: {} points", curve.points.len());
                assert_eq!(curve.greatest(EventIdx(0), end), peak.bytes, "{fixture}");
            }
            let moment = &result.explanation.moment;
            let map = layout::at(&result.recording, moment, usize::MAX);
            let coarse = layout::at(&result.recording, moment, 300);
            let bytes = |map: &layout::Layout| -> Bytes {
                map.segments.iter().flat_map(|segment| &segment.pieces).map(|piece| piece.size).sum()
            };
            assert_eq!(bytes(&map), moment.counters.reserved, "{fixture}");
            assert_eq!(bytes(&coarse) + coarse.left_out.1, moment.counters.reserved, "{fixture}");
            let pieces = coarse.segments.iter().map(|segment| segment.pieces.len()).sum::<usize>();
            assert!(pieces <= 300, "{fixture}: {pieces} pieces");
            let nobody = moment.holders.len();
            let lost = map.segments.iter().flat_map(|segment| &segment.pieces);
            let lost =
                lost.filter(|piece| matches!(piece.kind, Kind::Held(n) | Kind::Pending(n) if n == nobody));
            assert_eq!(lost.count(), 0, "{fixture}: blocks of nobody");
        }
    }
}

/// The text without markup, one space between words.
fn plain(page: &str) -> String {
    let body = page.split("</style>").nth(1).unwrap();
    let text: String = body
        .split('<')
        .map(|part| part.split_once('>').map_or("", |(_, text)| text))
        .collect::<Vec<_>>()
        .join(" ");
    let text = text.replace('\u{a0}', " ").replace("&#39;", "'").replace("&quot;", "\"").replace("&lt;", "<");
    let text = text.replace("&gt;", ">").replace("&amp;", "&");
    text.split_whitespace().filter(|word| *word != ":").collect::<Vec<_>>().join(" ")
}

/// Every sentence of the text report's labelled paragraphs, unwrapped.
fn sentences(report: &str) -> Vec<String> {
    let labels =
        ["Where", "When", "Size", "Run", "Unknown", "Cause", "Line", "Also", "Not", "Do", "Mind", "Check"];
    let mut sentences: Vec<String> = Vec::new();
    let mut open = false;
    for line in report.lines() {
        let Some((label, rest)) = line.split_at_checked(11).filter(|(label, _)| label.starts_with("  "))
        else {
            open = false;
            continue;
        };
        if labels.contains(&label.trim()) {
            sentences.push(rest.to_owned());
            open = true;
        } else if open && label.trim().is_empty() {
            let last = sentences.last_mut().unwrap();
            last.push(' ');
            last.push_str(rest);
        } else {
            open = false;
        }
    }
    sentences
}

/// The letters of a text. A page sets code apart where the report has backticks, and labels where it has colons.
fn bare(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace() && !"`:".contains(*letter)).collect()
}

#[test]
fn the_page_says_what_the_text_report_says() {
    for fixture in page::fixtures() {
        let snapshot = page::snapshot(&fixture);
        let results = page::results(&snapshot);
        let page = bare(&plain(&oomph_report::html::page(&[page::file(results.clone())]).unwrap()));
        for result in &results {
            let report = text::explained(result, Colour::Off);
            let sentences = sentences(&report);
            assert!(sentences.len() >= 3, "{fixture}: {report}");
            for sentence in sentences {
                assert!(page.contains(&bare(&sentence)), "{fixture}: not in the page: {sentence}\n{page}");
            }
        }
    }
}

#[test]
fn the_same_recording_gives_the_same_page() {
    let [a, b] = [(); 2].map(|()| page::page(&page::snapshot("gpt2-ragged")));
    assert!(a == b);
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    let page = page::page(&page::snapshot("leak-oom"));
    for outside in
        ["http://", "https://", "src=", "@import", "<link rel=\"stylesheet", "@font-face", "fetch("]
    {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.split("url(").skip(1).all(|rest| rest.starts_with('#')), "a url() that leaves the page");
    assert!(page.split("href=\"").skip(1).all(|rest| rest.starts_with('#') || rest.starts_with("data:,")));
}

#[test]
fn a_hostile_name_in_a_stack_stays_a_name() {
    let snapshot = page::hostile();
    let page = page::page(&snapshot);
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "the name is not shown");
    assert_eq!(page.matches("<script").count(), 1, "only the page's own script");
    assert!(!page.contains("alert(1)</script>"));
    assert!(!page.contains("\" onmouseover=\""));
}

#[test]
fn parts_of_a_recording_are_shown_as_far_as_they_go() {
    for fixture in page::fixtures() {
        let mut snapshot = page::snapshot(&fixture);
        let later = |events: &mut Vec<_>| drop(events.drain(..events.len() / 2));
        snapshot.traces.iter_mut().for_each(|trace| later(&mut trace.events));
        let windowed = page::page(&snapshot);
        snapshot.traces.iter_mut().for_each(|trace| trace.events.clear());
        let still = page::page(&snapshot);
        for (page, charts) in [(windowed, 1), (still, 0)] {
            assert_eq!(page.matches("class=\"chart\"").count(), charts, "{fixture}");
            for (parts, total) in page::bars(&page) {
                assert_eq!(parts.iter().sum::<u64>(), total, "{fixture}: {parts:?}");
            }
        }
    }
}

#[test]
fn several_devices_have_a_section_each() {
    let snapshots = ["fragmentation-oom", "leak-oom"].map(page::snapshot);
    let results = [page::results(&snapshots[0]), page::results(&snapshots[1])].concat();
    let page = oomph_report::html::page(&[page::file(results.clone())]).unwrap();
    assert_eq!(page.matches("<section class=\"device\"").count(), 2);
    assert_eq!(page.matches("class=\"bar\"").count(), 2);
    assert!(page.contains("<nav "));
    assert_eq!(oomph_report::html::page(&[]), None);
}

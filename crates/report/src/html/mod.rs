//! `oomph explain` as one page that needs nothing but itself: no script is needed to read it, no address is asked for
//! anything, and the same results give the same bytes.

mod escape;
mod bar;
mod fixes;
mod style;
mod verdict;
pub mod card;
mod map;
mod plan;
mod timeline;

use std::fmt::Write as _;

use escape::Escaped;
use oomph_trace::Bytes;
pub use plan::plan;

use crate::words;
use oomph_diagnose::results::explain::{DeviceResult, Explained, FileResult};

const SCRIPT: &str = include_str!("tip.js");
/// What the browser may load: what is in the page.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
/// Fills that can be told apart without colour.
const PATTERNS: &str = r#"<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>
<pattern id="trapped" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" style="fill:var(--trapped-wash)"/><rect width="1.6" height="6" style="fill:var(--trapped)"/></pattern>
<pattern id="spare" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><rect width="6" height="6" style="fill:var(--spare-wash)"/><rect width="1.2" height="6" style="fill:var(--spare)"/></pattern>
<pattern id="pending" width="4" height="4" patternUnits="userSpaceOnUse"><rect width="4" height="4" style="fill:var(--card)"/><rect width="2" height="4" style="fill:var(--pending)"/></pattern>
</defs></svg>
"#;
/// How many holders have a colour of their own; the others are summed up.
const HOLDERS: usize = 8;

/// The page of what was explained: one section for each device. `None` where there is no device: a message alone, or a
/// process that used no GPU, has nothing to draw.
pub fn page(files: &[FileResult]) -> Option<String> {
    let results = files.iter().flat_map(|file| &file.results);
    let devices: Vec<&DeviceResult> = results.filter_map(Explained::device).collect();
    (!devices.is_empty()).then(|| explain(&devices))
}

fn explain(results: &[&DeviceResult]) -> String {
    let title = results.first().map_or_else(String::new, |result| words::headline(result));
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{} · oomph</title>\n<style>\n{}</style>\n</head>\n\
         <body>\n{PATTERNS}<main>\n<p class=\"brand\">oomph explain</p>\n",
        Escaped(title),
        style::page()
    );
    if results.len() > 1 {
        out.push_str("<nav aria-label=\"Devices\">");
        for result in results {
            let device = result.recording.trace().device;
            let _ = write!(out, "<a href=\"#gpu{device}\">GPU {device}</a>");
        }
        out.push_str("</nav>\n");
    }
    for result in results {
        device(&mut out, result);
    }
    let _ = write!(
        out,
        "</main>\n<div id=\"tip\" role=\"status\" hidden></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    );
    out
}

fn device(out: &mut String, result: &DeviceResult) {
    let _ = writeln!(out, "<section class=\"device\" id=\"gpu{}\">", result.recording.trace().device);
    verdict::write(out, result);
    bar::write(out, result);
    if words::has_history(&result.recording) {
        timeline::write(out, result);
    }
    map::write(out, result);
    if words::has_history(&result.recording) {
        fixes::write(out, result);
    }
    let check = words::fidelity(&result.recording);
    let _ = writeln!(out, "<p class=\"check\"><b>Check</b> {}</p>\n</section>", Escaped(check));
}

/// The class that colours the holder of this rank.
fn holder_class(rank: usize) -> String {
    if rank < HOLDERS { format!("h{rank}") } else { "hx".to_owned() }
}

/// `part` of `whole` in per cent, to a millionth of it.
fn percent(part: Bytes, whole: Bytes) -> String {
    let text = format!("{:.4}", part.share_of(whole) * 100.0);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}%")
}

/// An amount without decimals that say nothing, never broken over two lines: 6 GiB.
fn whole(bytes: Bytes) -> String {
    if bytes == Bytes::ZERO {
        "0".to_owned()
    } else {
        bytes.to_string().replace(".00 ", " ").replace(' ', "\u{a0}")
    }
}

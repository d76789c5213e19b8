//! A verdict in every form it is shown in, for a process that lives on after it.

use std::path::Path;

use anyhow::{Context, Result};
use oomph_diagnose::message::{self, Log};
use oomph_engine::recording::{Known, Recording};
use oomph_report::results::{ExplainResult, ProcessResult};
use oomph_report::text::Colour;
use oomph_report::{html, json, text};

use crate::input::{self, Input};
use crate::{explain, source};

/// What `oomph explain` says of one file or text. It owns its words: the snapshot they are about is gone.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The report, plain.
    pub text: String,
    /// The report with ANSI escapes.
    pub coloured: String,
    /// The document of `--json`.
    pub json: String,
    /// The page of `--html`. A message alone, or a process that used no GPU, has nothing to draw.
    pub page: Option<String>,
    /// A fragment of HTML, to stand under a notebook's cell.
    pub card: String,
}

impl Verdict {
    /// On a file: a snapshot, or a text that may report an error.
    pub fn of_file(path: &Path, known: Known) -> Result<Verdict> {
        match input::read(path)? {
            Input::Snapshot(snapshot) => {
                let on_a_card = snapshot.traces.iter().any(|trace| trace.device >= 0);
                match snapshot.sidecar.as_ref().filter(|_| !on_a_card) {
                    Some(sidecar) => Ok(Verdict::of_process(&explain::process(sidecar))),
                    None => with_own_threads(|| {
                        let recordings = input::recordings(&snapshot, known);
                        Verdict::of_recordings(&recordings)
                    }),
                }
            }
            Input::Text(log) => Ok(Verdict::of_log(&log)),
        }
    }

    /// On a text that may report an error.
    pub fn of_text(text: &str) -> Result<Verdict> {
        Ok(Verdict::of_log(&message::read(text.as_bytes())?))
    }

    fn of_recordings(recordings: &[Recording<'_>]) -> Verdict {
        let results: Vec<ExplainResult<'_>> = recordings.iter().map(explain::result).collect();
        let report = |colour| {
            let devices = results.iter().map(|result| text::explain::render(result, colour));
            devices.collect::<Vec<_>>().join("\n")
        };
        Verdict {
            text: report(Colour::Off),
            coloured: report(Colour::On),
            json: json::document(results.iter().map(json::explain).collect()),
            page: Some(html::explain(&results)),
            card: html::card::explain(&results, &source::line),
        }
    }

    fn of_process(result: &ProcessResult<'_>) -> Verdict {
        Verdict {
            text: text::process::render(result, Colour::Off),
            coloured: text::process::render(result, Colour::On),
            json: json::document(vec![json::process(result)]),
            page: None,
            card: html::card::message(result.log.as_ref().unwrap_or(&Log::default())),
        }
    }

    fn of_log(log: &Log) -> Verdict {
        Verdict {
            text: text::message::render(log, Colour::Off),
            coloured: text::message::render(log, Colour::On),
            json: json::document(vec![json::message(log)]),
            page: None,
            card: html::card::message(log),
        }
    }
}

/// Does the work on threads that end with it. The threads that rayon otherwise shares do not exist in a child after
/// `fork`, which would wait for them forever; and Python programs fork.
fn with_own_threads<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    let threads = rayon::ThreadPoolBuilder::new()
        .build()
        .context("cannot start threads: raise the limit of processes (ulimit -u)")?;
    Ok(threads.install(work))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name).join("snapshot.pickle.gz")
    }

    #[test]
    fn a_snapshot_has_every_form() {
        let verdict = Verdict::of_file(&fixture("leak-oom"), Known::default()).unwrap();
        let plain = verdict.coloured.replace("\x1b[1m", "").replace("\x1b[31m", "").replace("\x1b[32m", "");
        assert_eq!(plain.replace("\x1b[0m", ""), verdict.text);
        assert!(verdict.json.contains("\"cause\": \"leak\""), "{}", verdict.json);
        assert!(verdict.page.is_some_and(|page| page.starts_with("<!doctype html>")));
        assert!(verdict.card.starts_with("<div class=\"oomph-card\""), "{}", verdict.card);
    }

    #[test]
    fn a_message_has_no_page() {
        let verdict =
            Verdict::of_text("CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB)").unwrap();
        let title = verdict.text.lines().next();
        assert_eq!(title, Some("out of memory (pytorch): 2.00 GiB more was asked for"));
        assert_eq!(verdict.page, None);
    }
}

//! The prover: each finding of a file with its own change, then all of them together.

use std::io;
use std::path::Path;
use std::thread;

use anyhow::{Context, Result};
use oomph_lint::{Change, FileResult, Proof, Rule, changed, changes};
use oomph_trace::Bytes;

use super::copies::Copies;
use super::outcome::{Seen, compared};
use crate::plan::subject::Subject;
use crate::plan::trial::Trial;

/// How long one run may take where nothing else is said, in seconds.
pub const LONGEST: u64 = 120;
/// The folder of the run of the script as it is.
const AS_IT_IS: &str = "as-it-is";

/// A question: what do these findings cost?
pub struct Request<'a> {
    /// The script, with its arguments.
    pub subject: Subject,
    /// Its file.
    pub script: &'a Path,
    /// Its text, as it was linted.
    pub source: &'a str,
    /// Rules that count.
    pub is_wanted: &'a dyn Fn(Rule) -> bool,
    /// What PyTorch may hold; without end where it is not said.
    pub limit: Option<Bytes>,
}

/// Puts a proof to every finding of the file, and one of all changes together to the file. `say` is told, in a line,
/// what is being run. The user's file is never written. Where the script fails as it is, the end of what it printed is
/// given; else nothing.
pub fn prove(request: &Request<'_>, file: &mut FileResult, say: &dyn Fn(&str)) -> Result<Vec<String>> {
    let (Ok(found), Ok(changes)) = (&mut file.found, changes(request.source, request.is_wanted)) else {
        return Ok(Vec::new());
    };
    let changes: Vec<Result<Change, String>> = found
        .iter()
        .zip(changes)
        .map(|(each, change)| {
            if each.rule == Rule::Retry && request.limit.is_none() {
                return Err("it shows only where memory runs out: give it a --limit".to_owned());
            }
            change.map_err(str::to_owned)
        })
        .collect();
    let tried: Vec<&Change> = changes.iter().flatten().collect();
    if tried.is_empty() {
        for (each, change) in found.iter_mut().zip(&changes) {
            each.proof = change.as_ref().err().map(|why| Proof::without(why.as_str()));
        }
        return Ok(Vec::new());
    }
    let copies = Copies::of(&request.subject, request.script, request.limit)?;
    let started = || format!("{}: cannot be started", request.script.display());
    say("running the script on a GPU that is not there, as it is");
    let before = Seen::of(&copies.run(AS_IT_IS, request.source).with_context(started)?);
    let before = match before {
        Ok(before) => before,
        Err(why) => {
            file.proof = Some(Proof::without(why));
            return Ok(copies.printed(AS_IT_IS));
        }
    };
    let mut runs: Vec<(String, String)> = Vec::new();
    for (nth, change) in tried.iter().enumerate() {
        runs.push((format!("change-{}", nth + 1), changed(request.source, &[*change])));
    }
    let is_together = tried.len() > 1;
    if is_together {
        runs.push(("together".to_owned(), changed(request.source, &tried)));
    }
    say(&format!(
        "and {} with changes",
        if runs.len() == 1 { "once".to_owned() } else { format!("{} times", runs.len()) }
    ));
    let trials = in_pairs(&copies, &runs).with_context(started)?;
    let mut trials = trials.iter();
    for (each, change) in found.iter_mut().zip(&changes) {
        each.proof = Some(match change {
            Ok(change) => judged(&before, trials.next(), &change.diff, change.is_fix),
            Err(why) => Proof::without(why.as_str()),
        });
    }
    if is_together {
        file.proof = Some(judged(&before, trials.next(), &[], tried.iter().all(|change| change.is_fix)));
    }
    Ok(Vec::new())
}

/// Runs copies, two at a time: each keeps about one core busy.
fn in_pairs(copies: &Copies, runs: &[(String, String)]) -> io::Result<Vec<Trial>> {
    let mut trials = Vec::new();
    for pair in runs.chunks(2) {
        let done: io::Result<Vec<Trial>> = thread::scope(|scope| {
            let handles: Vec<_> =
                pair.iter().map(|(name, text)| scope.spawn(move || copies.run(name, text))).collect();
            let join = |handle: thread::ScopedJoinHandle<'_, io::Result<Trial>>| {
                handle.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
            };
            handles.into_iter().map(join).collect()
        });
        trials.extend(done?);
    }
    Ok(trials)
}

fn judged(before: &Seen, trial: Option<&Trial>, diff: &[String], is_fix: bool) -> Proof {
    let proof = Proof { diff: diff.to_vec(), is_fix, ..Proof::default() };
    match trial.map_or_else(|| Err("it was not run".to_owned()), Seen::of) {
        Ok(after) => {
            let (had, has, why_not) = compared(before, &after);
            Proof { before: Some(had), after: Some(has), why_not, ..proof }
        }
        Err(why) => Proof { why_not: Some(format!("with the change {why}")), ..proof },
    }
}

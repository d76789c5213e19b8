//! What a run tells its processes: three variables, and run.json in the run's folder. The recorder
//! (python/oomph/_recorder) reads them; docs/reference/recording.md has what it answers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use oomph_machine::run_folder;
use serde::Serialize;

use crate::job::{Job, PlanRequest, ResumeRequest};
use crate::measures::Measures;

/// The process that started the run.
const PARENT: &str = "OOMPH_PARENT";
/// Where Python looks for modules; the recorder's folder is put in front.
const PYTHON_PATH: &str = "PYTHONPATH";

/// The variables that lead a process to its run.
pub(crate) fn variables(folder: &Path, hook: &Path) -> [(&'static str, OsString); 3] {
    [
        (run_folder::VARIABLE, folder.into()),
        (PARENT, std::process::id().to_string().into()),
        (PYTHON_PATH, python_path(hook, std::env::var_os(PYTHON_PATH))),
    ]
}

/// The hook's folder in front of what was there.
fn python_path(hook: &Path, had: Option<OsString>) -> OsString {
    let had = had.unwrap_or_default();
    if std::env::split_paths(&had).next().as_deref() == Some(hook) {
        return had;
    }
    let mut path = hook.as_os_str().to_owned();
    if !had.is_empty() {
        path.push(":");
        path.push(had);
    }
    path
}

/// run.json.
#[derive(Serialize)]
struct Request<'a> {
    format: u32,
    oomph: &'static str,
    argv: Vec<String>,
    limit: Option<u64>,
    gpu: Option<&'static str>,
    gpu_total: Option<u64>,
    ring: u64,
    settings: String,
    /// The first PyTorch that knows each setting.
    since: BTreeMap<String, (u32, u32)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resume: Option<ResumeRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<&'a PlanRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measures: Option<&'a Measures>,
}

/// The text of run.json.
pub(crate) fn request(job: &Job) -> String {
    let since = job.settings.since().into_iter();
    let request = Request {
        format: 1,
        oomph: env!("CARGO_PKG_VERSION"),
        argv: job.program.argv().map(|word| word.to_string_lossy().into_owned()).collect(),
        limit: job.limit.map(|limit| limit.0),
        gpu: job.card.map(|card| card.short.as_ref()),
        gpu_total: job.card.map(|card| card.total.0),
        ring: job.ring,
        settings: job.settings.to_string(),
        since: since.map(|(key, version)| (key, (version.major, version.minor))).collect(),
        resume: job.resume,
        plan: job.plan.as_ref(),
        measures: job.measures.as_ref(),
    };
    let text = serde_json::to_string_pretty(&request).expect("texts and numbers always print");
    format!("{text}\n")
}

//! `.oomph/<run>/`: where a run's recordings go, and how they are found again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::plan::Plan;

/// The folder beside the user's files that holds all runs. It ignores itself in git.
pub const HOME: &str = ".oomph";

/// The folder of one run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    /// Where it is, absolute.
    pub path: PathBuf,
    /// What it is called in messages: from the directory the run was started in.
    pub shown: PathBuf,
    /// The folder to put in front of PYTHONPATH, absolute.
    pub hook: PathBuf,
}

impl RunFolder {
    /// Makes the folder under `directory`, with run.json in it, the hook beside it and `last` pointing to it.
    pub fn create(directory: &Path, plan: &Plan) -> io::Result<RunFolder> {
        let home = directory.join(HOME);
        fs::create_dir_all(&home)?;
        let ignore = home.join(".gitignore");
        if !ignore.exists() {
            write_atomically(&ignore, b"*\n")?;
        }
        let hook = super::hook::install(&home)?;
        let name = name(SystemTime::now(), &plan.program.stem, std::process::id());
        let (name, path) = unused(&home, &name)?;
        write_atomically(&path.join("run.json"), run_json(plan).as_bytes())?;
        point_last_to(&home, &name)?;
        Ok(RunFolder { path, shown: Path::new(HOME).join(name), hook })
    }
}

/// The first of `name`, `name-2`, … that nobody has: a rerun within the same second has the same name.
fn unused(home: &Path, name: &str) -> io::Result<(String, PathBuf)> {
    let mut candidate = name.to_owned();
    for n in 2.. {
        let path = home.join(&candidate);
        match fs::create_dir(&path) {
            Ok(()) => return Ok((candidate, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => candidate = format!("{name}-{n}"),
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// `20261115-064012-train-4711`.
fn name(at: SystemTime, stem: &str, pid: u32) -> String {
    let seconds = at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let stem: String = stem
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '_' })
        .take(40)
        .collect();
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}-{stem}-{pid}")
}

/// The date, so many days after 1970-01-01. Years are counted from March, so that the leap day is the last of one.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (date, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (era * 400 + year + u64::from(month <= 2), month, date)
}

/// What the recorder needs to know.
fn run_json(plan: &Plan) -> String {
    let argv: Vec<String> = plan.program.argv().map(|word| word.to_string_lossy().into_owned()).collect();
    let since: serde_json::Map<String, Value> = plan
        .settings
        .since()
        .into_iter()
        .map(|(key, version)| (key, json!([version.major, version.minor])))
        .collect();
    let document = json!({
        "format": 1,
        "oomph": env!("CARGO_PKG_VERSION"),
        "argv": argv,
        "limit": plan.limit.map(|limit| limit.0),
        "gpu": plan.card.map(|card| card.short),
        "gpu_total": plan.card.map(|card| card.total.0),
        "ring": plan.ring,
        "settings": plan.settings.to_string(),
        "since": since,
    });
    format!("{document:#}\n")
}

/// Replaces the link in one step, so that it always leads somewhere.
fn point_last_to(home: &Path, run: &str) -> io::Result<()> {
    #[cfg(unix)]
    {
        let fresh = home.join(format!(".last-{}", std::process::id()));
        let _ = fs::remove_file(&fresh);
        std::os::unix::fs::symlink(run, &fresh)?;
        fs::rename(&fresh, home.join("last"))?;
    }
    #[cfg(not(unix))]
    let _ = (home, run);
    Ok(())
}

/// Writes a file beside its place and moves it there: who reads it sees all of it, or what was there before.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}", std::process::id()));
    fs::write(&fresh, bytes)?;
    fs::rename(&fresh, path)
}

/// Whether a path is a run's folder, or a link to one.
pub fn is_run_folder(path: &Path) -> bool {
    path.join("run.json").is_file()
}

/// The recordings in a run's folder, one for each process: ranks by number, then the others by name.
pub fn recordings(folder: &Path) -> Vec<PathBuf> {
    let is_whole =
        |path: &PathBuf| path.file_stem().is_some_and(|name| Path::new(name).extension().is_none());
    named(folder, "pickle").into_iter().filter(is_whole).collect()
}

/// What to explain a process by, best first: the recording of the moment it ran out of memory, which is there if it
/// went on afterwards, and the one of its end.
pub fn of_failure(recording: &Path) -> impl Iterator<Item = PathBuf> {
    ["oom.pickle", "pickle"]
        .map(|suffix| recording.with_extension(suffix))
        .into_iter()
        .filter(|path| path.is_file())
}

/// The notes that processes left in a run's folder, in the same order.
pub fn notes(folder: &Path) -> Vec<PathBuf> {
    named(folder, "json")
}

fn named(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .filter(|path| path.file_name().is_some_and(|name| name != "run.json"))
        .collect();
    found.sort_by_key(|path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let rank = name.strip_prefix("rank").and_then(|rank| rank.parse::<u64>().ok());
        (rank.is_none(), rank, name != "main", name)
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_run_is_named_after_its_time_script_and_process() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(name(at(1_794_724_812), "train", 4711), "20261115-064012-train-4711");
        assert_eq!(name(at(951_782_400), "a b/c", 1), "20000229-000000-a_b_c-1");
        assert_eq!(name(at(0), "", 1), "19700101-000000--1");
        assert_eq!(name(at(1_735_689_599), "x", 2), "20241231-235959-x-2");
    }
}

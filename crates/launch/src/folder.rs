//! The folder of a run, `.oomph/<run>/`, made before the run starts. How it is read is `oomph_machine::run_folder`'s.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use oomph_machine::run_folder::{self, LAST, REQUEST};
use oomph_machine::trust;

use crate::job::Job;
use crate::{hook, protocol};

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
    /// Makes the folder under `directory`, whose `.oomph` ignores itself in git, with run.json in it, the hook beside it and `last` pointing to it.
    pub fn create(directory: &Path, job: &Job) -> io::Result<RunFolder> {
        let (home, called) = home(directory)?;
        let ignore = home.join(".gitignore");
        if !ignore.exists() {
            trust::write_whole(&ignore, b"*\n")?;
        }
        let hook = hook::install()?;
        let name = name(SystemTime::now(), &job.program.stem, std::process::id());
        let (name, path) = unused(&home, &name)?;
        trust::write_whole(&path.join(REQUEST), protocol::request(job).as_bytes())?;
        point_last_to(&home, &name)?;
        Ok(RunFolder { path, shown: Path::new(&called).join(name), hook })
    }

    /// A folder inside this one, for a run of the same program that is a variation of it.
    pub fn within(&self, name: &str, job: &Job) -> io::Result<RunFolder> {
        let (name, path) = unused(&self.path, name)?;
        trust::write_whole(&path.join(REQUEST), protocol::request(job).as_bytes())?;
        Ok(RunFolder { path, shown: self.shown.join(name), hook: self.hook.clone() })
    }
}

/// The folder of this user's runs. Where another user's lies in the way, a second one, called after the user.
fn home(directory: &Path) -> io::Result<(PathBuf, String)> {
    let [first, second] = run_folder::homes();
    let made =
        |name: String| trust::private_folder(&directory.join(&name)).map(|()| (directory.join(&name), name));
    match made(first) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => made(second),
        made => made,
    }
}

/// The first of `name`, `name-2`, … that is free: a second run within the same second has the same name.
fn unused(home: &Path, name: &str) -> io::Result<(String, PathBuf)> {
    let mut candidate = name.to_owned();
    for n in 2.. {
        let path = home.join(&candidate);
        match DirBuilder::new().mode(0o700).create(&path) {
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

/// Replaces the link in one step, so that it always leads somewhere.
fn point_last_to(home: &Path, run: &str) -> io::Result<()> {
    let fresh = home.join(format!(".last-{}", std::process::id()));
    let _ = fs::remove_file(&fresh);
    std::os::unix::fs::symlink(run, &fresh)?;
    fs::rename(&fresh, home.join(LAST))
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

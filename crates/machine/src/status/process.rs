//! A process of this machine, from `/proc/PID`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use oomph_diagnose::results::status::Process;

/// What `/proc` tells of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, command and owner.
    pub process: Process,
    /// Its pid here, and in the pid namespaces below ours that it is in (a container's).
    pub pids: Vec<u32>,
    /// Its environment, as it was when the program began; `None` where we may not read it.
    pub environment: Option<BTreeMap<String, String>>,
    /// Whether it has a GPU's device file open; `None` where we may not look.
    pub opens_gpu: Option<bool>,
}

/// The owners of processes.
#[derive(Clone, Debug, Default)]
pub struct Users {
    names: BTreeMap<u32, String>,
    own: Option<u32>,
}

impl Users {
    /// The names in a file like `/etc/passwd`, and who we are.
    pub fn read(passwd: &Path, proc: &Path) -> Users {
        let names = fs::read_to_string(passwd).unwrap_or_default();
        let own = fs::read_to_string(proc.join("self/status")).ok();
        Users { names: parse_passwd(&names), own: own.and_then(|status| uid(&status)) }
    }
}

/// The numbers and names of users.
fn parse_passwd(text: &str) -> BTreeMap<u32, String> {
    let entry = |line: &str| {
        let mut fields = line.split(':');
        let (name, uid) = (fields.next()?, fields.nth(1)?);
        Some((uid.parse().ok()?, name.to_owned()))
    };
    text.lines().filter_map(entry).collect()
}

/// Every pid that `/proc` lists, ascending.
pub fn all(proc: &Path) -> Vec<u32> {
    let entries = fs::read_dir(proc).into_iter().flatten().flatten();
    let mut pids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

/// The process with this pid; `None` where there is none.
pub fn read(proc: &Path, pid: u32, users: &Users) -> Option<Entry> {
    let folder = proc.join(pid.to_string());
    let status = text(&folder.join("status"))?;
    let owner = uid(&status);
    let user = owner.map(|uid| users.names.get(&uid).cloned().unwrap_or_else(|| uid.to_string()));
    let name = field(&status, "Name").unwrap_or_default().to_owned();
    let command = text(&folder.join("cmdline")).unwrap_or_default();
    let process =
        Process { name, command: words(&command), user, own: owner.is_some() && owner == users.own };
    let pids = field(&status, "NSpid").map(|pids| pids.split_whitespace().filter_map(|pid| pid.parse().ok()));
    let pids = pids.map(Iterator::collect).filter(|pids: &Vec<u32>| !pids.is_empty());
    Some(Entry {
        process,
        pids: pids.unwrap_or_else(|| vec![pid]),
        environment: environment(proc, pid),
        opens_gpu: opens_gpu(&folder),
    })
}

/// The environment of a process, where we may read it.
pub fn environment(proc: &Path, pid: u32) -> Option<BTreeMap<String, String>> {
    let text = text(&proc.join(pid.to_string()).join("environ"))?;
    let pair = |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    Some(text.split('\0').filter_map(pair).collect())
}

fn text(path: &Path) -> Option<String> {
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The words of a command line, each ended by a zero byte. Programs that write over theirs leave spaces and zeros.
fn words(text: &str) -> Vec<String> {
    let text = text.trim_end_matches(['\0', ' ']);
    if text.is_empty() { Vec::new() } else { text.split('\0').map(str::to_owned).collect() }
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// The real user of `/proc/PID/status`.
fn uid(status: &str) -> Option<u32> {
    field(status, "Uid")?.split_whitespace().next()?.parse().ok()
}

fn opens_gpu(folder: &Path) -> Option<bool> {
    let files = fs::read_dir(folder.join("fd")).ok()?;
    let is_gpu = |target: &Path| {
        let name = target.to_string_lossy();
        name.starts_with("/dev/nvidia") || name == "/dev/dxg"
    };
    Some(files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|target| is_gpu(&target))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_split_where_its_words_end() {
        assert_eq!(words("python\0train.py\0--name\0a b\0"), ["python", "train.py", "--name", "a b"]);
        assert_eq!(words("nginx: worker process\0\0\0  \0"), ["nginx: worker process"]);
        assert_eq!(words(""), [""; 0]);
    }

    #[test]
    fn users_are_named_by_the_third_field() {
        let names = parse_passwd("ana:x:1000:1000::/:/bin/sh\nbroken\nbob:x:no:1::\n");
        assert_eq!(names, BTreeMap::from([(1000, "ana".to_owned())]));
    }

    #[test]
    fn this_very_process_is_found() {
        let proc = Path::new("/proc");
        if !proc.join("self/status").exists() {
            println!("skipped: there is no /proc here");
            return;
        }
        let users = Users::read(Path::new("/etc/passwd"), proc);
        let entry = read(proc, std::process::id(), &users).expect("we are alive");
        assert!(entry.process.own && !entry.process.command.is_empty(), "{entry:?}");
        assert!(entry.pids.contains(&std::process::id()) && entry.environment.is_some());
        assert!(all(proc).contains(&std::process::id()));
    }
}

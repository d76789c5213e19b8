//! Who holds this machine's memory at this moment, GPU and host.
//!
//! Each module reads one source, below a root that tests can put elsewhere: parsers are pure, readers thin. What cannot
//! be read is left out, never guessed.

pub mod cgroup;
pub mod process;
pub mod settings;
mod recorded;
mod gpus;
pub mod meminfo;
pub mod shm;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

pub use gpus::has_gpu;
pub use oomph_diagnose::results::status::{Space, Status};

/// Where the machine is read from.
#[derive(Clone, Debug)]
pub struct Roots {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys/fs/cgroup`.
    pub cgroup: PathBuf,
    /// `/etc/passwd`, which names the owners of processes.
    pub passwd: PathBuf,
    /// `/dev/shm`.
    pub shm: PathBuf,
    /// How the space of a file system is asked for.
    pub space: fn(&Path) -> Option<Space>,
    /// NVML; `None`: wherever the system keeps it.
    pub nvml: Option<PathBuf>,
    /// The variables of this environment.
    pub environment: BTreeMap<String, String>,
    /// The clock, in microseconds since the epoch.
    pub clock: fn() -> u64,
}

/// The system's clock, in microseconds since the epoch.
fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or_default()
}

impl Roots {
    /// This machine. `OOMPH_NVML` names another NVML: it is for oomph's own tests, and may go at any time.
    pub fn here() -> Roots {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
        };
        Roots {
            proc: "/proc".into(),
            cgroup: "/sys/fs/cgroup".into(),
            passwd: "/etc/passwd".into(),
            shm: "/dev/shm".into(),
            space: shm::space,
            nvml: std::env::var_os("OOMPH_NVML").map(PathBuf::from),
            environment: std::env::vars_os().filter_map(text).collect(),
            clock: now_us,
        }
    }
}

/// Reads all of it. It takes a few milliseconds, most of them NVML's, and never fails: what cannot be read is `None`.
pub fn gather(roots: &Roots) -> Status {
    let variable = |name: &str| roots.environment.get(name).map(String::as_str);
    let host_name = fs::read_to_string(roots.proc.join("sys/kernel/hostname")).unwrap_or_default();
    let users = process::Users::read(&roots.passwd, &roots.proc);
    let mut gpus = gpus::read(roots.nvml.as_deref(), gpus::Known { proc: &roots.proc, users: &users });
    let recorded = gpus::join(&mut gpus, recorded::read(&roots.proc, &users));
    Status {
        host_name: host_name.trim().to_owned(),
        taken_us: (roots.clock)(),
        gpus,
        recorded,
        ram: meminfo::read(&roots.proc),
        cgroup: cgroup::read(&roots.proc, &roots.cgroup),
        shm: (roots.space)(&roots.shm),
        settings: settings::read(variable, None),
    }
}

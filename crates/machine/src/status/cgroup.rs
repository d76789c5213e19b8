//! The memory limit of the control groups that this process is in.

use std::fs;
use std::path::Path;

use oomph_trace::cgroup::{Cgroup, tightest};

/// The group whose limit counts; see [`tightest`].
pub fn read(proc: &Path, mount: &Path) -> Option<Cgroup> {
    let own = fs::read_to_string(proc.join("self/cgroup")).ok()?;
    tightest(&own, |name| fs::read_to_string(mount.join(name)).ok())
}

//! The memory limit of the control groups that a process is in, version 1 or 2 of the hierarchy.
//!
//! Every group on the way to the root may have a limit, and the tightest of them is the one that kills.

use schemars::JsonSchema;
use serde::Serialize;

use crate::units::Bytes;

/// Version 1 writes "no limit" as the largest number of whole pages; nothing that large is a limit.
const NO_LIMIT: u64 = 1 << 62;
/// The longest path that Linux has; a longer one was not written by it.
const LONGEST: usize = 4096;

/// The control group whose memory limit is the tightest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cgroup {
    /// Its path in the hierarchy, such as `/user.slice`.
    pub path: String,
    /// What its processes may hold together; `None`: no group has a limit, and the figures are the process's own group's.
    pub limit: Option<Bytes>,
    /// What they hold, page cache included.
    pub current: Option<Bytes>,
    /// How many of them the kernel has killed for memory.
    pub oom_kills: Option<u64>,
}

/// Which version's files a group has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hierarchy {
    V1,
    V2,
}

/// The group with the tightest limit among a process's own and those above it; where none has one, the nearest without
/// a limit. `None` where no group accounts for memory.
///
/// `own` is the text of `/proc/PID/cgroup`; `file` gives the text of a file below `/sys/fs/cgroup`, where it exists.
/// Inside a container `own` may name groups of the host that are not visible: the root is then the container's group.
pub fn tightest(own: &str, file: impl Fn(&str) -> Option<String>) -> Option<Cgroup> {
    let (hierarchy, path) = own_group(own)?;
    let parents = path.match_indices('/').map(|(at, _)| &path[..at]);
    let mut found: Vec<Cgroup> =
        parents.chain([path]).filter_map(|group| group_at(group, hierarchy, &file)).collect();
    found.reverse();
    let limited = found.iter().filter(|group| group.limit.is_some()).min_by_key(|group| group.limit);
    limited.or(found.first()).cloned()
}

/// The memory controller's line: `4:memory:/path` or `0::/path`. The root's path is empty.
fn own_group(text: &str) -> Option<(Hierarchy, &str)> {
    let lines = text.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some((parts.next()?, parts.next()?))
    });
    let is_v1 = |controllers: &str| controllers.split(',').any(|one| one == "memory");
    let v1 = lines.clone().find(|(controllers, _)| is_v1(controllers));
    let v2 = lines.clone().find(|(controllers, _)| controllers.is_empty());
    let (hierarchy, (_, path)) = match (v1, v2) {
        (Some(line), _) => (Hierarchy::V1, line),
        (None, Some(line)) => (Hierarchy::V2, line),
        (None, None) => return None,
    };
    // `..` appears where the group lies outside of this process's view.
    let is_visible =
        path.len() <= LONGEST && path.starts_with('/') && !path.split('/').any(|part| part == "..");
    Some((hierarchy, if is_visible { path.trim_end_matches('/') } else { "" }))
}

fn group_at(group: &str, hierarchy: Hierarchy, file: &impl Fn(&str) -> Option<String>) -> Option<Cgroup> {
    // Both versions may be mounted at once; version 1's controller then lies in a folder of its own name.
    let (root, limit, current, events) = match hierarchy {
        Hierarchy::V1 => ("/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control"),
        Hierarchy::V2 => ("", "memory.max", "memory.current", "memory.events"),
    };
    let read = |name: &str| file(format!("{root}{group}/{name}").trim_start_matches('/'));
    let number = |name: &str| read(name).and_then(|text| text.trim().parse::<u64>().ok());
    let limit = number(limit).filter(|limit| *limit < NO_LIMIT).map(Bytes);
    let current = number(current).map(Bytes);
    if limit.is_none() && current.is_none() {
        return None;
    }
    let oom_kills = read(events).and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "))?;
        line.trim().parse().ok()
    });
    let path = if group.is_empty() { "/" } else { group };
    Some(Cgroup { path: path.to_owned(), limit, current, oom_kills })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_controllers_group_is_found_in_either_version() {
        let check = |text: &str, expected: Option<(Hierarchy, &str)>| {
            assert_eq!(own_group(text), expected, "{text}");
        };
        check("0::/user.slice/a.scope\n", Some((Hierarchy::V2, "/user.slice/a.scope")));
        check("5:cpu,memory:/docker/ab\n0::/x\n", Some((Hierarchy::V1, "/docker/ab")));
        check("3:cpuset:/\n0::/a:b\n", Some((Hierarchy::V2, "/a:b")));
        check("0::/../outside\n", Some((Hierarchy::V2, "")));
        check("0::/\n", Some((Hierarchy::V2, "")));
        check("3:cpuset:/\n", None);
        check("nonsense", None);
    }

    #[test]
    fn the_tightest_limit_counts_and_its_group_is_named() {
        let check =
            |own: &str, files: &[(&str, &str)], expected: Option<(&str, Option<u64>, Option<u64>)>| {
                let file = |name: &str| {
                    files.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
                };
                let found = tightest(own, file);
                let found = found
                    .as_ref()
                    .map(|group| (group.path.as_str(), group.limit.map(|limit| limit.0), group.oom_kills));
                assert_eq!(found, expected, "{own}");
            };
        let nested = [
            ("a/b/memory.max", "max\n"),
            ("a/b/memory.current", "7\n"),
            ("a/memory.max", "4096\n"),
            ("a/memory.events", "low 0\noom_kill 3\n"),
        ];
        check("0::/a/b\n", &nested, Some(("/a", Some(4096), Some(3))));
        check("0::/a/b\n", &nested[..2], Some(("/a/b", None, None)));
        check("0::/elsewhere\n", &[("memory.max", "9\n")], Some(("/", Some(9), None)));
        check("4:memory:/a\n", &[("memory/a/memory.limit_in_bytes", "5\n")], Some(("/a", Some(5), None)));
        let unlimited = [
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/memory.usage_in_bytes", "1"),
        ];
        check("4:memory:/\n", &unlimited, Some(("/", None, None)));
        check("0::/a\n", &[], None);
    }
}

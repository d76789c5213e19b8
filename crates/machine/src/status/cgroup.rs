//! The memory limit of the control groups that this process is in, version 1 or 2 of the hierarchy.
//!
//! Every group on the way to the root may have a limit, and the tightest of them is the one that kills.

use std::fs;
use std::path::Path;

use oomph_diagnose::results::status::Cgroup;
use oomph_trace::Bytes;

/// Version 1 writes "no limit" as the largest number of whole pages; nothing that large is a limit.
const NO_LIMIT: u64 = 1 << 62;

/// Which version's files a group has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hierarchy {
    V1,
    V2,
}

/// The group with the tightest limit among this process's own and those above it; where none has one, its own group
/// without a limit. `None` where no group accounts for memory.
pub fn read(proc: &Path, mount: &Path) -> Option<Cgroup> {
    let text = fs::read_to_string(proc.join("self/cgroup")).ok()?;
    let (hierarchy, path) = own_group(&text)?;
    // Both versions may be mounted at once; version 1's controller then lies in a folder of its own name.
    let root = match hierarchy {
        Hierarchy::V1 => mount.join("memory"),
        Hierarchy::V2 => mount.to_owned(),
    };
    // Inside a container the path may name a group of the host's hierarchy that is not visible: the mount's own root
    // is then this container's group.
    let own = if root.join(path.trim_start_matches('/')).is_dir() { path } else { "/".to_owned() };
    let groups = Path::new(&own).ancestors();
    let found: Vec<Cgroup> = groups.filter_map(|group| group_at(&root, group, hierarchy)).collect();
    let tightest = found.iter().filter(|group| group.limit.is_some()).min_by_key(|group| group.limit);
    tightest.or(found.first()).cloned()
}

/// The memory controller's line of `/proc/self/cgroup`: `4:memory:/path` or `0::/path`.
fn own_group(text: &str) -> Option<(Hierarchy, String)> {
    let lines: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            Some((parts.next()?, parts.next()?))
        })
        .collect();
    let is_v1 = |controllers: &str| controllers.split(',').any(|one| one == "memory");
    let v1 = lines.iter().find(|(controllers, _)| is_v1(controllers));
    let v2 = lines.iter().find(|(controllers, _)| controllers.is_empty());
    let (hierarchy, (_, path)) = match (v1, v2) {
        (Some(line), _) => (Hierarchy::V1, line),
        (None, Some(line)) => (Hierarchy::V2, line),
        (None, None) => return None,
    };
    // `..` appears where the group lies outside of this process's view.
    let visible = path.starts_with('/') && !path.split('/').any(|part| part == "..");
    Some((hierarchy, if visible { (*path).to_owned() } else { "/".to_owned() }))
}

fn group_at(root: &Path, group: &Path, hierarchy: Hierarchy) -> Option<Cgroup> {
    let folder = root.join(group.strip_prefix("/").unwrap_or(group));
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let number = |name: &str| read(name).and_then(|text| text.trim().parse::<u64>().ok());
    let (limit, current, events) = match hierarchy {
        Hierarchy::V1 => ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control"),
        Hierarchy::V2 => ("memory.max", "memory.current", "memory.events"),
    };
    let limit = number(limit).filter(|limit| *limit < NO_LIMIT).map(Bytes);
    let current = number(current).map(Bytes);
    if limit.is_none() && current.is_none() {
        return None;
    }
    let oom_kills = read(events).and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "))?;
        line.trim().parse().ok()
    });
    Some(Cgroup { path: group.to_string_lossy().into_owned(), limit, current, oom_kills })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_controllers_group_is_found_in_either_version() {
        let check = |text: &str, expected: Option<(Hierarchy, &str)>| {
            let expected = expected.map(|(hierarchy, path)| (hierarchy, path.to_owned()));
            assert_eq!(own_group(text), expected, "{text}");
        };
        check("0::/user.slice/a.scope\n", Some((Hierarchy::V2, "/user.slice/a.scope")));
        check("5:cpu,memory:/docker/ab\n0::/x\n", Some((Hierarchy::V1, "/docker/ab")));
        check("3:cpuset:/\n0::/a:b\n", Some((Hierarchy::V2, "/a:b")));
        check("0::/../outside\n", Some((Hierarchy::V2, "/")));
        check("3:cpuset:/\n", None);
        check("nonsense", None);
    }
}

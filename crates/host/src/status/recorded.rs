//! The live processes that `oomph run` records: what PyTorch's allocator says in each.
//!
//! Such a process has `OOMPH_RUN` in its environment, the folder of the run. In that folder each process keeps a small
//! file of JSON with its pid and its figures, a few seconds old at most.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use oomph_report::status::{Recorded, RecordedDevice, TorchMemory};
use oomph_trace::Bytes;
use serde_json::Value;

use super::{process, settings};

/// The variable that leads to the run's folder.
const RUN: &str = "OOMPH_RUN";
/// The longest file that is read; real ones have a few KiB.
const LONGEST: u64 = 16 << 20;

/// A device as a recorded process names it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// The process, its devices without the driver's numbers.
    pub(super) recorded: Recorded,
    /// The UUID of each of its devices, where it is known.
    pub(super) uuids: Vec<Option<String>>,
}

/// Every recorded process below `/proc`, in order of pid.
pub(super) fn read(proc: &Path, users: &process::Users) -> Vec<Found> {
    process::all(proc).into_iter().filter_map(|pid| of_process(proc, pid, users)).collect()
}

fn of_process(proc: &Path, pid: u32, users: &process::Users) -> Option<Found> {
    let environment = process::environment(proc, pid)?;
    let folder = environment.get(RUN)?;
    let pids = process::read(proc, pid, users)?.pids;
    // A process in a container names the folder as it sees it.
    let inside = proc.join(pid.to_string()).join("root").join(folder.trim_start_matches('/'));
    let folders = [PathBuf::from(folder), inside];
    let run = Path::new(folder).file_name()?.to_string_lossy().into_owned();
    let mut files = folders.iter().flat_map(|folder| files(folder));
    let mut found = files.find_map(|file| parse(&file, pid, &pids, &run))?;
    let variable = |name: &str| environment.get(name).map(String::as_str);
    found.recorded.settings = Some(settings::read(variable, found.recorded.torch.as_deref()));
    Some(found)
}

/// The texts of a run's files, in order of name.
fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    // Opening anything but a file may wait forever.
    let is_process = |path: &PathBuf| {
        path.is_file()
            && path.extension().is_some_and(|end| end == "json")
            && path.file_name().is_some_and(|name| name != "run.json")
    };
    let mut paths: Vec<PathBuf> = entries.filter(is_process).collect();
    paths.sort();
    let text = |path: &PathBuf| {
        let mut text = String::new();
        fs::File::open(path).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
        Some(text)
    };
    paths.iter().filter_map(text).collect()
}

/// Reads one file, if it is that of a process which goes by one of these pids. Every key may be missing.
fn parse(text: &str, pid: u32, pids: &[u32], run: &str) -> Option<Found> {
    let value: Value = serde_json::from_str(text).ok()?;
    let written = u32::try_from(value.get("pid")?.as_u64()?).ok()?;
    if !pids.contains(&written) {
        return None;
    }
    let devices = value.get("devices").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let uuid = |device: &Value| device.get("uuid").and_then(Value::as_str).map(str::to_owned);
    let torch = value.get("versions").and_then(|versions| versions.get("torch")).and_then(Value::as_str);
    Some(Found {
        uuids: devices.iter().map(uuid).collect(),
        recorded: Recorded {
            pid,
            run: run.to_owned(),
            name: value.get("name").and_then(Value::as_str).unwrap_or("?").to_owned(),
            rank: value.get("rank").and_then(Value::as_u64),
            torch: torch.map(str::to_owned),
            settings: None,
            devices: devices.iter().enumerate().map(|(place, value)| device(place, value)).collect(),
        },
    })
}

fn device(place: usize, value: &Value) -> RecordedDevice {
    let number = |key: &str| value.get(key).and_then(Value::as_u64);
    let bytes = |key: &str| Bytes(number(key).unwrap_or_default());
    RecordedDevice {
        index: number("index").and_then(|index| u32::try_from(index).ok()).unwrap_or(place as u32),
        gpu: None,
        memory: TorchMemory {
            allocated: bytes("allocated"),
            reserved: bytes("reserved"),
            peak_allocated: bytes("peak_allocated"),
            peak_reserved: bytes("peak_reserved"),
            retries: number("retries").unwrap_or_default(),
            ooms: number("ooms").unwrap_or_default(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_believed_if_its_pid_is_the_process_s_own_here_or_in_its_container() {
        let text = r#"{"pid": 7, "name": "rank1", "rank": 1, "devices": [{"reserved": 5}], "later": []}"#;
        let found = parse(text, 4711, &[4711, 7], "run").expect("the pid agrees");
        assert_eq!((found.recorded.pid, found.recorded.rank), (4711, Some(1)));
        assert_eq!(found.recorded.devices[0].memory.reserved, Bytes(5));
        assert_eq!(found.recorded.torch, None);
        for (text, pids) in [(text, &[8][..]), ("{", &[7]), ("[]", &[7]), (r#"{"pid": "7"}"#, &[7])] {
            assert_eq!(parse(text, 7, pids, "run"), None, "{text} {pids:?}");
        }
    }
}

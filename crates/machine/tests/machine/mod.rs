//! A made-up machine: `/proc`, control groups and NVML in a folder of a test's own.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use oomph_machine::status::{Roots, Space};
use oomph_testkit::nvml;
use oomph_trace::Bytes;

/// The user who asks.
pub(crate) const ANA: u32 = 1000;
/// Somebody else.
pub(crate) const BOB: u32 = 1001;
/// What the clock says.
pub(crate) const NOW_US: u64 = 1_800_000_000_000_000;

/// The folder, and what is set in the environment of the one who asks.
pub(crate) struct Machine {
    folder: PathBuf,
    environment: BTreeMap<String, String>,
    nvml: PathBuf,
}

impl Machine {
    /// A machine without a GPU: 64 GiB of RAM, a control group of version 2 without a limit.
    pub(crate) fn new(test: &str) -> Machine {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = fs::remove_dir_all(&folder);
        let machine =
            Machine { nvml: folder.join("no-such-library.so"), folder, environment: BTreeMap::new() };
        machine.write("proc/sys/kernel/hostname", "node1\n");
        machine.write(
            "proc/meminfo",
            "MemTotal: 67108864 kB\nMemFree: 1048576 kB\nMemAvailable: 50331648 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
        );
        machine.write("proc/self/status", &format!("Name:\toomph\nUid:\t{ANA}\t{ANA}\t{ANA}\t{ANA}\n"));
        machine.write("proc/self/cgroup", "0::/\n");
        machine.write("cgroup/memory.current", "1073741824\n");
        machine.write("passwd", &format!("ana:x:{ANA}:{ANA}::/:/bin/sh\nbob:x:{BOB}:{BOB}::/:/bin/sh\n"));
        machine
    }

    /// Writes a file of the machine.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The path of something in the machine's folder.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// Sets a variable of the one who asks.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.environment.insert(name.to_owned(), value.to_owned());
    }

    /// GPUs, in the language of the fake library.
    pub(crate) fn gpus(&mut self, scenario: &str, hidden: &[&str]) {
        self.nvml = nvml::library(&self.folder, scenario, hidden).unwrap();
    }

    /// A process. `environment`: `None` where it may not be read. `opens`: its open files; `None` likewise.
    pub(crate) fn process(
        &self,
        pid: &str,
        owner: u32,
        command: &[&str],
        environment: Option<&[(&str, &str)]>,
        opens: Option<&[&str]>,
    ) {
        let folder = format!("proc/{pid}");
        let name = command[0].rsplit('/').next().unwrap();
        self.write(
            &format!("{folder}/status"),
            &format!("Name:\t{name}\nUid:\t{owner}\t{owner}\t{owner}\t{owner}\nNSpid:\t{pid}\n"),
        );
        let words: String = command.iter().map(|word| format!("{word}\0")).collect();
        self.write(&format!("{folder}/cmdline"), &words);
        if let Some(environment) = environment {
            let text: String = environment.iter().map(|(name, value)| format!("{name}={value}\0")).collect();
            self.write(&format!("{folder}/environ"), &text);
        }
        if let Some(opens) = opens {
            let files = self.folder.join(&folder).join("fd");
            fs::create_dir_all(&files).unwrap();
            for (number, target) in opens.iter().enumerate() {
                symlink(target, files.join(number.to_string())).unwrap();
            }
        }
    }

    /// Where everything is.
    pub(crate) fn roots(&self) -> Roots {
        Roots {
            proc: self.folder.join("proc"),
            cgroup: self.folder.join("cgroup"),
            passwd: self.folder.join("passwd"),
            shm: self.folder.join("shm"),
            space: |_| Some(Space { total: Bytes::gib(32), free: Bytes::gib(31) }),
            nvml: Some(self.nvml.clone()),
            environment: self.environment.clone(),
            clock: || NOW_US,
        }
    }
}

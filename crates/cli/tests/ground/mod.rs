//! Where the tests of `oomph run` run: a folder each, with scripts in it, and an environment that is known.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder of its own, emptied.
pub(crate) struct Ground(pub(crate) PathBuf);

impl Ground {
    pub(crate) fn new(name: &str) -> Ground {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("run-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Ground(folder)
    }

    /// Writes a file and gives its name.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        name.to_owned()
    }

    /// Any program, in the folder, with no variable that changes what is tested.
    pub(crate) fn program(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(words).current_dir(&self.0).stdin(Stdio::null());
        for (name, _) in std::env::vars() {
            let ours =
                name.starts_with("OOMPH_") || name.starts_with("PYTORCH_") || name.starts_with("PYTHON");
            if ours || ["VIRTUAL_ENV", "NO_COLOR", "RANK", "LD_PRELOAD"].contains(&name.as_str()) {
                command.env_remove(name);
            }
        }
        command
    }

    /// `oomph …`, in the folder.
    pub(crate) fn oomph(&self, words: &[&str]) -> Command {
        // Whoever runs the tests in the background, or under nohup, ignores signals that these tests send.
        let mut command = self.program("env", &["--default-signal", env!("CARGO_BIN_EXE_oomph")]);
        command.args(words);
        command
    }

    /// The exit code, standard output and standard error of `oomph …`.
    pub(crate) fn run(&self, words: &[&str]) -> (Option<i32>, String, String) {
        seen(&self.oomph(words).output().unwrap())
    }
}

/// Exit code, standard output, standard error.
pub(crate) fn seen(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// What a run is expected to show.
pub(crate) fn shows(code: i32, stdout: &str, stderr: &str) -> (Option<i32>, String, String) {
    (Some(code), stdout.to_owned(), stderr.to_owned())
}

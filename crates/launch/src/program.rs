//! Which program to start: a script's interpreter, or a command found as a shell finds it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What the user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `-m MODULE`.
    Module(OsString),
    /// `-c CODE`.
    Code(OsString),
    /// A script, or any other command.
    Word(OsString),
}

/// A program that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The file to run.
    pub path: PathBuf,
    /// What it is called as: the word the user typed, where there is one.
    pub called: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// A short name for the run: the script's, without its suffix.
    pub stem: String,
}

/// Why a program cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// There is none of this name.
    #[error("{name}: not found{hint}")]
    NotFound {
        /// As typed.
        name: String,
        /// What else may have been meant, or nothing.
        hint: String,
    },
    /// It may not be run.
    #[error("{name}: not executable: make it so with chmod +x, or name the program that runs it")]
    NotExecutable {
        /// As typed.
        name: String,
    },
    /// A script without an interpreter.
    #[error("no python3 or python is on the PATH: activate an environment, or name one with --python")]
    NoPython,
}

impl Missing {
    /// The exit code that shells use for it.
    pub fn exit_code(&self) -> u8 {
        match self {
            Missing::NotExecutable { .. } => 126,
            Missing::NotFound { .. } | Missing::NoPython => 127,
        }
    }
}

impl Program {
    /// Finds what to start. `python` is the interpreter that the user insists on.
    pub fn find(target: &Target, args: &[OsString], python: Option<&Path>) -> Result<Program, Missing> {
        let (leading, stem) = match target {
            Target::Module(module) => (
                vec!["-m".into(), module.clone()],
                module.to_string_lossy().rsplit('.').next().unwrap_or_default().to_owned(),
            ),
            Target::Code(code) => (vec!["-c".into(), code.clone()], "code".to_owned()),
            Target::Word(word) if is_script(word) => (vec![word.clone()], stem(word)),
            Target::Word(word) => {
                let path = beside(python, word).map_or_else(|| on_path(word), Ok)?;
                return Ok(Program { path, called: word.clone(), args: args.to_vec(), stem: stem(word) });
            }
        };
        let (path, called) = interpreter(python)?;
        Ok(Program { path, called, args: leading.into_iter().chain(args.iter().cloned()).collect(), stem })
    }

    /// The whole command line.
    pub fn argv(&self) -> impl Iterator<Item = &OsString> {
        std::iter::once(&self.called).chain(&self.args)
    }
}

/// Whether Python has to run it.
fn is_script(word: &OsStr) -> bool {
    let suffix = Path::new(word).extension();
    suffix.is_some_and(|suffix| ["py", "pyc", "pyz"].iter().any(|known| suffix.eq_ignore_ascii_case(known)))
}

fn stem(word: &OsStr) -> String {
    Path::new(word).file_stem().unwrap_or(word).to_string_lossy().into_owned()
}

/// The interpreter of the environment that is active: the one named, else the virtual environment's, else that of the
/// environment oomph is installed in, else the first on the PATH.
fn interpreter(named: Option<&Path>) -> Result<(PathBuf, OsString), Missing> {
    if let Some(named) = named {
        return Ok((on_path(named.as_os_str())?, named.as_os_str().to_owned()));
    }
    let active = env::var_os("VIRTUAL_ENV").filter(|root| !root.is_empty()).map(PathBuf::from);
    let own = env::current_exe().ok().and_then(|exe| Some(exe.parent()?.parent()?.to_owned()));
    let own = own.filter(|root| root.join("pyvenv.cfg").is_file());
    for root in active.into_iter().chain(own) {
        let python = root.join("bin").join("python");
        if is_executable(&python) {
            return Ok((python.clone(), python.into_os_string()));
        }
    }
    let found =
        ["python3", "python"].into_iter().find_map(|name| Some((on_path(name.as_ref()).ok()?, name.into())));
    found.ok_or(Missing::NoPython)
}

/// The command of this name in the environment of the interpreter that was named, as `torchrun` is.
fn beside(python: Option<&Path>, word: &OsStr) -> Option<PathBuf> {
    let folder = python?.parent().filter(|folder| !folder.as_os_str().is_empty())?;
    let is_name = Path::new(word).components().count() == 1;
    Some(folder.join(word)).filter(|path| is_name && is_executable(path))
}

/// The file that a shell would run for this word.
fn on_path(word: &OsStr) -> Result<PathBuf, Missing> {
    let name = word.to_string_lossy().into_owned();
    let not_found = || {
        let script = format!("{name}.py");
        let hint =
            if Path::new(&script).is_file() { format!(", did you mean {script}?") } else { String::new() };
        Missing::NotFound { name: name.clone(), hint }
    };
    if word.is_empty() {
        return Err(not_found());
    }
    if name.contains('/') {
        let path = PathBuf::from(word);
        return match (is_executable(&path), path.exists()) {
            (true, _) => Ok(path),
            (false, true) => Err(Missing::NotExecutable { name }),
            (false, false) => Err(not_found()),
        };
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let candidates: Vec<PathBuf> = env::split_paths(&path).map(|folder| folder.join(word)).collect();
    match candidates.iter().find(|path| is_executable(path)) {
        Some(path) => Ok(path.clone()),
        None if candidates.iter().any(|path| path.is_file()) => Err(Missing::NotExecutable { name }),
        None => Err(not_found()),
    }
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

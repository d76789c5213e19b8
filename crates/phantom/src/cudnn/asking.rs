//! A process in which the real cuDNN is asked: the same Python with nothing in it but this library and cuDNN. What cuDNN looks
//! for there, the driver and cuBLASLt, is this library too. The program itself is left alone: its own cuBLASLt is the real
//! one, and whatever cuDNN does, it does elsewhere.
//!
//! Questions and answers are lines. Where a question is not answered in time, none is asked again.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsString, c_char, c_int, c_uint, c_void};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::engines::{Engine, question, read_answer, tell};
use super::library;
use super::problem::Convolution;
use crate::card::card;
use crate::real;

/// The first question waits until cuDNN is loaded; all are answered in milliseconds then.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often the process looks whether anybody is left to ask.
const LOOKS_MS: c_int = 1000;
/// The names under which cuDNN looks for cuBLASLt.
const STAND_INS: [&CStr; 2] = [c"libcublasLt.so.12", c"libcublasLt.so.13"];

/// What the process runs. It is not a child of the program, which may wait for its own children.
const PROGRAM: &str = "import ctypes, os, sys\n\
    os.fork() and os._exit(0)\n\
    ctypes.CDLL(sys.argv[1]).oomph_phantom_cudnn(os.fsencode(sys.argv[2]), int(sys.argv[3]))";

/// What is known of the engines of a convolution.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// In cuDNN's order.
    pub(crate) engines: Vec<Engine>,
    /// Of cuDNN, such as 91900.
    pub(crate) version: usize,
}

/// The process, and what it has said.
struct Asking {
    /// Whose it is. After a fork the other one starts its own.
    owner: u32,
    /// `None` where it cannot be asked.
    process: Option<Process>,
    answers: BTreeMap<String, Vec<Engine>>,
}

struct Process {
    /// What is written here is asked; a process that is gone costs an error, and no signal.
    questions: UnixStream,
    answers: BufReader<UnixStream>,
    version: usize,
}

static ASKING: Mutex<Option<Asking>> = Mutex::new(None);

/// Which engines cuDNN would choose in some mode; `None` where it cannot be asked.
pub(crate) fn choice(mode: c_int, asked: &Convolution) -> Option<Choice> {
    let mut asking = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
    let owner = std::process::id();
    if asking.as_ref().is_none_or(|asking| asking.owner != owner) {
        *asking = Some(Asking { owner, process: Process::start(), answers: BTreeMap::new() });
    }
    let Asking { process, answers, .. } = asking.as_mut()?;
    let line = question(mode, asked);
    let version = process.as_ref()?.version;
    if let Some(engines) = answers.get(&line) {
        return Some(Choice { engines: engines.clone(), version });
    }
    let engines = process.as_mut().and_then(|process| process.ask(&line));
    if engines.is_none() {
        *process = None;
    }
    answers.insert(line, engines.clone()?);
    Some(Choice { engines: engines?, version })
}

impl Process {
    fn start() -> Option<Self> {
        let (library, cudnn) = (own_path()?, cudnn_path()?);
        let stand_ins = StandIns::make(&library)?;
        let mut paths = stand_ins.folder.clone().into_os_string();
        if let Some(had) = std::env::var_os("LD_LIBRARY_PATH").filter(|had| !had.is_empty()) {
            paths.push(":");
            paths.push(had);
        }
        let (ours, theirs) = UnixStream::pair().ok()?;
        ours.set_read_timeout(Some(PATIENCE)).ok()?;
        let mut starting = Command::new("/proc/self/exe")
            .args(["-I", "-S", "-c", PROGRAM])
            .args([library.as_os_str(), cudnn.as_os_str()])
            .arg(std::process::id().to_string())
            .env("LD_LIBRARY_PATH", paths)
            .stdin(OwnedFd::from(theirs.try_clone().ok()?))
            .stdout(OwnedFd::from(theirs))
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        // It leaves its own child behind at once. A program that does not want to know of its children has no answer.
        let _ = starting.wait();
        let mut process =
            Self { answers: BufReader::new(ours.try_clone().ok()?), questions: ours, version: 0 };
        process.version = process.hear()?.parse().ok()?;
        Some(process)
    }

    fn hear(&mut self) -> Option<String> {
        let mut line = String::new();
        let count = self.answers.read_line(&mut line).ok()?;
        (count > 0).then(|| line.trim_end().to_owned())
    }

    fn ask(&mut self, line: &str) -> Option<Vec<Engine>> {
        writeln!(self.questions, "{line}").ok()?;
        read_answer(&self.hear()?)
    }
}

/// A folder of our own in which this library has the names of others. It is gone once they are loaded.
struct StandIns {
    folder: PathBuf,
}

impl StandIns {
    fn make(library: &Path) -> Option<Self> {
        let name = format!("oomph-cudnn-{}-{:x}", std::process::id(), std::ptr::from_ref(&ASKING) as usize);
        let folder = std::env::temp_dir().join(name);
        fs::DirBuilder::new().mode(0o700).create(&folder).ok()?;
        let made = Self { folder };
        let link = |name: &CStr| symlink(library, made.folder.join(name.to_str().ok()?)).ok();
        STAND_INS.iter().try_for_each(|name| link(name))?;
        Some(made)
    }
}

impl Drop for StandIns {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[repr(C)]
struct Place {
    file: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    address: *mut c_void,
}

unsafe extern "C" {
    fn dladdr(address: *const c_void, place: *mut Place) -> c_int;
    fn poll(files: *mut Poll, count: c_uint, milliseconds: c_int) -> c_int;
    fn kill(process: c_int, signal: c_int) -> c_int;
}

#[repr(C)]
struct Poll {
    file: c_int,
    wanted: i16,
    seen: i16,
}

/// The file that a function is in.
fn file_of(function: *const c_void) -> Option<PathBuf> {
    let mut place = Place {
        file: std::ptr::null(),
        base: std::ptr::null_mut(),
        symbol: std::ptr::null(),
        address: std::ptr::null_mut(),
    };
    // SAFETY: the structure of glibc's `Dl_info`, which it fills.
    let found = unsafe { dladdr(function, &raw mut place) } != 0 && !place.file.is_null();
    // SAFETY: where an object is found, its name is a C string that lives as long as the object.
    let name = found.then(|| unsafe { CStr::from_ptr(place.file) })?;
    let path = PathBuf::from(OsString::from_vec(name.to_bytes().to_vec()));
    path.canonicalize().ok()
}

fn own_path() -> Option<PathBuf> {
    file_of(oomph_phantom_cudnn as *const c_void)
}

/// The cuDNN that the program has loaded.
fn cudnn_path() -> Option<PathBuf> {
    file_of(real::loaded(&[c"libcudnn.so.9"], c"cudnnGetVersion")?)
}

/// The process: answers the lines of its standard input until there are no more, or whoever asks is gone.
///
/// # Safety
/// `path` is a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn oomph_phantom_cudnn(path: *const c_char, owner: c_int) {
    // SAFETY: the caller's C string.
    let path: CString = unsafe { CStr::from_ptr(path) }.to_owned();
    // cuDNN looks for it when it is first asked: by then the folder is gone, and the name is known.
    if STAND_INS.iter().any(|name| !real::open(name)) {
        return;
    }
    let card = library::load(&path).map(|version| (version, library::property(card())));
    let Some((version, Some(card))) = card else { return };
    let mut output = std::io::stdout();
    if writeln!(output, "{version}").and_then(|()| output.flush()).is_err() {
        return;
    }
    let mut waiting = Vec::new();
    while let Some(line) = next_line(&mut waiting, owner) {
        if writeln!(output, "{}", tell(&line, &card)).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

/// The next line of the standard input; what was read beyond it is kept in `waiting`.
fn next_line(waiting: &mut Vec<u8>, owner: c_int) -> Option<String> {
    loop {
        if let Some(end) = waiting.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = waiting.drain(..=end).collect();
            return String::from_utf8(line).ok().map(|line| line.trim_end().to_owned());
        }
        let mut file = Poll { file: 0, wanted: 1, seen: 0 };
        // SAFETY: one structure, as C has it.
        let ready = unsafe { poll(&raw mut file, 1, LOOKS_MS) };
        // SAFETY: signal 0 only asks whether the process is there.
        if ready == 0 && unsafe { kill(owner, 0) } != 0 {
            return None;
        }
        if ready > 0 {
            let mut part = [0; 4096];
            let count = std::io::stdin().read(&mut part).ok().filter(|count| *count > 0)?;
            waiting.extend_from_slice(&part[..count]);
        }
    }
}

//! A process in which the real cuDNN is asked: the same Python without packages, this library and cuDNN. What cuDNN looks
//! for there, the driver and cuBLASLt, is this library too. The program itself is left alone: its own cuBLASLt is the real
//! one, and whatever cuDNN does, it does elsewhere.
//!
//! Questions and answers are numbered lines. Where a question is not answered in time, none is asked again.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsString, c_char, c_int, c_uint, c_ulong, c_void};
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use oomph_trace::phantom;

use super::engines::{Engine, question, read_answer, tell};
use super::library;
use super::problem::Convolution;
use super::splits;
use crate::card::card;
use crate::real;

/// The first question waits until cuDNN is loaded; all are answered in milliseconds then.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longer than anybody waits for an answer.
const MOST_SECONDS: c_uint = 60;
/// How often the process looks whether anybody is left to ask.
const LOOKS_MS: c_int = 1000;
/// The names under which cuDNN looks for cuBLASLt.
const STAND_INS: [&CStr; 2] = [c"libcublasLt.so.12", c"libcublasLt.so.13"];

/// Set in the process: a program that is not Python would ask again in its turn, and so on without end.
const GUARD: &str = "OOMPH_PHANTOM_ASKING";
/// By these cuDNN logs, to standard output or into a file of the user's.
const LOGS: [&str; 5] =
    ["CUDNN_LOGDEST_DBG", "CUDNN_LOGLEVEL_DBG", "CUDNN_LOGINFO_DBG", "CUDNN_LOGWARN_DBG", "CUDNN_LOGERR_DBG"];

/// What the process runs. It has no descriptors of the program's, which would keep locks and pipes alive; whatever is printed is
/// lost, and answers go where nobody prints. The first process ends at once: the program may wait for its own children, and
/// must not find one that lasts.
const PROGRAM: &str = "import os, resource, signal, sys\n\
    os.closerange(3, 65536)\n\
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n\
    signal.signal(signal.SIGALRM, signal.SIG_DFL)\n\
    os.dup2(1, 3)\n\
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)\n\
    os.fork() and os._exit(0)\n\
    import ctypes\n\
    ctypes.CDLL(sys.argv[1]).oomph_phantom_cudnn(os.fsencode(sys.argv[2]), int(sys.argv[3]), 3)";

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
    /// Of cuDNN.
    version: usize,
    /// `None` where it cannot be asked, or not any more.
    process: Option<Process>,
    answers: BTreeMap<String, Vec<Engine>>,
}

struct Process {
    /// What is written here is asked; a process that is gone costs an error, and no signal.
    questions: UnixStream,
    answers: BufReader<UnixStream>,
    /// What both are, as the system names them.
    names: [Option<PathBuf>; 2],
    /// Questions that were asked.
    count: u64,
}

static ASKING: Mutex<Option<Asking>> = Mutex::new(None);

/// Which engines cuDNN would choose in some mode; `None` where it cannot be asked.
pub(crate) fn choice(mode: c_int, asked: &Convolution) -> Option<Choice> {
    let mut asking = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
    let owner = std::process::id();
    if asking.as_ref().is_none_or(|asking| asking.owner != owner) {
        let (process, version) = Process::start().unzip();
        let version = version.unwrap_or_default();
        *asking = Some(Asking { owner, version, process, answers: BTreeMap::new() });
    }
    let Asking { process, answers, version, .. } = asking.as_mut()?;
    let (line, version) = (question(mode, asked), *version);
    if let Some(engines) = answers.get(&line) {
        return Some(Choice { engines: engines.clone(), version });
    }
    if process.as_ref().is_some_and(|process| !process.is_whole()) {
        // The program has closed what it did not open, and the numbers stand for something of its own.
        std::mem::forget(process.take());
    }
    let Some(engines) = process.as_mut()?.ask(&line) else {
        *process = None;
        return None;
    };
    answers.insert(line, engines.clone());
    Some(Choice { engines, version })
}

impl Process {
    /// Starts it; the version of its cuDNN.
    fn start() -> Option<(Self, usize)> {
        if std::env::var_os(GUARD).is_some() {
            return None;
        }
        let (library, cudnn) = (own_path()?, cudnn_path()?);
        let stand_ins = StandIns::make(&library)?;
        let mut paths = stand_ins.folder.clone().into_os_string();
        if let Some(had) = std::env::var_os("LD_LIBRARY_PATH").filter(|had| !had.is_empty()) {
            paths.push(":");
            paths.push(had);
        }
        let (ours, theirs) = UnixStream::pair().ok()?;
        // A copy is never one of the first three, which may be free: what the program prints would be asked.
        let (questions, answers) = (ours.try_clone().ok()?, ours.try_clone().ok()?);
        drop(ours);
        questions.set_read_timeout(Some(PATIENCE)).ok()?;
        let mut command = Command::new("/proc/self/exe");
        command
            .args(["-I", "-S", "-c", PROGRAM])
            .args([library.as_os_str(), cudnn.as_os_str()])
            .arg(std::process::id().to_string())
            .env("LD_LIBRARY_PATH", paths)
            .env(GUARD, "1")
            .env(phantom::VARIABLE, card().to_string())
            .stdin(OwnedFd::from(theirs.try_clone().ok()?))
            .stdout(OwnedFd::from(theirs))
            .stderr(Stdio::null());
        LOGS.iter().for_each(|name| _ = command.env_remove(name));
        let mut starting = command.spawn().ok()?;
        // The command has the other end too.
        drop(command);
        let names = [&questions, &answers].map(name);
        let mut process = Self { questions, answers: BufReader::new(answers), names, count: 0 };
        let version = process.hear().and_then(|line| line.parse().ok());
        if version.is_none() {
            let _ = starting.kill();
        }
        // It has left its own child behind. A program that does not want to know of its children has no answer.
        let _ = starting.wait();
        Some((process, version?))
    }

    /// Whether its descriptors are still its own.
    fn is_whole(&self) -> bool {
        [&self.questions, self.answers.get_ref()].map(name) == self.names
    }

    fn hear(&mut self) -> Option<String> {
        let mut line = String::new();
        let count = self.answers.read_line(&mut line).ok()?;
        (count > 0 && line.ends_with('\n')).then(|| line.trim_end().to_owned())
    }

    fn ask(&mut self, line: &str) -> Option<Vec<Engine>> {
        self.count += 1;
        writeln!(self.questions, "{} {line}", self.count).ok()?;
        let answer = self.hear()?;
        let (number, engines) = answer.split_once(' ')?;
        if number.parse() == Ok(self.count) { read_answer(engines) } else { None }
    }
}

/// What a descriptor is.
fn name(stream: &UnixStream) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", stream.as_raw_fd())).ok()
}

/// A folder of our own in which this library has the names of others. It is gone once they are loaded.
struct StandIns {
    folder: PathBuf,
}

impl StandIns {
    fn make(library: &Path) -> Option<Self> {
        let name = format!("oomph-cudnn-{:016x}", RandomState::new().build_hasher().finish());
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
    fn poll(files: *mut Poll, count: c_ulong, milliseconds: c_int) -> c_int;
    fn alarm(seconds: c_uint) -> c_uint;
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

/// The process: answers the lines of its standard input on another descriptor, until there are no more, or whoever asks is gone.
///
/// # Safety
/// `path` is a C string, and `answers` a descriptor that nobody else closes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn oomph_phantom_cudnn(path: *const c_char, owner: c_int, answers: c_int) {
    // SAFETY: the caller's C string.
    let path: CString = unsafe { CStr::from_ptr(path) }.to_owned();
    // SAFETY: the caller's descriptor.
    let mut output = unsafe { fs::File::from_raw_fd(answers) };
    hurry(true);
    // cuDNN looks for it when it is first asked: by then the folder is gone, and the name is known. Where another library is
    // found under the name, what cuDNN says would be of a machine without a GPU.
    let own = oomph_phantom_cudnn as *mut c_void;
    let is_ours =
        |name: &&CStr| real::open(name) && real::loaded(&[*name], c"oomph_phantom_cudnn") == Some(own);
    if !STAND_INS.iter().all(is_ours) {
        return;
    }
    let twin = library::load(&path).map(|version| (version, library::property(card())));
    let Some((version, Some(twin))) = twin else { return };
    let splits_of = (card().capability, version) == splits::KNOWN;
    let splits_of = splits_of.then(|| u64::from(card().multiprocessors));
    hurry(false);
    if writeln!(output, "{version}").is_err() {
        return;
    }
    let mut waiting = Vec::new();
    while let Some(line) = next_line(&mut waiting, owner) {
        let Some((number, question)) = line.split_once(' ') else { return };
        hurry(true);
        let answer = tell(question, &twin, splits_of);
        hurry(false);
        if writeln!(output, "{number} {answer}").is_err() {
            return;
        }
    }
}

/// From here on the process ends by itself if it does not get on; or not any more.
fn hurry(is_on: bool) {
    // SAFETY: it takes a number.
    unsafe { alarm(if is_on { MOST_SECONDS } else { 0 }) };
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
            let mut part = [0; 8192];
            let count = std::io::stdin().read(&mut part).ok().filter(|count| *count > 0)?;
            waiting.extend_from_slice(&part[..count]);
        }
    }
}

//! One run of the script on the phantom GPU, and what it left.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use oomph_diagnose::results::plan::PlannedPeaks;
use oomph_engine::recording::{Known, Recording};
use oomph_machine::run_folder::Notes;
use oomph_machine::{cores, explain};
use oomph_trace::Bytes;
use oomph_trace::cards::Card;
use oomph_trace::sidecar::{Exception, Link, MarkKind, MeasureNotes, PlanNotes, Stop};
use rustix::process::Pid;

use super::cards::{self, COMMUNICATOR, FIRST_COMMUNICATOR};
use super::phantom;
use crate::dump::dump;
use crate::folder::RunFolder;
use crate::job::Job;
use crate::{command, members, settings};

/// How often a child is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long a child has to write its recording when it is told to end.
const GRACE: Duration = Duration::from_secs(10);
/// The most that is kept of what a script prints.
const LONGEST_OUTPUT: u64 = 16 << 20;

/// Set for runs on the phantom, unless the user has set them: invented losses are sent to nobody, and a hub that does not
/// answer is not waited for. Where there is a network, the hub answers a question about a file in much less than a second.
const QUIET: [(&str, &str); 2] = [("WANDB_MODE", "disabled"), ("HF_HUB_ETAG_TIMEOUT", "5")];

/// Where what the script prints goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prints {
    /// To our standard error: standard output is the plan's.
    ToUser,
    /// Into its folder.
    ToFile,
}

/// What a run left.
#[derive(Debug, Default)]
pub struct Trial {
    /// What PyTorch counted.
    pub peaks: Option<PlannedPeaks>,
    /// Its allocations.
    pub recording: Option<Recording>,
    /// Optimizer steps that were seen.
    pub steps: u64,
    /// Why the run ended before the script did.
    pub stopped: Option<Stop>,
    /// What the process noted for the plan.
    pub notes: PlanNotes,
    /// What it noted of measures.
    pub measures: MeasureNotes,
    /// The peaks of every rank that was among its processes, by its number.
    pub ranks: BTreeMap<u32, PlannedPeaks>,
    /// Why the script failed, if it did: the exception's class and text.
    pub failure: Option<(String, String)>,
    /// [`Trial::held_between`], once it was asked for.
    pub(super) held_between: OnceLock<Option<(Bytes, Bytes)>>,
}

/// By so many times the larger matrix of a product what is held may be off where a compiler may pad it or not, and by less than
/// this part of it.
const PADDED: u64 = 2;
const MOST_PADDED: u64 = 8;

impl Trial {
    /// The least and the most that it may hold at its peak: by where the driver puts segments, and by what is in doubt.
    pub fn held_between(&self) -> Option<(Bytes, Bytes)> {
        let recording = self.recording.as_ref().filter(|recording| recording.is_exact());
        let between = || recording.map(|recording| cores::held_between(recording, &self.notes.doubts));
        let between = *self.held_between.get_or_init(between);
        between.map(|(least, most)| (least.saturating_sub(self.padded()), most + self.padded()))
    }

    /// How far what is held may be off because a compiler may pad products or not.
    pub fn padded(&self) -> Bytes {
        let most = self.peaks.map_or(0, |peaks| peaks.reserved.0 / MOST_PADDED);
        Bytes(self.notes.padded.saturating_mul(PADDED).min(most))
    }

    /// What the process holds of a card beside PyTorch's memory, with a context of that size.
    pub fn beside(&self, context: Bytes) -> Bytes {
        context + self.nccl() + self.late()
    }

    /// What NCCL's communicators hold of that.
    pub fn nccl(&self) -> Bytes {
        match self.notes.world.as_ref().map_or(0, |world| world.communicators) {
            0 => Bytes::ZERO,
            count => FIRST_COMMUNICATOR + Bytes(COMMUNICATOR.0 * u64::from(count - 1)),
        }
    }

    /// What may be kept of PyTorch's memory for longer than was seen: by NCCL, and by a GPU that still computes.
    pub fn late(&self) -> Bytes {
        self.buckets() + self.gathered()
    }

    /// DDP's first buckets, which NCCL may keep.
    pub fn buckets(&self) -> Bytes {
        Bytes(self.notes.world.as_ref().map_or(0, |world| world.late))
    }

    /// The parameters of two of FSDP1's units, with which the GPU may still compute.
    pub fn gathered(&self) -> Bytes {
        Bytes(self.notes.world.as_ref().map_or(0, |world| world.gathered))
    }

    /// Whether the process did all that it was asked to do.
    pub fn is_changed(&self) -> bool {
        !self.measures.remarks.iter().any(|remark| remark.starts_with("not changed"))
    }
}

/// What all runs of one plan share.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The phantom's library.
    pub library: PathBuf,
    /// How long a run may take.
    pub longest: Duration,
}

impl Stage {
    /// Runs the script once.
    pub fn run(&self, job: &Job, folder: &RunFolder, card: &Card, prints: Prints) -> io::Result<Trial> {
        let mut command = command::of(job, Some(folder), &settings::in_force());
        let devices = job.plan.and_then(|plan| plan.world?.per_node).unwrap_or(1);
        command.envs(phantom::variables(&self.library, &cards::endless_phantom(card, devices)));
        command.envs(QUIET.iter().filter(|(name, _)| env::var_os(name).is_none()).copied());
        self.run_command(command, folder, prints)
    }

    /// Runs the script once on the GPU that is there.
    pub fn run_on_gpu(&self, job: &Job, folder: &RunFolder) -> io::Result<Trial> {
        self.run_command(command::of(job, Some(folder), &settings::in_force()), folder, Prints::ToFile)
    }

    /// Runs the script once where it sees no GPU.
    pub fn run_on_cpu(&self, job: &Job, folder: &RunFolder) -> io::Result<Trial> {
        let mut command = command::of(job, Some(folder), &settings::in_force());
        command.envs([("CUDA_VISIBLE_DEVICES", ""), ("ACCELERATE_USE_CPU", "true")]);
        self.run_command(command, folder, Prints::ToFile)
    }

    fn run_command(&self, mut command: Command, folder: &RunFolder, prints: Prints) -> io::Result<Trial> {
        command.stdin(Stdio::null());
        match prints {
            Prints::ToUser => {
                command.stdout(Stdio::from(io::stderr().as_fd().try_clone_to_owned()?));
            }
            Prints::ToFile => {
                let file = OpenOptions::new().create(true).append(true).open(output_of(folder))?;
                command.stdout(Stdio::from(file.try_clone()?)).stderr(Stdio::from(file));
            }
        }
        let code = wait(&mut command.spawn()?, folder, self.longest);
        // Whether it ended well or not, what it left running has nothing more to do.
        members::end(&folder.path);
        Ok(read(folder, code?, self.longest))
    }
}

/// Where a run's output goes if the user does not see it.
pub fn output_of(folder: &RunFolder) -> PathBuf {
    folder.path.join("output.txt")
}

/// The child's exit code; `None` where it took too long and was ended, with its recording written if it still could.
fn wait(child: &mut Child, folder: &RunFolder, longest: Duration) -> io::Result<Option<i32>> {
    let began = Instant::now();
    while began.elapsed() <= longest {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.code().unwrap_or(-1)));
        }
        bound(&output_of(folder));
        thread::sleep(LOOK);
    }
    // It may be in a call that takes long, and never hear of it.
    let _ = dump(Pid::from_child(child).as_raw_pid(), GRACE);
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// Begins a file anew that has become too long. Whoever writes to it appends.
fn bound(path: &Path) {
    if fs::metadata(path).is_ok_and(|found| found.len() > LONGEST_OUTPUT) {
        let _ = OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(0));
    }
}

/// What lies in the folder. Of several processes, the one that held most.
fn read(folder: &RunFolder, code: Option<i32>, longest: Duration) -> Trial {
    let all = Notes::of_run(&folder.path);
    let peak = |notes: &Notes| peaks(notes).map(|peaks| peaks.reserved);
    let has_gradients =
        |notes: &Notes| notes.sidecar.measures.as_ref().map(|noted| !noted.gradients.is_empty());
    let mut trial = all.iter().max_by_key(|notes| (peak(notes), has_gradients(notes))).map_or_else(
        Trial::default,
        |main| {
            let marks = main.sidecar.marks.iter().filter(|mark| mark.kind == MarkKind::Step);
            let notes = main.sidecar.plan.clone().unwrap_or_default();
            Trial {
                peaks: peaks(main),
                recording: main.recordings.last().and_then(|path| recording(path)),
                steps: marks.map(|mark| mark.number).max().unwrap_or(0),
                stopped: notes.stopped.as_ref().and_then(|stop| stop.why),
                notes,
                measures: main.sidecar.measures.clone().unwrap_or_default(),
                ranks: all.iter().filter_map(|notes| Some((rank(notes)?, peaks(notes)?))).collect(),
                ..Trial::default()
            }
        },
    );
    let failed = all.iter().filter(|notes| notes.sidecar.exception.is_some());
    let exception =
        failed.min_by_key(|notes| notes.failed_us()).and_then(|notes| notes.sidecar.exception.clone());
    trial.failure = match (code, exception) {
        (Some(0), _) => None,
        (None, _) => {
            trial.stopped = Some(Stop::Time);
            let text = format!("no step was done within {} s", longest.as_secs());
            (trial.steps == 0).then(|| ("Timeout".to_owned(), text))
        }
        (Some(_), Some(exception)) => Some(
            lacking(&exception)
                .unwrap_or_else(|| (exception.class.unwrap_or_default(), exception.text.unwrap_or_default())),
        ),
        (Some(code), None) => Some(("exit".to_owned(), format!("exit code {code}"))),
    };
    trial
}

/// The module that is not there, where transformers says only what of its own could not be imported for want of it.
fn lacking(exception: &Exception) -> Option<(String, String)> {
    const LACKING: &str = "ModuleNotFoundError";
    exception.text.as_deref().filter(|text| text.starts_with("Could not import module"))?;
    let named = |link: &&Link| link.classes.first().is_some_and(|class| class == LACKING);
    let first = exception.chain.iter().rfind(named)?;
    Some((LACKING.to_owned(), first.text.clone()))
}

fn rank(notes: &Notes) -> Option<u32> {
    Some(notes.sidecar.plan.as_ref()?.world.as_ref()?.rank)
}

fn peaks(notes: &Notes) -> Option<PlannedPeaks> {
    let found = notes.sidecar.devices.iter().filter_map(|card| {
        Some(PlannedPeaks {
            requested: card.stats.peak_requested?,
            allocated: card.stats.peak_allocated?,
            reserved: card.stats.peak_reserved?,
        })
    });
    // A rank sees several cards and uses one; of equals the first.
    found.rev().max_by_key(|peaks| peaks.reserved)
}

fn recording(path: &Path) -> Option<Recording> {
    explain::recordings(path, Known::default()).ok()?.into_iter().next()
}

//! The columns of the table of jobs: which there are depends on how wide the screen is.

use oomph_diagnose::results::live::Activity;
use oomph_diagnose::results::status::{RecordedDevice, Status};
use oomph_diagnose::results::top::Job;
use oomph_trace::Bytes;

use super::words::{rate, short, short_time};
use crate::numbers::{count, known};

/// A job whose last note is older than this makes no steps, or very long ones.
const OLD_S: u64 = 15;

/// A column: its heading, its width, and from which width of the screen on it is there.
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) width: usize,
    from: usize,
    is_text: bool,
    cell: fn(&Job<'_>, &Status) -> String,
}

/// In their order. What is left of a line is the graph's.
const COLUMNS: &[Column] = &[
    Column { title: "PID", width: 7, from: 0, is_text: false, cell: |job, _| job.process.pid.to_string() },
    Column { title: "JOB", width: 11, from: 0, is_text: true, cell: |job, _| name(job) },
    Column { title: "GPU", width: 3, from: 110, is_text: false, cell: gpu },
    Column {
        title: "IN USE",
        width: 6,
        from: 0,
        is_text: false,
        cell: |job, _| amount(job, |d| d.memory.allocated),
    },
    Column {
        title: "CACHED",
        width: 6,
        from: 0,
        is_text: false,
        cell: |job, _| known(job.cached().map(short), "?"),
    },
    Column {
        title: "PEAK",
        width: 6,
        from: 0,
        is_text: false,
        cell: |job, _| amount(job, |d| d.memory.peak_allocated),
    },
    Column {
        title: "LEFT",
        width: 6,
        from: 0,
        is_text: false,
        cell: |job, _| known(job.distance().map(short), "?"),
    },
    Column {
        title: "LIMIT",
        width: 6,
        from: 100,
        is_text: false,
        cell: |job, _| known(job.device.and_then(|d| d.limit).map(short), "?"),
    },
    Column {
        title: "WEIGHTS",
        width: 7,
        from: 160,
        is_text: false,
        cell: |job, _| class(job, |d| Some(d.by_class?.weights)),
    },
    Column {
        title: "GRADS",
        width: 6,
        from: 160,
        is_text: false,
        cell: |job, _| class(job, |d| Some(d.by_class?.gradients)),
    },
    Column {
        title: "OPTIM",
        width: 6,
        from: 160,
        is_text: false,
        cell: |job, _| class(job, |d| Some(d.by_class?.optimizer)),
    },
    Column {
        title: "REST",
        width: 6,
        from: 160,
        is_text: false,
        cell: |job, _| known(job.rest().map(short), "?"),
    },
    Column {
        title: "RETRIES",
        width: 7,
        from: 130,
        is_text: false,
        cell: |job, _| number(job, |d| d.memory.retries),
    },
    Column {
        title: "FAILED",
        width: 6,
        from: 130,
        is_text: false,
        cell: |job, _| number(job, |d| d.memory.ooms),
    },
    Column {
        title: "STEP",
        width: 7,
        from: 0,
        is_text: false,
        cell: |job, _| known(job.process.live.steps.map(steps), "?"),
    },
    Column {
        title: "STEPS",
        width: 8,
        from: 110,
        is_text: false,
        cell: |job, _| known(job.process.live.steps_per_second.map(rate), "?"),
    },
    Column { title: "DOING", width: 13, from: 0, is_text: true, cell: |job, status| doing(job, status) },
];

/// The columns of a screen of this width.
pub(super) fn at(width: usize) -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(move |column| column.from <= width)
}

impl Column {
    /// The heading, in the column's width.
    pub(super) fn heading(&self) -> String {
        self.set(self.title)
    }

    /// What it says of a job, in the column's width.
    pub(super) fn of(&self, job: &Job<'_>, status: &Status) -> String {
        let text = (self.cell)(job, status);
        self.set(&text.chars().take(self.width).collect::<String>())
    }

    fn set(&self, text: &str) -> String {
        let width = self.width;
        if self.is_text { format!("{text:<width$}") } else { format!("{text:>width$}") }
    }
}

/// What a job is called: the script's name out of its run's, and the process where there may be several.
pub(super) fn name(job: &Job<'_>) -> String {
    let parts: Vec<&str> = job.process.run.split('-').collect();
    let script = match parts.as_slice() {
        [_, _, script @ .., _] if !script.is_empty() => script.join("-"),
        _ => job.process.run.clone(),
    };
    // The process first: of several ranks of a job it is what tells them apart.
    if job.process.name == "main" { script } else { format!("{} {script}", job.process.name) }
}

fn gpu(job: &Job<'_>, _: &Status) -> String {
    known(job.device.and_then(|device| device.gpu), "?")
}

fn amount(job: &Job<'_>, figure: fn(&RecordedDevice) -> Bytes) -> String {
    known(job.device.map(|device| short(figure(device))), "?")
}

fn class(job: &Job<'_>, figure: fn(&RecordedDevice) -> Option<Bytes>) -> String {
    known(job.device.and_then(figure).map(short), "?")
}

fn number(job: &Job<'_>, figure: fn(&RecordedDevice) -> u64) -> String {
    known(job.device.map(|device| count(figure(device))), "?")
}

/// Steps that are done, in at most seven characters.
fn steps(n: u64) -> String {
    match n {
        n if n < 1_000_000 => count(n),
        n if n < 1_000_000_000 => format!("{:.1}M", n as f64 / 1e6),
        n => format!("{:.0}M", n as f64 / 1e6),
    }
}

/// What a job does, and for how long where that takes seconds.
pub(super) fn doing(job: &Job<'_>, status: &Status) -> String {
    let live = job.process.live;
    let Some(activity) = live.activity else { return "no step yet".to_owned() };
    let since = live.since_us.map(|since| status.taken_us.saturating_sub(since) / 1_000_000).unwrap_or(0);
    match activity {
        Activity::Training if since > OLD_S => format!("no step {}", short_time(since)),
        Activity::Training => activity.name().to_owned(),
        _ => format!("{} {}", activity.name(), short_time(since)),
    }
}

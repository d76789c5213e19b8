//! The screen of one job.

use oomph_diagnose::results::live::LimitedBy;
use oomph_diagnose::results::status::RecordedDevice;
use oomph_diagnose::results::top::{Job, Top};
use oomph_trace::Bytes;

use super::graph::{bar, graph};
use super::words::{rate, short_time};
use super::{Line, Size, View, columns, list};
use crate::numbers::{count, counted, known};
use crate::text::status::command;

/// Where figures begin, and bars.
const LABEL: usize = 18;
const FIGURE: usize = 11;
/// The highest graph.
const HIGHEST: usize = 8;

/// The lines of the screen.
pub(super) fn lines(top: &Top<'_>, job: &Job<'_>, view: &View, size: Size) -> Vec<Line> {
    let (process, status) = (job.process, top.status);
    let gpu = job.device.and_then(|device| device.gpu).map(|gpu| format!(" on GPU {gpu}"));
    let title = format!("{}: process {}{}", columns::name(job), process.pid, gpu.unwrap_or_default());
    let user = process.process.user.as_deref().unwrap_or("?");
    let ran = known(job.running_s(status).map(short_time), "?");
    let age = known(job.age_s(status).map(short_time), "?");
    let mut lines = vec![
        Line::strong(title),
        Line::plain(format!("  {}", command(&process.process))),
        Line::plain(format!("  run {}, by {user}, for {ran}; figures {age} old", process.run)),
        Line::plain(format!("  {}", steps(job, &columns::doing(job, status)))),
        Line::plain(""),
    ];
    let Some(device) = job.device else {
        lines
            .push(Line::plain("  no figures yet: they are noted when a step of an optimizer ends; `d` asks"));
        return lines;
    };
    lines.extend(memory(job, device, view, size.width));
    lines.extend(classes(job, device, view, size.width));
    lines.push(Line::plain(""));
    lines.extend(list::warning(job).map(|text| Line::warning(format!("  ! {text}"))));
    lines.extend(history(device, view, size, lines.len()));
    lines
}

fn steps(job: &Job<'_>, doing: &str) -> String {
    let live = job.process.live;
    let rate = live.steps_per_second.map(|steps| format!(" at {}", rate(steps)));
    let device = job.device.map(|device| {
        let (retries, failures) = (device.memory.retries, device.memory.ooms);
        let retries = if retries == 1 { "1 retry".to_owned() } else { format!("{} retries", count(retries)) };
        format!("; {retries}, {}", counted(failures, "failure"))
    });
    let done = live.steps.map_or_else(|| "no step".to_owned(), |steps| counted(steps, "step"));
    format!("{done} done{}; {doing}{}", rate.unwrap_or_default(), device.unwrap_or_default())
}

fn figure(label: &str, bytes: Bytes, beside: &str) -> Line {
    Line::plain(format!("  {label:<LABEL$}{:>FIGURE$}  {beside}", bytes.to_string()))
}

fn memory(job: &Job<'_>, device: &RecordedDevice, view: &View, width: usize) -> Vec<Line> {
    let memory = device.memory;
    let mut lines = Vec::new();
    let (in_use, cached, left) = if view.ascii { ('#', '+', '.') } else { ('█', '▒', '░') };
    let room = width.saturating_sub(4 + LABEL + FIGURE + 2).min(60);
    let bar = device.limit.map(|limit| {
        let share = |bytes: Bytes| bytes.share_of(limit);
        let parts = [(share(memory.allocated), in_use), (share(job.cached().unwrap_or_default()), cached)];
        format!("[{}]", bar(&parts, room, left))
    });
    lines.push(figure("in use", memory.allocated, &bar.unwrap_or_default()));
    lines.push(figure("cached", job.cached().unwrap_or_default(), "held by PyTorch, not in use"));
    if let Some((limit, distance)) = device.limit.zip(job.distance()) {
        let by = match device.limited_by {
            Some(LimitedBy::Limit) => "its limit",
            _ => "what the card has for it",
        };
        lines.push(figure("left", distance, &format!("to {limit}, {by}")));
    }
    lines.push(figure("peak", memory.peak_allocated, &format!("{} held at most", memory.peak_reserved)));
    lines.extend(job.used.map(|used| figure("process", used, "held on the GPU, as the driver says")));
    lines
}

/// What is in use by what it is for, and what a step needs on top of that.
fn classes(job: &Job<'_>, device: &RecordedDevice, view: &View, width: usize) -> Vec<Line> {
    let mut lines = vec![Line::plain("")];
    let Some(known) = device.by_class else {
        lines
            .push(Line::plain("  what of it is weights, gradients and state is known after the second step"));
        return lines;
    };
    lines.push(Line::strong("  in use when a step has ended"));
    let rows = [
        ("weights", known.weights),
        ("gradients", known.gradients),
        ("optimizer state", known.optimizer),
        ("buffers", known.buffers),
        ("rest", job.rest().unwrap_or_default()),
    ];
    let room = width.saturating_sub(4 + LABEL + FIGURE + 2).min(40);
    let sign = if view.ascii { '#' } else { '█' };
    for (label, bytes) in rows.into_iter().filter(|(label, bytes)| *bytes > Bytes::ZERO || *label == "rest") {
        let share = bytes.share_of(device.memory.peak_allocated);
        lines.push(figure(label, bytes, bar(&[(share, sign)], room, ' ').trim_end()));
    }
    let more = device.memory.peak_allocated.saturating_sub(device.memory.allocated);
    let share = more.share_of(device.memory.peak_allocated);
    let what = bar(&[(share, sign)], room, ' ');
    lines.push(figure("more at the peak", more, what.trim_end()));
    lines
}

fn history(device: &RecordedDevice, view: &View, size: Size, above: usize) -> Vec<Line> {
    let (Some(first), Some(last)) = (device.history.first(), device.history.last()) else {
        return Vec::new();
    };
    let height = size.height.saturating_sub(above + 1).min(HIGHEST);
    if height == 0 {
        return Vec::new();
    }
    let seconds = last.time_us.saturating_sub(first.time_us) / 1_000_000;
    let values = || device.history.iter().map(|sample| sample.allocated);
    let (least, most) = (values().min().unwrap_or_default(), values().max().unwrap_or_default());
    let title = format!("  in use at the ends of steps, the last {}, {least} to {most}", short_time(seconds));
    let mut lines = vec![Line::strong(title)];
    let room = size.width.saturating_sub(4).min(120);
    lines.extend(
        graph(&device.history, room, height, view.ascii).iter().map(|row| Line::plain(format!("  {row}"))),
    );
    lines
}

//! The screen with all GPUs, jobs and other processes.

use oomph_diagnose::results::status::{Gpu, GpuProcess, Status};
use oomph_diagnose::results::top::{Job, Top};
use oomph_trace::Bytes;

use super::graph::{bar, graph};
use super::words::{about, short};
use super::{Line, Size, Tone, View, columns};
use crate::numbers::{count, counted, known};
use crate::text::status::described;

/// The widest graph of a job: ten minutes with a column for every ten seconds.
const WIDEST: usize = 60;

/// The lines of the screen, at most as many as it is high.
pub(super) fn lines(top: &Top<'_>, view: &View, size: Size) -> Vec<Line> {
    let mut lines = vec![Line::strong(title(top, view))];
    gpus(&mut lines, top.status, view, size);
    ram(&mut lines, top.status, view, size.width);
    lines.push(Line::plain(""));
    let mut body = jobs(top, view, size.width);
    body.extend(others(top).into_iter().map(|line| (line, None)));
    let room = size.height.saturating_sub(lines.len());
    lines.extend(scrolled(body, view.chosen, room));
    lines
}

fn title(top: &Top<'_>, view: &View) -> String {
    let status = top.status;
    let host = if status.host_name.is_empty() { "this machine" } else { &status.host_name };
    let (gpus, jobs) = (counted(status.gpus.listed.len(), "GPU"), counted(top.jobs.len(), "job"));
    let others = match top.others.len() {
        1 => "1 other process".to_owned(),
        others => format!("{} other processes", count(others)),
    };
    format!("oomph top, {host}: {gpus}, {jobs} by {}, {others}", view.sort.name())
}

/// A line for each GPU; where there are many, one for the rest.
fn gpus(lines: &mut Vec<Line>, status: &Status, view: &View, size: Size) {
    lines.extend(status.gpus.no_gpu.as_ref().map(|why| Line::plain(format!("no GPU: {why}"))));
    let all = &status.gpus.listed;
    let most = (size.height / 3).max(2);
    let shown = if all.len() > most { most - 1 } else { all.len() };
    for gpu in &all[..shown] {
        let label = format!("GPU {}", gpu.index);
        let name = gpu.name.as_deref().unwrap_or("no name");
        lines.push(memory_line(&label, name, gpu.memory.used, gpu.memory.total, view, size.width));
        lines.extend(gpu.problem.as_ref().map(|problem| Line::warning(format!("       {problem}"))));
    }
    let rest = &all[shown..];
    if !rest.is_empty() {
        let sum = |figure: fn(&Gpu) -> Option<Bytes>| rest.iter().map(figure).sum::<Option<Bytes>>();
        let (used, total) = (sum(|gpu| gpu.memory.used), sum(|gpu| gpu.memory.total));
        let name = format!("{} more", rest.len());
        lines.push(memory_line("GPUs", &name, used, total, view, size.width));
    }
}

fn ram(lines: &mut Vec<Line>, status: &Status, view: &View, width: usize) {
    if let Some(ram) = status.ram {
        let used = ram.total.saturating_sub(ram.available);
        lines.push(memory_line("RAM", "", Some(used), Some(ram.total), view, width));
    }
}

/// A label, a name, a bar, and the figures.
fn memory_line(
    label: &str,
    name: &str,
    used: Option<Bytes>,
    total: Option<Bytes>,
    view: &View,
    width: usize,
) -> Line {
    let (Some(used), Some(total)) = (used, total) else {
        return Line::plain(format!("{label:<7}{name}: its memory is unknown"));
    };
    let share = used.share_of(total);
    let figures = format!("{} of {} used, {:.0}%", short(used), short(total), share * 100.0);
    let name: String = name.chars().take(22).collect();
    let head = format!("{label:<7}{name:<22} ");
    let room = width.saturating_sub(head.chars().count() + 2 + 1 + 27).max(5);
    let signs = if view.ascii { ('#', '.') } else { ('█', '░') };
    Line::plain(format!("{head}[{}] {figures}", bar(&[(share, signs.0)], room, signs.1)))
}

/// The table of jobs: each line with the place of its job.
fn jobs(top: &Top<'_>, view: &View, width: usize) -> Vec<(Line, Option<usize>)> {
    if top.jobs.is_empty() {
        let text = "no job runs under `oomph run` that this user may see: oomph run train.py";
        return vec![(Line::plain(text), None)];
    }
    let cells: Vec<String> = columns::at(width).map(columns::Column::heading).collect();
    let mut lines = vec![(Line::strong(format!("{} HISTORY", cells.join(" "))), None)];
    for (at, job) in top.jobs.iter().enumerate() {
        let tone = if at == view.chosen { Tone::Chosen } else { Tone::Plain };
        lines.push((Line { text: row(job, top.status, view, width), tone }, Some(at)));
        lines.extend(warning(job).map(|text| (Line::warning(format!("        ! {text}")), Some(at))));
    }
    lines
}

fn row(job: &Job<'_>, status: &Status, view: &View, width: usize) -> String {
    let cells: Vec<String> = columns::at(width).map(|column| column.of(job, status)).collect();
    let head = cells.join(" ");
    let room = width.saturating_sub(head.chars().count() + 1).min(WIDEST);
    let history = job.device.map(|device| device.history.as_slice()).unwrap_or_default();
    format!("{head} {}", graph(history, room, 1, view.ascii).concat())
}

/// What needs somebody: growth that will reach the limit.
pub(super) fn warning(job: &Job<'_>) -> Option<String> {
    let left = about(job.warned_s()?);
    let growth = job.device?.growth?;
    Some(format!("grows {} a minute: {left} left at this rate", growth.per_minute))
}

fn others(top: &Top<'_>) -> Vec<Line> {
    if top.others.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Line::plain(""), Line::strong("    PID GPU USER         USED OTHER PROCESSES")];
    lines.extend(top.others.iter().map(|(gpu, process)| Line::plain(other(*gpu, process))));
    lines
}

fn other(gpu: u32, process: &GpuProcess) -> String {
    let user = process.process.as_ref().and_then(|who| who.user.as_deref());
    let user: String = known(user, "?").chars().take(10).collect();
    let used = known(process.used.map(short), "?");
    format!("{:>7} {gpu:>3} {user:<10} {used:>6} {}", process.pid, described(process))
}

/// As many of the lines as there is room for, so that the chosen job is among them.
fn scrolled(body: Vec<(Line, Option<usize>)>, chosen: usize, room: usize) -> Vec<Line> {
    if body.len() <= room || room == 0 {
        return body.into_iter().map(|(line, _)| line).take(room).collect();
    }
    let last = body.iter().rposition(|(_, job)| *job == Some(chosen)).unwrap_or(0);
    // The last line says how many there are below.
    let first = (last + 2).saturating_sub(room);
    let below = body.len() - first.min(body.len()) - (room - 1);
    let shown = body.into_iter().skip(first).take(room - 1).map(|(line, _)| line);
    let more = (below > 0).then(|| Line::plain(format!("        and {} below", counted(below, "line"))));
    shown.chain(more).collect()
}

//! Writes a generated recording: `generate OUT.pickle --events 1000000 --depth 60 [--oom] [--protocol 4] [--seed N]`.
//!
//! More options: `--stacks N`, `--streams N`, `--minor N` (PyTorch 2.N), `--conf SETTINGS`, `--limit SIZE`, `--static`,
//! `--cpp` (the C++ pickler's style), `--window N` (only the last N events).

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;

use oomph_engine::torch::options::Options;
use oomph_engine::torch::profile::{Profile, Version};
use oomph_testkit::generate::{Ending, Job, window};
use oomph_testkit::pickle::{self, Format, Style};

fn main() -> Result<(), Box<dyn Error>> {
    let mut job = Job { stacks: 2000, ..Job::default() };
    let mut style = Style::Python { protocol: 4 };
    let (mut path, mut conf, mut last) = (None, String::new(), None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} takes a value"));
        match argument.as_str() {
            "--events" => job.events = value()?.parse()?,
            "--depth" => job.stack_depth = value()?.parse()?,
            "--stacks" => job.stacks = value()?.parse()?,
            "--streams" => job.streams = value()?.parse()?,
            "--seed" => job.seed = value()?.parse()?,
            "--minor" => job.version = Version::two(value()?.parse()?),
            "--conf" => conf = value()?,
            "--limit" => job.limit = Some(value()?.parse()?),
            "--protocol" => style = Style::Python { protocol: value()?.parse()? },
            "--window" => last = Some(value()?.parse()?),
            "--oom" => job.ending = Ending::OutOfMemory,
            "--static" => job.ragged = false,
            "--cpp" => style = Style::Cpp,
            _ if path.is_none() && !argument.starts_with('-') => path = Some(argument),
            _ => return Err(format!("`{argument}` is not an option of this program").into()),
        }
    }
    let path = path.ok_or("a file to write is missing")?;
    job.options = Options::parse(&conf, &Profile::of(job.version))?;
    let mut snapshot = job.record();
    if let Some(last) = last {
        snapshot = window(snapshot, last);
    }
    let format = Format { style, version: job.version };
    pickle::write(&snapshot, format, BufWriter::with_capacity(1 << 20, File::create(path)?))?;
    Ok(())
}

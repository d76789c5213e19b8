//! `oomph dump`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use oomph_launch::dump;
use oomph_report::json;

use crate::args::{Common, Dump};
use crate::output;

pub(crate) fn run(args: &Dump, common: &Common) -> Result<()> {
    let written = dump::dump(args.pid, Duration::from_secs(args.wait))?;
    let here = std::env::current_dir().unwrap_or_default();
    let shown = |path: &PathBuf| path.strip_prefix(&here).unwrap_or(path).display().to_string();
    let paths: Vec<String> = written.iter().map(shown).collect();
    let text = if common.json {
        json::printed(&json::dump(&paths))
    } else {
        paths.iter().map(|path| format!("{path}\n")).collect()
    };
    output::write(&text, common)
}

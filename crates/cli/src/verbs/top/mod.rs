//! `oomph top`: once, or in a terminal until somebody quits.

mod keys;
mod terminal;
mod state;

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use oomph_diagnose::results::top::Top as Found;
use oomph_launch::dump;
use oomph_machine::status::{Roots, gather};
use oomph_report::{json, text};

use self::state::{State, Wish};
use self::terminal::Terminal;
use crate::args::{Common, Top, UsageError};
use crate::output;
use crate::verbs::status::pause;

/// How long a job is given to write its recording.
const DUMP: Duration = Duration::from_secs(30);
/// How often the size of the terminal is looked at, and whether a dump is there.
const TICK: Duration = Duration::from_millis(200);

pub(crate) fn run(args: &Top, common: &Common) -> Result<()> {
    let every = pause("--every", args.every, 3600.0)?;
    let ascii = !shows_utf8(|name| std::env::var(name).ok());
    if args.once || common.json {
        let status = gather(&Roots::here());
        let top = Found::of(&status, args.sort.sort());
        let shown = match common.json {
            true => json::printed(&json::top(&top)),
            false => text::top::once(&top, args.sort.sort(), ascii),
        };
        return output::write(&shown, common);
    }
    if common.output.is_some() {
        return Err(UsageError("top has no end to write to a file: add --once".to_owned()).into());
    }
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(
            UsageError("top needs a terminal: `oomph top --once` prints one screen".to_owned()).into()
        );
    }
    watch(&Roots::here(), every, State::new(args.sort.sort(), ascii), common)
}

/// Whether the terminal is said to show UTF-8, by the first of these variables that is set.
fn shows_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable).find(|value| !value.is_empty());
    set.is_some_and(|value| value.to_ascii_lowercase().replace('-', "").ends_with("utf8"))
}

fn watch(roots: &Roots, every: Duration, mut state: State, common: &Common) -> Result<()> {
    let (send, dumped) = mpsc::channel();
    let mut terminal = Terminal::take(output::colour(common))?;
    let mut status = gather(roots);
    let mut due = Instant::now() + every;
    loop {
        if Instant::now() >= due {
            status = gather(roots);
            due = Instant::now() + every;
        }
        said(&dumped, &mut state);
        let top = Found::of(&status, state.view.sort);
        state.follow(&top);
        let size = terminal.size();
        terminal.show(text::top::frame(&top, &state.view, size), size)?;
        let patience = due.saturating_duration_since(Instant::now()).min(TICK);
        let Some(keys) = terminal.keys(patience)? else { return Ok(()) };
        for key in keys {
            match state.press(key, &top) {
                Wish::Nothing => {}
                Wish::Quit => return Ok(()),
                Wish::Suspend => terminal.suspend()?,
                Wish::Dump(pid) => {
                    state.view.message = Some(format!("asking process {pid} for its recording"));
                    ask(pid, send.clone());
                }
            }
        }
    }
}

/// Has a job write its recording, and says how that went.
fn ask(pid: u32, say: Sender<String>) {
    thread::spawn(move || {
        let done = i32::try_from(pid).map_err(anyhow::Error::from).and_then(|pid| dump::dump(pid, DUMP));
        // Nobody listens any more once the program has ended.
        let _ = say.send(match done {
            Ok(paths) => {
                let shown: Vec<String> = paths.iter().map(|path| shortest(path)).collect();
                format!("written: {}", shown.join(", "))
            }
            Err(error) => format!("{error:#}"),
        });
    });
}

/// The path from here, where the file is below.
fn shortest(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}

fn said(dumped: &Receiver<String>, state: &mut State) {
    while let Ok(text) = dumped.try_recv() {
        state.view.message = Some(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf8_is_what_the_first_variable_that_is_set_says() {
        let check = |set: &[(&str, &str)], expected: bool| {
            let variable = |name: &str| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(shows_utf8(variable), expected, "{set:?}");
        };
        check(&[], false);
        check(&[("LANG", "C.UTF-8")], true);
        check(&[("LANG", "de_DE.utf8"), ("LC_ALL", "")], true);
        check(&[("LANG", "C.UTF-8"), ("LC_ALL", "C")], false);
        check(&[("LANG", "C"), ("LC_CTYPE", "en_US.UTF-8")], true);
        check(&[("LANG", "de_DE.ISO-8859-1")], false);
    }
}

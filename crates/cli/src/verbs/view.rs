//! `oomph view`.

use std::io::{self, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context, Result, anyhow};
use oomph_engine::recording::Known;
use oomph_machine::run_folder;
use oomph_machine::view::{Session, Token, has_browser, inputs, open, serve, single_file};
use oomph_report::view::Budget;

use crate::args::{Common, UsageError, View};
use crate::output;

/// How long a browser has to read the file that leads it to the page.
const READ: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &View, common: &Common) -> Result<()> {
    for (given, flag) in [(common.json, "--json"), (common.output.is_some(), "--output")] {
        if given {
            return Err(
                UsageError(format!("{flag} is not for view: --html FILE writes the page to a file")).into()
            );
        }
    }
    if let Some(path) = args.html.as_ref().filter(|path| path.exists() && !common.force) {
        return Err(anyhow!("{} exists: pass --force to overwrite it", path.display()));
    }
    let known = Known { version: args.profile, limit: args.limit };
    let session = Session::new(inputs(&sources(&args.files)?, known)?);
    if let Some(path) = &args.html {
        return output::write_file(path, &single_file(&session, Budget::default()), common.force);
    }
    let failed = |error: io::Error| {
        anyhow!("cannot listen on 127.0.0.1:{}: {error}: name another port with --port", args.port)
    };
    let listener = TcpListener::bind(("127.0.0.1", args.port)).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let token = Token::random().context("cannot make a token")?;
    let address = format!("http://127.0.0.1:{port}/{}/", token.text());
    writeln!(io::stdout(), "{address}")?;
    thread::scope(|scope| {
        scope.spawn(|| session.warm_up());
        let opens = !args.no_browser && has_browser();
        if opens {
            scope.spawn(|| lead(&address));
        }
        if !common.quiet {
            output::complain(if opens {
                "oomph: serving this page and opening it; ^C ends it"
            } else {
                "oomph: serving this page: open the address in a browser; ^C ends it"
            });
        }
        serve(&listener, &token, &session)
    })
}

/// Opens the browser, and removes what led it here.
fn lead(address: &str) {
    match open(address) {
        Ok(file) => {
            thread::sleep(READ);
            // Somebody else may have removed it.
            let _ = fs::remove_file(file);
        }
        Err(error) => {
            output::complain(&format!("oomph: cannot open a browser: {error}: open the address in one"));
        }
    }
}

/// What is named; where nothing is, the last run here.
fn sources(files: &[PathBuf]) -> Result<Vec<PathBuf>> {
    if let Some(twice) = files.iter().position(|file| file == Path::new("-")).filter(|_| files.len() > 1) {
        return Err(UsageError(format!("standard input (file {}) can only be named alone", twice + 1)).into());
    }
    if !files.is_empty() {
        return Ok(files.to_vec());
    }
    let last = run_folder::last_run();
    last.map(|run| vec![run]).ok_or_else(|| {
        UsageError("name a snapshot or a run's folder: there is no run in .oomph here".to_owned()).into()
    })
}

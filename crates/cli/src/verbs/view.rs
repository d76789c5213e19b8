//! `oomph view`.

use std::io::{self, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context, Result, anyhow};
use oomph_machine::run_folder;
use oomph_machine::view::{Session, Token, has_browser, inputs, open, serve, single_file};
use oomph_report::view::Budget;

use crate::args::{Common, UsageError, View};
use crate::output;

/// How long a browser has to read the file that leads it to the page.
const READ: Duration = Duration::from_secs(30);
/// Recordings that take longer to read are read while the browser starts. What is wrong with others is said before.
const SOON: Duration = Duration::from_millis(200);

pub(crate) fn run(args: &View, common: &Common) -> Result<()> {
    for (given, flag) in [(common.json, "--json"), (common.output.is_some(), "--output")] {
        if given {
            return Err(
                UsageError(format!("{flag} is not for view: --html FILE writes the page to a file")).into()
            );
        }
    }
    if let Some(path) = &args.html {
        output::check_free(path, common.force)?;
    }
    let (files, known) = (sources(&args.files)?, args.recorded.known());
    if let Some(path) = &args.html {
        let session = Session::new(inputs(&files, known)?);
        return output::write_file(path, &single_file(&session, Budget::default()), common.force);
    }
    let (send, read) = mpsc::channel();
    thread::spawn(move || send.send(inputs(&files, known).map(Session::new)));
    let session: Arc<OnceLock<Session>> = Arc::default();
    match read.recv_timeout(SOON) {
        Ok(found) => drop(session.set(found?)),
        Err(RecvTimeoutError::Timeout) => {}
        Err(RecvTimeoutError::Disconnected) => return Err(anyhow!(GONE)),
    }
    let server = start(args, common, Arc::clone(&session))?;
    if session.get().is_none() {
        drop(session.set(read.recv().context(GONE)??));
    }
    session.wait().warm_up();
    server.join().map_err(|_| anyhow!("the page is not served any more"))
}

/// The reader is another thread, which ends early only if it panics, and says so itself.
const GONE: &str = "the recording could not be read";

/// Serves the page from here on, and opens it.
fn start(args: &View, common: &Common, session: Arc<OnceLock<Session>>) -> Result<thread::JoinHandle<()>> {
    let failed = |error: io::Error| {
        anyhow!("cannot listen on 127.0.0.1:{}: {error}: name another port with --port", args.port)
    };
    let listener = TcpListener::bind(("127.0.0.1", args.port)).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let token = Token::random().context("cannot make a token")?;
    let address = format!("http://127.0.0.1:{port}/{}/", token.text());
    writeln!(io::stdout(), "{address}")?;
    let opens = !args.no_browser && has_browser();
    if opens {
        thread::spawn(move || lead(&address));
    }
    if !common.quiet {
        output::complain(if opens {
            "oomph: serving this page and opening it; ^C ends it"
        } else {
            "oomph: serving this page: open the address in a browser; ^C ends it"
        });
    }
    Ok(thread::spawn(move || serve(&listener, &token, &session)))
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

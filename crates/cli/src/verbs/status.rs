//! `oomph status`.

use std::io::{self, IsTerminal, Write};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};
use oomph_machine::serve;
use oomph_machine::status::{Roots, gather};
use oomph_report::{json, prometheus, text};

use crate::args::{Common, Status, UsageError};
use crate::output;

/// Once, again and again, or for whoever asks.
pub(crate) fn run(args: &Status, common: &Common) -> Result<()> {
    let endless = args.watch.map(|_| "--watch").or(args.serve.as_ref().map(|_| "--serve"));
    if let Some(flag) = endless.filter(|_| common.output.is_some()) {
        return Err(UsageError(format!("{flag} has no end to write to a file: leave --output out")).into());
    }
    let roots = Roots::here();
    match (args.watch, args.serve.as_deref()) {
        (None, None) => output::write(&shown(&roots, common), common),
        (Some(seconds), _) => watch(&roots, pause("--watch", seconds, 86_400.0)?, common),
        (None, Some(address)) => serve_at(address, roots, common),
    }
}

fn shown(roots: &Roots, common: &Common) -> String {
    let status = gather(roots);
    if common.json {
        json::document(vec![json::status(&status)])
    } else {
        text::status::render(&status, output::colour(common))
    }
}

/// The pause that a flag asks for, in seconds.
pub(super) fn pause(flag: &str, seconds: f64, most: f64) -> Result<Duration> {
    if !(0.1..=most).contains(&seconds) {
        let text = format!("{flag} {seconds}: write a pause between 0.1 and {most} seconds");
        return Err(UsageError(text).into());
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// On a terminal each screen takes the place of the one before; elsewhere it follows it, after an empty line.
fn watch(roots: &Roots, pause: Duration, common: &Common) -> Result<()> {
    let mut out = io::stdout();
    let redraws = out.is_terminal() && !common.json;
    let mut first = true;
    loop {
        let text = shown(roots, common);
        if redraws {
            // To the corner; each line clears what it does not cover, and the last all that is below.
            let clear = if first { "\x1b[2J" } else { "" };
            let text = text.replace('\n', "\x1b[K\n");
            write!(out, "{clear}\x1b[H{text}\x1b[J")?;
        } else {
            write!(out, "{}{text}", if first || common.json { "" } else { "\n" })?;
        }
        out.flush()?;
        first = false;
        thread::sleep(pause);
    }
}

fn serve_at(address: &str, roots: Roots, common: &Common) -> Result<()> {
    let failed = |error: io::Error| {
        anyhow!("cannot listen on {address}: {error}: name another address with --serve HOST:PORT")
    };
    let listener = TcpListener::bind(resolved(address)?.as_slice()).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    if !common.quiet {
        output::complain(&format!("oomph: serving http://{bound}{}; ^C ends it", serve::PATH));
    }
    let page = serve::Page {
        content_type: prometheus::CONTENT_TYPE,
        body: move || prometheus::status(&gather(&roots)),
    };
    serve::forever(&listener, &page)
}

/// An address and a port, or a port alone, which is then open to this machine only.
fn resolved(address: &str) -> Result<Vec<SocketAddr>> {
    if let Ok(port) = address.parse::<u16>() {
        return Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]);
    }
    let found = address.to_socket_addrs().map_err(|_| {
        UsageError(format!("`{address}` is not an address: write HOST:PORT or PORT, such as 127.0.0.1:9751"))
    })?;
    Ok(found.collect())
}

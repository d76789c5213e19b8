//! `oomph fit`.

use std::process::ExitCode;

use anyhow::Result;
use oomph_launch::fit::fitter;
use oomph_launch::fit::request::Request;
use oomph_launch::job::{Job, PlanRequest};
use oomph_launch::members;
use oomph_machine::status;
use oomph_report::{json, text};
use oomph_trace::cards::card_named;

use super::{plan, run};
use crate::args::{Common, Fit};
use crate::output;

/// It fits.
const FITS: u8 = 0;
/// Nothing makes it fit.
const DOES_NOT: u8 = 1;
/// Nobody can tell.
const UNKNOWN: u8 = 3;
/// The card that is not there, where none is named.
const PHANTOM: &str = "H200";

pub(crate) fn run(args: &Fit, common: &Common) -> Result<ExitCode> {
    let say = |line: &str| output::remark(common, &format!("oomph: {line}"));
    let listening = members::end_with_us()?;
    let fit = fitter::fit(&request(args), &say).map_err(plan::usage)?;
    // The script's own signals are passed on to it.
    drop(listening);
    let result = &fit.result;
    let shown = |colour| {
        if common.json { json::document(vec![json::fit(result)]) } else { text::fit::render(result, colour) }
    };
    let job = match (fit.job, result.why_not.is_some()) {
        (Some(job), _) if !args.dry_run => job,
        (job, cannot_tell) => {
            output::write(&shown(output::colour(common)), common)?;
            let code = if job.is_some() { FITS } else { DOES_NOT };
            return Ok(ExitCode::from(if cannot_tell { UNKNOWN } else { code }));
        }
    };
    // Standard output is the script's own.
    match &common.output {
        Some(path) => output::write_file(path, &shown(text::Colour::Off), common.force)?,
        None if common.json => output::complain_text(&shown(text::Colour::Off)),
        None if common.quiet => {}
        None => output::complain_text(&shown(output::colour_of_errors(common))),
    }
    Ok(run::of_job(&on_phantom(job, args)?, &Common { output: None, ..common.clone() }))
}

/// The job on a card that is not there, if that is asked for.
fn on_phantom(mut job: Job, args: &Fit) -> Result<Job> {
    if args.phantom {
        job.phantom = Some(card_named(args.gpu.as_deref().unwrap_or(PHANTOM))?);
        job.card = None;
        job.plan = Some(PlanRequest { to_the_end: true, ..PlanRequest::default() });
    }
    Ok(job)
}

fn request(args: &Fit) -> Request {
    Request {
        subject: args.script.subject(&args.python, &args.settings, args.steps, args.timeout),
        gpu: args.gpu.clone(),
        limit: args.limit,
        flags: args.vary.clone().zip(args.accumulate.clone()),
        without: args.without.clone(),
        again: args.again,
        has_gpu: !args.phantom && !args.estimate && status::has_gpu(),
    }
}

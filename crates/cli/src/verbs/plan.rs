//! `oomph plan`.

use std::process::ExitCode;

use anyhow::Result;
use oomph_launch::members;
use oomph_launch::plan::planner::{self, Cards, Changes, Request, RequestError, World};
use oomph_launch::plan::subject::SubjectError;
use oomph_launch::plan::trial::Prints;
use oomph_report::{html, json, text};
use oomph_trace::cards::UnknownCard;

use crate::args::{Common, Plan, UsageError};
use crate::output;

/// It fits.
const FITS: u8 = 0;
/// It does not.
const DOES_NOT: u8 = 1;
/// Nobody can tell.
const UNKNOWN: u8 = 3;

pub(crate) fn run(args: &Plan, common: &Common) -> Result<ExitCode> {
    if let Some(flag) = args.serve.lost() {
        return Err(
            UsageError(format!("{flag} is for --serve; a script's own flags go after its name")).into()
        );
    }
    let _listening = members::end_with_us()?;
    let plan = planner::plan(&request(args, common), &|line| output::progress(common, line)).map_err(usage);
    output::end_progress(common);
    let plan = plan?;
    if let Some(page) = args.html.as_ref().filter(|_| !plan.results.is_empty()) {
        output::write_file(page, &html::plan(&plan.results, plan.curves.as_ref()), common.force)?;
    }
    let colour = output::colour(common);
    let text = match (common.json, plan.results.as_slice()) {
        (true, results) => json::document(results.iter().map(json::plan)),
        (false, [one]) => text::plan::render(one, colour),
        (false, several) => text::plan::cards(several, colour),
    };
    output::write(&text, common)?;
    let fits: Vec<Option<bool>> = plan.results.iter().map(|result| result.fits).collect();
    Ok(ExitCode::from(code(&fits, plan.is_table)))
}

/// An error as one of usage, where the command line is to blame.
pub(super) fn usage(error: anyhow::Error) -> anyhow::Error {
    let asked = error.downcast_ref::<RequestError>().map(ToString::to_string);
    let script = || error.downcast_ref::<SubjectError>().map(ToString::to_string);
    let card = || error.downcast_ref::<UnknownCard>().map(ToString::to_string);
    match asked.or_else(script).or_else(card) {
        Some(line) => UsageError(line).into(),
        None => error,
    }
}

fn request(args: &Plan, common: &Common) -> Request {
    Request {
        subject: args.script.subject(&args.python, &args.settings, args.steps, args.timeout),
        cards: cards(args),
        limit: args.limit,
        changes: match (args.options, args.no_options) {
            (true, _) => Changes::Always,
            (false, true) => Changes::Never,
            (false, false) => Changes::IfNeeded,
        },
        vary: args.vary.clone(),
        world: World { per_node: args.nproc, nodes: args.nnodes, ranks: args.rank.clone() },
        prints: if common.quiet { Prints::ToFile } else { Prints::ToUser },
    }
}

/// The cards in question.
pub(super) fn cards(args: &Plan) -> Cards {
    match args.memory {
        Some(memory) => Cards::Memory(memory, args.capability),
        None if args.gpu.is_empty() => Cards::All,
        None => Cards::Named(args.gpu.clone()),
    }
}

/// Of cards that were named, all have to fit; of the table, one.
pub(super) fn code(fits: &[Option<bool>], is_table: bool) -> u8 {
    let any = |answer: Option<bool>| fits.contains(&answer);
    if is_table && any(Some(true)) {
        FITS
    } else if any(None) {
        UNKNOWN
    } else if any(Some(false)) {
        DOES_NOT
    } else {
        FITS
    }
}

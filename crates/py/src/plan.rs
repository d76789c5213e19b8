//! Plans.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use oomph_launch::plan::planner::{self, Cards, Changes, LONGEST, Request, World};
use oomph_launch::plan::subject::Subject;
use oomph_launch::plan::trial::Prints;
use oomph_launch::program::Target;
use oomph_machine::cores;
use oomph_report::json;
use pyo3::prelude::*;

use crate::raised;

/// The document of `oomph plan --json` for one card. `words` are a script and its arguments, or `-c` and code; `library`
/// is the package's phantom; `changes`: try changes where it does not fit; `world`: the ranks of a node, and the nodes.
#[expect(clippy::needless_pass_by_value, reason = "PyO3 gives lists by value")]
#[pyfunction]
#[pyo3(signature = (words, *, gpu, python, library, changes = false, world))]
pub(crate) fn plan(
    py: Python<'_>,
    words: Vec<OsString>,
    gpu: String,
    python: PathBuf,
    library: PathBuf,
    changes: bool,
    world: (Option<u32>, Option<u32>),
) -> PyResult<String> {
    let (target, args) = match words.as_slice() {
        [flag, code, args @ ..] if flag == "-c" => (Target::Code(code.clone()), args),
        [word, args @ ..] => (Target::Word(word.clone()), args),
        [] => (Target::Word(OsString::new()), &[][..]),
    };
    let request = Request {
        subject: Subject {
            target,
            args: args.to_vec(),
            python: Some(python),
            settings: Vec::new(),
            library: Some(library),
            steps: None,
            longest: Duration::from_secs(LONGEST),
        },
        cards: Cards::Named(vec![gpu]),
        limit: None,
        changes: if changes { Changes::IfNeeded } else { Changes::Never },
        vary: None,
        world: World { per_node: world.0, nodes: world.1, ranks: Vec::new() },
        prints: Prints::ToFile,
    };
    let plan = py.detach(|| cores::with_own_threads(|| planner::plan(&request, &|_| ())).flatten());
    let plan = plan.map_err(|error| raised(&error))?;
    Ok(json::document(plan.results.iter().map(json::plan)))
}

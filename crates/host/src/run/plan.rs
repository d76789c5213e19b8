//! What a run was asked for.

use std::ffi::OsString;

use oomph_trace::Bytes;
use oomph_trace::cards::Card;

use super::folder::RunFolder;
use super::program::Program;
use super::settings::{Frameworks, PYTORCH, Settings};

/// How many events the recorder keeps, where nothing else is said.
pub const RING: u64 = 300_000;

/// A run, as it was asked for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What to start.
    pub program: Program,
    /// What PyTorch's allocator is asked for.
    pub settings: Settings,
    /// What the other frameworks' allocators are asked for.
    pub frameworks: Frameworks,
    /// The memory to run with.
    pub limit: Option<Bytes>,
    /// The card to run as on.
    pub card: Option<&'static Card>,
    /// How many events the recorder keeps.
    pub ring: u64,
}

impl Plan {
    /// The variables that the child has beside those oomph was given: `folder` where it is recorded, `had` what
    /// PyTorch's variable in force says.
    pub fn variables(&self, folder: Option<&RunFolder>, had: &str) -> Vec<(&'static str, OsString)> {
        let mut variables = self.frameworks.variables();
        if !self.settings.is_empty() {
            let merged = self.settings.merged_into(had);
            variables.extend(PYTORCH.map(|name| (name, OsString::from(&merged))));
        }
        if let Some(folder) = folder {
            variables.push(("OOMPH_RUN", folder.path.clone().into_os_string()));
            variables.push(("OOMPH_PARENT", std::process::id().to_string().into()));
            variables.push(("PYTHONPATH", python_path(folder, std::env::var_os("PYTHONPATH"))));
        }
        variables
    }
}

/// The hook's folder in front of what was there.
fn python_path(folder: &RunFolder, had: Option<OsString>) -> OsString {
    let mut path = folder.hook.clone().into_os_string();
    let had = had.unwrap_or_default();
    if !had.is_empty() && std::env::split_paths(&had).next().as_deref() != Some(&folder.hook) {
        path.push(if cfg!(windows) { ";" } else { ":" });
        path.push(had);
    } else if !had.is_empty() {
        path = had;
    }
    path
}

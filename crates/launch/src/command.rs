//! The command that a job starts.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::folder::RunFolder;
use crate::job::Job;
use crate::protocol;

/// The command: `folder` where it is recorded, `had` what the user's variable of PyTorch's says.
pub fn of(job: &Job, folder: Option<&RunFolder>, had: &str) -> Command {
    let mut command = Command::new(&job.program.path);
    command.arg0(&job.program.called).args(&job.program.args).envs(job.variables(had));
    if let Some(folder) = folder {
        command.envs(protocol::variables(&folder.path, &folder.hook));
    }
    command
}

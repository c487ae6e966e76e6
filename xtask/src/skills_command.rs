//! Builds and runs the `skills` command.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::command::{build_executable, workspace_dir};

/// The path of the built `skills` command.
pub(crate) struct SkillsCommand {
    path: PathBuf,
}

impl SkillsCommand {
    pub(crate) fn build() -> Result<Self> {
        Ok(Self {
            path: build_executable(&["--package", "skills-cli"])?,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a command that runs it in the workspace.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(workspace_dir()).args(arguments);
        command
    }
}

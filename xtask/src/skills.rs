//! The `skills` command, built.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::command::{built, workspace};

/// The built command.
pub(crate) struct Skills {
    path: PathBuf,
}

impl Skills {
    pub(crate) fn build() -> Result<Self> {
        Ok(Self { path: built(&["--package", "skills-cli"])? })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Prepares a call in the workspace.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(workspace()).args(arguments);
        command
    }
}

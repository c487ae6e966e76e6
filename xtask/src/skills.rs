//! The `skills` command, built.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::command::{cargo, output, workspace};

/// The built command.
pub(crate) struct Skills {
    path: PathBuf,
}

impl Skills {
    pub(crate) fn build() -> Result<Self> {
        let messages = output(cargo(&["build", "--locked", "--package", "skills-cli", "--message-format=json"]).stderr(Stdio::inherit()))?;
        let executable = |line: &str| serde_json::from_str::<Value>(line).ok()?["executable"].as_str().map(PathBuf::from);
        let path = messages.lines().filter_map(executable).next_back().context("cargo names the command it built")?;
        Ok(Self { path })
    }

    /// Returns where it lies.
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

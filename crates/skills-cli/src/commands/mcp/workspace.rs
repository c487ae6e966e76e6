//! The workspace if no option names one: the working directory, or what a client names.

use std::error::Error;
use std::path::Path;

use skills_runtime::Policy;
use skills_runtime::policy::RuleSource;
use skills_tools::ToolSet;

use crate::context::Context;
use crate::process_environment::Environment;
use crate::program_args::allow_writing;
use crate::remedies::{RemedyDescriptions, RemedyStyle};
use crate::tool_host::{HostArgs, workspace_mount};

/// Says in rules where the workspace comes from.
const ORIGIN: &str = "roots of the client";

/// Returns why a directory is not used unless it is named by an option, if there is a reason: a
/// client starts a server for no project in such a directory.
pub(super) fn refusal(directory: &Path, home: Option<&Path>) -> Option<&'static str> {
    if directory.parent().is_none() {
        return Some("it is the root directory");
    }
    let Some(home) = home else {
        return Some("the home directory is not known");
    };
    let resolved = home.canonicalize().ok();
    std::iter::once(home)
        .chain(resolved.as_deref())
        .any(|home| home.starts_with(directory))
        .then_some("it is a home directory, or contains one")
}

/// Makes directories that a client names its workspace, like the working directory.
pub(super) struct ClientWorkspaces {
    /// The policy of a server without a workspace.
    policy: Policy,
    environment: Environment,
}

impl ClientWorkspaces {
    pub(super) fn new(host: &HostArgs, context: &Context) -> anyhow::Result<Self> {
        Ok(Self {
            policy: host.programs.policy(host.mount_rules()?, context)?,
            environment: context.environment.clone(),
        })
    }

    /// Returns the tools with a directory of the client as the workspace.
    ///
    /// # Errors
    /// Fails if it does not exist, or is not used without an option.
    pub(super) fn select(
        &self,
        tools: &ToolSet,
        directory: &Path,
    ) -> Result<ToolSet, Box<dyn Error + Send + Sync>> {
        let directory = directory.canonicalize()?;
        if let Some(reason) = refusal(&directory, self.environment.home()) {
            return Err(format!("{reason}; pass `--workspace DIR` to the server").into());
        }
        if tools.workspace_directory() == Some(&directory) {
            return Ok(tools.clone());
        }
        // Not a rule of the invocation: the client named the directory, not the user.
        let rule = allow_writing(&directory, RuleSource::BuiltIn, ORIGIN)?;
        let policy = self.policy.clone().rule(rule);
        let style = RemedyStyle::Server;
        let remedies = RemedyDescriptions::new(style, Some(&directory), &self.environment);
        let describe = move |remedy: &_| remedies.describe(remedy);
        Ok(tools.with_workspace(workspace_mount(directory), policy, describe)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_and_home_directories_are_refused() {
        let home = Some(Path::new("/home/ada"));
        for (directory, is_refused) in [
            ("/", true),
            ("/home", true),
            ("/home/ada", true),
            ("/home/ada/project", false),
            ("/home/adam", false),
            ("/srv", false),
        ] {
            let found = refusal(Path::new(directory), home).is_some();
            assert_eq!(found, is_refused, "{directory}");
        }
        assert!(refusal(Path::new("/srv"), None).is_some());
    }

    #[cfg(unix)]
    #[test]
    fn a_home_directory_behind_a_symlink_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let real = top.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        let link = top.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(refusal(&real, Some(&link)).is_some());
    }
}

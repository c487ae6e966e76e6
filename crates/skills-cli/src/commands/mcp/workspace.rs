//! The workspace if no option names one: the working directory, or what a client names.

use std::error::Error;
use std::path::Path;

use skills_runtime::Policy;
use skills_runtime::policy::RuleSource;
use skills_tools::ToolSet;

use crate::context::Context;
use crate::default_workspace::refusal;
use crate::process_environment::Environment;
use crate::program_args::allow_writing;
use crate::remedies::{RemedyDescriptions, RemedyStyle};
use crate::tool_host::{HostArgs, workspace_mount};

/// Says in rules where the workspace comes from.
const ORIGIN: &str = "roots of the client";

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

//! A skill in a temporary directory, and a run of one of its scripts in a container.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skills_policy::{
    ApprovalMode, Authorization, Effect, Grants, Policy, Request, ResourceLimits, Rule, RuleSource,
};
use skills_sandbox::{Job, Program, RunOutput, Sandbox, ScriptType};
use skills_sandbox_container::ContainerSandbox;
use skills_test_support::{host, skip_part};
use tempfile::TempDir;

pub(crate) struct Skill {
    directory: TempDir,
    pub(crate) limits: ResourceLimits,
    rules: Vec<String>,
    /// The tool that requests the workspace.
    workspace_tool: Option<&'static str>,
}

impl Skill {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["skill", "scratch", "workspace"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        let mut limits = ResourceLimits::default();
        limits.memory_bytes = 256 << 20;
        limits.wall_time = Duration::from_secs(60);
        Self {
            directory,
            limits,
            rules: Vec::new(),
            workspace_tool: None,
        }
    }

    /// Grants the workspace for reading and writing.
    pub(crate) fn workspace(mut self) -> Self {
        self.workspace_tool = Some("Write");
        self
    }

    /// Grants the workspace for reading.
    #[cfg(target_os = "linux")]
    pub(crate) fn readable_workspace(mut self) -> Self {
        self.workspace_tool = Some("Read");
        self
    }

    /// Adds a rule of the user that allows a permission.
    pub(crate) fn allow(mut self, permission: &str) -> Self {
        self.rules.push(permission.to_owned());
        self
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(below)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
    }

    pub(crate) fn grants(&self) -> Grants {
        let request = Request::new(self.path("skill")).limits(self.limits.clone());
        let request = match self.workspace_tool {
            Some(tool) => request
                .workspace(self.path("workspace"))
                .allowed_tool(tool, None),
            None => request,
        };
        let rules = self
            .rules
            .iter()
            .map(|rule| Rule::parse(Effect::Allow, RuleSource::User, rule).unwrap());
        match Policy::default()
            .with_mode(ApprovalMode::Trusted)
            .with_ceiling(self.limits.clone())
            .with_rules(rules)
            .authorize(&request)
        {
            Authorization::Granted(grants) => grants,
            Authorization::Denied(denial) => panic!("{denial}"),
        }
    }

    pub(crate) fn job(&self, name: &str, script: &str) -> Job {
        self.write(&format!("skill/{name}"), script);
        let path = self.path("skill").join(name);
        Job::new(
            self.grants(),
            Program::script(ScriptType::from_path(&path).unwrap(), path),
        )
    }

    /// Returns the backend; `None`, with a recorded skip, without an engine.
    #[track_caller]
    pub(crate) fn sandbox(&self) -> Option<ContainerSandbox> {
        sandbox(&self.path("scratch"))
    }

    pub(crate) async fn run(&self, sandbox: &ContainerSandbox, job: Job) -> RunOutput {
        sandbox.run(job).await.unwrap()
    }
}

#[track_caller]
pub(crate) fn sandbox(scratch: &Path) -> Option<ContainerSandbox> {
    match host::container_engine() {
        Ok((socket, image)) => Some(ContainerSandbox::new(
            socket,
            image.parse().unwrap(),
            scratch,
        )),
        Err(reason) => {
            skip_part("containers", reason);
            None
        }
    }
}

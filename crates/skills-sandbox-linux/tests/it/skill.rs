//! A skill in a temporary directory, and a run of one of its scripts.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skills_policy::{
    ApprovalMode, Authorization, Effect, Grants, Policy, Request, ResourceLimits, Rule, RuleSource,
};
use skills_sandbox::{Job, Program, RunOutput, Sandbox, ScriptType};
use skills_sandbox_linux::{IsolationMode, LinuxSandbox};
use skills_test_support::{host, skip_part};
use tempfile::TempDir;

pub(crate) struct Skill {
    directory: TempDir,
    pub(crate) limits: ResourceLimits,
    /// What the policy allows at most.
    pub(crate) ceiling: ResourceLimits,
    tools: Vec<&'static str>,
    rules: Vec<String>,
    pub(crate) isolation: IsolationMode,
    /// Replaces the workspace in the temporary directory.
    pub(crate) workspace: Option<PathBuf>,
}

impl Skill {
    pub(crate) fn new(isolation: IsolationMode) -> Self {
        Self::below(&std::env::temp_dir(), isolation)
    }

    pub(crate) fn below(parent: &Path, isolation: IsolationMode) -> Self {
        let directory = tempfile::tempdir_in(parent).unwrap();
        fs::create_dir(directory.path().join("skill")).unwrap();
        fs::create_dir(directory.path().join("scratch")).unwrap();
        fs::create_dir(directory.path().join("workspace")).unwrap();
        let mut limits = ResourceLimits::default();
        // Less than a machine of a test can have.
        limits.memory_bytes = 256 << 20;
        // Only a failing test runs for so long.
        limits.wall_time = Duration::from_secs(120);
        Self {
            directory,
            limits,
            ceiling: ResourceLimits::default_ceiling(),
            tools: Vec::new(),
            rules: Vec::new(),
            isolation,
            workspace: None,
        }
    }

    pub(crate) fn tool(mut self, tool: &'static str) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a rule of the user that allows a permission.
    pub(crate) fn allow(mut self, permission: impl Into<String>) -> Self {
        self.rules.push(permission.into());
        self
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        match &self.workspace {
            Some(workspace) if below == "workspace" => workspace.clone(),
            _ => self.directory.path().canonicalize().unwrap().join(below),
        }
    }

    /// Returns grants for everything that the tools request: these tests are about restrictions,
    /// not about rules.
    pub(crate) fn grants(&self) -> Grants {
        let request = Request::new(self.path("skill")).limits(self.limits.clone());
        // A workspace is readable without a tool.
        let uses_files = |tool: &&str| {
            ["Read", "Write", "Edit"].contains(&tool.split('(').next().unwrap_or(tool))
        };
        let request = if self.tools.iter().any(uses_files) {
            request.workspace(self.path("workspace"))
        } else {
            request
        };
        let request = self
            .tools
            .iter()
            .fold(request, |request, tool| match tool.split_once('(') {
                Some((tool, pattern)) => request.allowed_tool(tool, pattern.strip_suffix(')')),
                None => request.allowed_tool(tool, None),
            });
        match Policy::default()
            .with_mode(ApprovalMode::Trusted)
            .with_ceiling(self.ceiling.clone())
            .with_rules(self.rules.iter().map(|permission| {
                Rule::parse(Effect::Allow, RuleSource::User, permission).unwrap()
            }))
            .authorize(&request)
        {
            Authorization::Granted(grants) => grants,
            Authorization::Denied(denial) => panic!("{denial}"),
        }
    }

    pub(crate) fn job(&self, name: &str, script: &str) -> Job {
        let path = self.path("skill").join(name);
        fs::write(&path, script).unwrap();
        Job::new(
            self.grants(),
            Program::script(ScriptType::from_path(&path).unwrap(), path),
        )
    }

    pub(crate) fn sandbox(&self) -> LinuxSandbox {
        LinuxSandbox::new(self.path("scratch")).isolation_mode(self.isolation)
    }

    pub(crate) async fn run(&self, job: Job) -> RunOutput {
        self.sandbox().run(job).await.unwrap()
    }

    pub(crate) async fn python(&self, script: &str) -> RunOutput {
        self.run(self.job("main.py", script)).await
    }

    pub(crate) async fn run_shell(&self, script: &str) -> RunOutput {
        self.run(self.job("main.sh", script)).await
    }

    /// Runs Python statements and returns one line for each: the name of the `OSError` that it
    /// raised, or `ALLOWED`.
    pub(crate) async fn attempts(&self, prelude: &str, statements: &[&str]) -> String {
        let mut script = format!("import errno, os, socket, subprocess, ctypes\n{prelude}\n");
        for statement in statements {
            let name = python_quoted(statement);
            script.push_str(&format!(
                "try:\n    {statement}\n    print({name}, 'ALLOWED')\nexcept OSError as e:\n    print({name}, errno.errorcode[e.errno])\n"
            ));
        }
        let output = self.python(&script).await;
        assert!(
            output.termination.is_success(),
            "{:?} {}",
            output.termination,
            output.stderr.text()
        );
        output.stdout.text()
    }

    /// Returns the number of entries in the scratch directory.
    pub(crate) fn leftovers(&self) -> usize {
        fs::read_dir(self.path("scratch")).unwrap().count()
    }
}

fn python_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Returns `true` and records a skip if this host does not support a mode.
///
/// # Panics
/// If the host supports the mode, but the sandbox cannot start.
#[track_caller]
pub(crate) fn skip_without(isolation: IsolationMode) -> bool {
    match check_host(isolation) {
        Ok(()) => {
            if let Err(error) = LinuxSandbox::new("/").isolation_mode(isolation).probe() {
                panic!("this host supports {isolation:?}, but the sandbox cannot start: {error}");
            }
            false
        }
        Err(reason) => {
            skip_part(format!("{isolation:?}"), reason);
            true
        }
    }
}

/// Returns the modes that this host supports, and records a skip for each other one.
#[track_caller]
pub(crate) fn supported_modes() -> Vec<IsolationMode> {
    let mut modes = vec![IsolationMode::Namespaces, IsolationMode::LandlockOnly];
    modes.retain(|isolation| !skip_without(*isolation));
    modes
}

/// Checks whether this host supports a mode, with code that the sandbox does not share.
pub(crate) fn check_host(isolation: IsolationMode) -> Result<(), String> {
    match isolation {
        IsolationMode::Namespaces => host::namespaces(),
        IsolationMode::LandlockOnly => host::landlock(),
        _ => host::sandbox(),
    }
}

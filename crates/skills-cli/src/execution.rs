//! Arguments of the commands that run a skill or preview a run.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use skills_runtime::policy::{Effect, Rule, RuleSource, Target, is_variable_name};
use skills_runtime::{
    Builder, Capability, ExecutionOptions, ResourceLimits, RunTarget, Secret, Secrets, Workspace,
};

use crate::context::Context;
use crate::error::CommandError;
use crate::file_mode::is_readable_by_others;
use crate::input;
use crate::permission::PermissionParser;
use crate::policy_files::{self, LoadedPolicy};
use crate::state::{self, PolicyPaths};

/// Maximum size of a `.env` file, in bytes.
const MAX_ENV_FILE: u64 = 1 << 20;

/// The working directory of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkingDirectory {
    /// The directory of the skill
    Skill,
    /// The directory of --workspace
    Workspace,
}

/// What to run of a skill, and with which input, limits and paths.
#[derive(Debug, Default, Args)]
pub(crate) struct ExecutionArgs {
    /// Script to run, if the skill has several
    #[arg(long)]
    pub(crate) script: Option<String>,

    /// Input of the program: JSON, @FILE, or - for standard input [default: {}]
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(crate) input: Option<String>,

    /// Deadline in seconds, at most 600 [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) timeout: Option<u64>,

    /// Memory in MiB, at most 2048 [default: 256]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=2048))]
    pub(crate) memory: Option<u64>,

    /// Scratch space and private workspace in MiB, at most 2048 [default: 256]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=2048))]
    pub(crate) scratch: Option<u64>,

    /// Directory that the program works on
    ///
    /// Readable, and writable if policy allows `write`.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,

    /// Working directory of a script [default: workspace with --workspace, else skill]
    #[arg(long, value_enum, value_name = "DIRECTORY")]
    pub(crate) cwd: Option<WorkingDirectory>,

    /// Make a file or directory readable (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,

    /// Make a file or directory writable (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Vec<PathBuf>,

    /// Grant a permission for this run (repeatable)
    ///
    /// One of write, write:/DIR, spawn, spawn:PROGRAM, network:HOST, env:NAME.
    #[arg(long, value_name = "PERMISSION", value_parser = PermissionParser)]
    pub(crate) allow: Vec<Rule>,

    /// Drop a capability that the skill requests (repeatable)
    #[arg(long, value_name = "CAPABILITY", value_enum)]
    pub(crate) without: Vec<CapabilityArg>,

    /// Set an environment variable, or pass one through by name (repeatable)
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,

    /// Read variables that skills declare from this .env file (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Vec<PathBuf>,
}

impl ExecutionArgs {
    /// Configures a runtime with the policy of all sources, secrets, approval store and audit log.
    pub(crate) fn configure(&self, builder: Builder, context: &Context) -> anyhow::Result<Builder> {
        let paths = PolicyPaths::new(&context.environment);
        let LoadedPolicy { mut rules, .. } = policy_files::load(&paths, context.project_trust())?;
        for rule in &self.allow {
            rules = rules.with_rules(policy_files::expand_spellings(rule)?);
        }
        // A path given with `--write` counts as approved.
        for path in &self.write {
            // Rules about paths are compared with resolved paths.
            let target = Target::write(canonicalize(path)?)
                .map_err(|error| CommandError::input(format!("--write: {error}")))?;
            let rule = Rule::new(Effect::Allow, RuleSource::Invocation, target);
            rules = rules.rule(rule.origin("--write"));
        }
        // Write access to these files is equivalent to unrestricted access. Both spellings: a state
        // directory behind a symlink can be reached by either path.
        let protected = state::write_protected_paths(&context.environment);
        for path in protected
            .iter()
            .flat_map(|path| policy_files::path_spellings(path))
        {
            if let Ok(target) = Target::write(path) {
                let rule = Rule::new(Effect::Deny, RuleSource::BuiltIn, target);
                rules = rules.rule(rule.origin("policy, approvals and audit log of this command"));
            }
        }
        let builder = builder
            .policy(rules)
            // A grant for the home directory would otherwise include the token of the server and
            // the approvals.
            .hide(state::hidden_dirs(&context.environment))
            .secrets(self.read_env_files(context)?);
        state::with_state(builder, &context.environment)
    }

    /// Converts the arguments to the options of a run.
    pub(crate) fn options(&self, context: &Context) -> anyhow::Result<ExecutionOptions> {
        let mut options = ExecutionOptions::default();
        if let Some(argument) = &self.input {
            options.input = input::read_json(argument, "--input")?;
        }
        options.timeout_ms = self.timeout;
        // Options are in MiB. clap has limited the numbers, so the shift cannot overflow.
        options.memory_bytes = self.memory.map(|mib| mib << 20);
        options.scratch_bytes = self.scratch.map(|mib| mib << 20);
        if let Some(script) = &self.script {
            options.target = RunTarget::Script(script.clone());
        }
        options.workspace = match &self.workspace {
            Some(directory) => Workspace::Directory(input::resolve_directory(directory)?),
            None => Workspace::None,
        };
        options.current_dir = self.current_dir(&options.workspace)?;
        options.readable_paths = canonicalize_all(&self.read)?;
        options.writable_paths = canonicalize_all(&self.write)?;
        options.dropped_capabilities = self.without.iter().copied().map(Into::into).collect();
        for text in &self.env {
            let (name, value) = variable(text, context)?;
            options.env.insert(name.to_owned(), Secret::new(value));
        }
        Ok(options)
    }

    /// Returns the working directory, `None` for that of the skill. Instructions of skills name
    /// files of the user relative to the project, so it is the workspace by default.
    fn current_dir(&self, workspace: &Workspace) -> anyhow::Result<Option<PathBuf>> {
        match (self.cwd, workspace) {
            (Some(WorkingDirectory::Skill), _) | (None, Workspace::None) => Ok(None),
            (_, Workspace::Directory(directory)) => Ok(Some(directory.clone())),
            _ => Err(CommandError::input(
                "`--cwd workspace` needs a workspace: pass `--workspace DIR`".to_owned(),
            )
            .into()),
        }
    }

    /// Reads the `.env` files; later files override earlier ones. Values are never printed.
    fn read_env_files(&self, context: &Context) -> anyhow::Result<Secrets> {
        let mut all = Vec::new();
        for path in &self.env_file {
            let shown = path.display();
            let text = input::read_text_file(path, MAX_ENV_FILE)?;
            // A line that cannot be parsed is reported by number, since its text may be a secret.
            let (secrets, problems) = Secrets::from_env_text(&text);
            for problem in problems {
                context
                    .output
                    .status(&format!("warning: {shown}: {problem}"));
            }
            if is_readable_by_others(path) {
                context.output.status(&format!(
                    "warning: `{shown}` is readable by other users; run `chmod 600` on it"
                ));
            }
            let pairs = secrets
                .names()
                .filter_map(|name| Some((name.to_owned(), secrets.get(name)?.clone())));
            all.extend(pairs);
        }
        Ok(all.into_iter().collect())
    }
}

/// Returns name and value of an `--env`. Without a value it is that of this process.
fn variable<'a>(text: &'a str, context: &Context) -> anyhow::Result<(&'a str, String)> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, value.to_owned()),
        None => {
            let value = context
                .environment
                .variable(text)
                .and_then(|value| value.to_str());
            let value = value.ok_or_else(|| {
                CommandError::input(format!("cannot pass `{text}`: not set in the environment"))
            })?;
            (text, value.to_owned())
        }
    };
    if !is_variable_name(name) {
        anyhow::bail!(CommandError::input(format!(
            "invalid variable name `{name}` in `--env`"
        )));
    }
    Ok((name, value))
}

fn canonicalize_all(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    paths.iter().map(|path| canonicalize(path)).collect()
}

fn canonicalize(path: &Path) -> anyhow::Result<PathBuf> {
    path.canonicalize()
        .with_context(|| CommandError::input(format!("cannot resolve `{}`", path.display())))
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum CapabilityArg {
    /// Read files in the workspace
    Read,
    /// Write files in the workspace
    Write,
    /// Connect to hosts on the network
    Network,
    /// Start other programs
    Spawn,
    /// Read environment variables
    #[value(alias = "env")]
    Environment,
}

impl From<CapabilityArg> for Capability {
    fn from(dropped: CapabilityArg) -> Self {
        match dropped {
            CapabilityArg::Read => Self::Read,
            CapabilityArg::Write => Self::Write,
            CapabilityArg::Network => Self::Network,
            CapabilityArg::Spawn => Self::Spawn,
            CapabilityArg::Environment => Self::Environment,
        }
    }
}

/// Parses a positive number of seconds, with fractions, into milliseconds.
pub(crate) fn parse_seconds(text: &str) -> Result<u64, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "expected a number of seconds".to_owned())?;
    let milliseconds = (seconds * 1_000.0).round();
    let max = ResourceLimits::default_ceiling().wall_time.as_secs();
    // Written so that NaN does not fit.
    let fits = seconds <= max as f64 && milliseconds >= 1.0;
    if fits {
        Ok(milliseconds as u64)
    } else {
        Err(format!("expected 0.001 to {max}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_may_have_fractions() {
        assert_eq!(parse_seconds("1.5"), Ok(1_500));
        for wrong in ["0", "-1", "nan", "inf", "x", "601"] {
            assert!(parse_seconds(wrong).is_err(), "{wrong}");
        }
    }
}

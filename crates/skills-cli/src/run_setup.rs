//! Converts command-line arguments to runtime and execution options.

use std::path::Path;

use anyhow::{Context, anyhow};
use skills_runtime::discovery::Trust;
use skills_runtime::policy::{Effect, Rule, RuleSource, Target, is_variable_name};
use skills_runtime::{Builder, ExecutionOptions, RunTarget, Secret, Secrets, Workspace};

use crate::arguments::ExecutionArgs;
use crate::directories;
use crate::input::{self, InputError};
use crate::output::Output;
use crate::policy_config;

/// Maximum size of a `.env` file, in bytes.
const MAX_ENV_FILE: u64 = 1 << 20;

/// Configures a runtime with the policy of all sources, secrets, approval store and audit log.
pub(crate) fn configure_runtime(
    builder: Builder,
    what: &ExecutionArgs,
    project_trust: Trust,
    output: &Output,
) -> anyhow::Result<Builder> {
    let mut rules = policy_config::load_policy(&directories::policy_paths(), project_trust)?.rules;
    for rule in &what.allow {
        rules = rules.with_rules(policy_config::expand_spellings(rule)?);
    }
    // A path given with `--write` counts as approved.
    for path in &what.write {
        // Rules about paths are compared with resolved paths.
        let target = Target::write(canonicalize(path)?)
            .map_err(|error| InputError::new(format!("--write: {error}")))?;
        rules =
            rules.rule(Rule::new(Effect::Allow, RuleSource::Invocation, target).origin("--write"));
    }
    // Write access to these files is equivalent to unrestricted access.
    for path in directories::write_protected_paths()
        .iter()
        // Both spellings: a state directory behind a symlink can be reached by either path.
        .flat_map(|path| policy_config::path_spellings(path))
    {
        if let Ok(target) = Target::write(path) {
            rules = rules.rule(
                Rule::new(Effect::Deny, RuleSource::BuiltIn, target)
                    .origin("policy, approvals and audit log of this command"),
            );
        }
    }
    // A grant for the home directory would otherwise include the token of the server and the
    // approvals.
    let hidden = directories::hidden_dirs();
    let builder = builder
        .policy(rules)
        .hide(hidden)
        .secrets(read_env_files(what, output)?);
    directories::with_state(builder)
}

/// Converts the arguments to the options of a run.
pub(crate) fn execution_options(what: &ExecutionArgs) -> anyhow::Result<ExecutionOptions> {
    let mut options = ExecutionOptions::default();
    if let Some(argument) = &what.input {
        options.input = input::read_json(argument, "--input")?;
    }
    options.timeout_ms = what.timeout;
    // Options are in MiB. clap has limited the numbers, so the shift cannot overflow.
    options.memory_bytes = what.memory.map(|mib| mib << 20);
    options.scratch_bytes = what.scratch.map(|mib| mib << 20);
    if let Some(script) = &what.script {
        options.target = RunTarget::Script(script.clone());
    }
    options.workspace = match &what.workspace {
        Some(directory) => Workspace::Directory(input::resolve_directory(directory)?),
        None => Workspace::None,
    };
    options.readable_paths = what
        .read
        .iter()
        .map(|path| canonicalize(path))
        .collect::<anyhow::Result<_>>()?;
    options.writable_paths = what
        .write
        .iter()
        .map(|path| canonicalize(path))
        .collect::<anyhow::Result<_>>()?;
    options.dropped_capabilities = what
        .without
        .iter()
        .map(|dropped| (*dropped).into())
        .collect();
    for text in &what.env {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => {
                let value = directories::env_var(text).ok_or_else(|| {
                    anyhow!(InputError::new(format!(
                        "cannot pass `{text}`: not set in the environment"
                    )))
                })?;
                (text.as_str(), value)
            }
        };
        if !is_variable_name(name) {
            return Err(
                InputError::new(format!("invalid variable name `{name}` in `--env`")).into(),
            );
        }
        options.env.insert(name.to_owned(), Secret::new(value));
    }
    Ok(options)
}

fn canonicalize(path: &Path) -> anyhow::Result<std::path::PathBuf> {
    path.canonicalize()
        .with_context(|| InputError::new(format!("cannot resolve `{}`", path.display())))
}

/// Reads the `.env` files; later files override earlier ones. Values are never printed.
fn read_env_files(what: &ExecutionArgs, output: &Output) -> anyhow::Result<Secrets> {
    let mut all = Vec::new();
    for path in &what.env_file {
        let text = input::read_text_file(path, MAX_ENV_FILE)?;
        // A line that cannot be parsed is reported by number, since its text may be a secret.
        let (secrets, problems) = Secrets::from_env_text(&text);
        for problem in problems {
            output.status(&format!("warning: {}: {problem}", path.display()));
        }
        if directories::is_readable_by_others(path) {
            output.status(&format!(
                "warning: `{}` is readable by other users; run `chmod 600` on it",
                path.display()
            ));
        }
        let names: Vec<String> = secrets.names().map(str::to_owned).collect();
        all.extend(
            names
                .into_iter()
                .filter_map(|name| Some((name.clone(), secrets.get(&name)?.clone()))),
        );
    }
    Ok(all.into_iter().collect())
}

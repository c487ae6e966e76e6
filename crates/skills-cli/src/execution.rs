//! Arguments of the commands that run a skill or preview a run.

use clap::Args;
use skills_runtime::policy::{Effect, Rule, RuleSource, VariablePattern, is_variable_name};
use skills_runtime::{Builder, Capability, ExecutionOptions, RunTarget, Secret};

use crate::context::Context;
use crate::error::CommandError;
use crate::input;
use crate::program_args::ProgramArgs;
use crate::words::word_parser;

/// What to run of a skill, and with which input, limits and paths.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct ExecutionArgs {
    /// Script to run, if the skill has several
    #[arg(long)]
    pub(crate) script: Option<String>,

    /// JSON for standard input of the program and SKILL_INPUT: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(crate) input: Option<String>,

    /// Standard input of the program as it is: a file, or - for that of this command [default: that
    /// of this command; a terminal only if the program has one of its own]
    #[arg(long, value_name = "FILE|-", conflicts_with = "input")]
    pub(crate) stdin: Option<String>,

    #[command(flatten)]
    pub(crate) programs: ProgramArgs,

    /// Drop a capability that the skill requests (repeatable)
    #[arg(long, value_name = "CAPABILITY", value_parser = word_parser(&CAPABILITIES))]
    pub(crate) without: Vec<Capability>,

    /// Set an environment variable, or pass one through by name (repeatable)
    ///
    /// This allows the program to read it, unless a rule denies it, or the administrator asks.
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
}

impl ExecutionArgs {
    /// Configures a runtime with the policy of all sources, secrets, approval store and audit log.
    pub(crate) fn configure(&self, builder: Builder, context: &Context) -> anyhow::Result<Builder> {
        self.configure_with(builder, self.variable_rules()?, context)
    }

    /// Configures a runtime like [`configure`](Self::configure), for an approval that lasts: it is asked
    /// about variables too, since `--env` is the approval of one call.
    pub(crate) fn configure_for_approval(
        &self,
        builder: Builder,
        context: &Context,
    ) -> anyhow::Result<Builder> {
        self.configure_with(builder, Vec::new(), context)
    }

    fn configure_with(
        &self,
        builder: Builder,
        variables: Vec<Rule>,
        context: &Context,
    ) -> anyhow::Result<Builder> {
        let rule = if self.without.contains(&Capability::Write) {
            None
        } else {
            self.programs.workspace_rule(context)?
        };
        let rules = rule.into_iter().chain(variables).collect();
        self.programs.configure(builder, rules, context)
    }

    /// Returns the rules that let the program read the variables of `--env`: the option is the approval.
    pub(crate) fn variable_rules(&self) -> anyhow::Result<Vec<Rule>> {
        let names = self.env.iter().map(|text| variable_name(text));
        names
            .map(|name| {
                let target = VariablePattern::Exact(name?.to_owned());
                let rule = Rule::new(Effect::Allow, RuleSource::Invocation, target);
                Ok(rule.origin("--env"))
            })
            .collect()
    }

    /// Converts the arguments to the options of a run.
    pub(crate) fn options(&self, context: &Context) -> anyhow::Result<ExecutionOptions> {
        let mut options = self.programs.options(context)?;
        if let Some(argument) = &self.input {
            options.input = input::read_json(argument, "--input")?;
        }
        if let Some(argument) = &self.stdin {
            options.stdin = Some(input::read_stdin_file(argument)?);
        }
        if let Some(script) = &self.script {
            options.target = RunTarget::Script(script.clone());
        }
        options.dropped_capabilities = self.without.clone();
        for text in &self.env {
            let (name, value) = variable(text, context)?;
            options.env.insert(name.to_owned(), Secret::new(value));
        }
        Ok(options)
    }

    /// Returns `-` if standard input of this command is the input of the program.
    pub(crate) fn input_source(&self) -> Option<&str> {
        self.stdin.as_deref().or(self.input.as_deref())
    }
}

/// Returns name and value of an `--env`. Without a value it is that of this process.
fn variable<'a>(text: &'a str, context: &Context) -> anyhow::Result<(&'a str, String)> {
    let name = variable_name(text)?;
    if let Some((_, value)) = text.split_once('=') {
        return Ok((name, value.to_owned()));
    }
    let value = context.environment.variable(name);
    let value = value.and_then(|value| value.to_str()).ok_or_else(|| {
        CommandError::input(format!("cannot pass `{name}`: not set in the environment"))
    })?;
    Ok((name, value.to_owned()))
}

/// Returns the name of an `--env`.
fn variable_name(text: &str) -> anyhow::Result<&str> {
    let name = text.split_once('=').map_or(text, |(name, _)| name);
    if !is_variable_name(name) {
        anyhow::bail!(CommandError::input(format!(
            "invalid variable name `{name}` in `--env`"
        )));
    }
    Ok(name)
}

/// The capabilities that skills request, by the words of `--without`.
const CAPABILITIES: [(&str, &str, Capability); 5] = [
    ("read", "Read files in the workspace", Capability::Read),
    ("write", "Write files in the workspace", Capability::Write),
    (
        "network",
        "Connect to hosts on the network",
        Capability::Network,
    ),
    ("spawn", "Start other programs", Capability::Spawn),
    (
        "env|environment",
        "Read environment variables",
        Capability::Environment,
    ),
];

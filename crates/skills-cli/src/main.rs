//! The `skills` command: finds, checks, shows and runs agent skills.
//!
//! This is the only crate that reads the environment, the home directory and the working directory.
//! Everything it does is a call of `skills-runtime`, or of `skills-build` for authors; the crate
//! itself handles arguments, roots, output and exit codes.
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | success |
//! | 1 | the skill failed, or was not found |
//! | 2 | invalid usage or input |
//! | 3 | denied by policy, or no sandbox is available |
//! | 4 | timeout |
//! | 130 | interrupted |

mod accept;
mod approver;
mod arguments;
mod audit;
mod build;
mod call;
mod compat;
mod compile_wasm;
mod completions;
mod detect;
mod directories;
mod discovery_config;
mod doctor;
mod error_report;
mod exit;
mod explain;
mod input;
mod interpreters;
mod list;
mod load;
mod lookup;
mod mcp;
mod mentions;
mod new;
mod output;
mod policy;
mod policy_config;
mod precompile;
mod prompt;
mod requirements;
mod run;
mod run_setup;
mod shell;
mod show;
mod signals;
mod tool_host;
mod tools;
mod trust;
mod trusted_path;
mod validate;

use std::process::ExitCode;

use clap::Parser;
use skills_runtime::{Builder, SkillRuntime};

use crate::arguments::{Arguments, Command, Mcp, McpCommand};
use crate::exit::Exit;
use crate::output::{Output, OutputFormat};

fn main() -> ExitCode {
    // Before the arguments are parsed: the subcommand of compiler children is not part of the
    // command line, so clap would reject it.
    if let Some(exit) = compile_wasm::run_if_child() {
        return exit.into();
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        // clap is not allowed to exit by itself, since its errors are JSON with `--json`.
        Err(error) => return error_report::report_usage(&error).into(),
    };
    let output = Output::new(if arguments.json {
        OutputFormat::Json
    } else {
        OutputFormat::Text
    });
    let exit =
        run(arguments, &output).unwrap_or_else(|error| error_report::report(&error, &output));
    exit.into()
}

fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Exit> {
    if let Some(result) = run_standalone(&arguments, output) {
        return result;
    }
    let builder = runtime_builder(&arguments, output)?;
    run_with_runtime(arguments, builder, output)
}

/// Runs a command that uses only its arguments, without discovery. Returns `None` for all others.
fn run_standalone(arguments: &Arguments, output: &Output) -> Option<anyhow::Result<Exit>> {
    Some(match &arguments.command {
        Command::Validate(validate) => {
            validate::validate(validate, arguments.profile.as_deref(), output)
        }
        Command::ReadProperties(read) => compat::read_properties(&read.path, output),
        Command::ToPrompt(prompt) => compat::to_prompt(&prompt.paths, output),
        Command::New(new) => new::new(new, output),
        Command::Build(build) => build::build(build, output),
        Command::Completions(completions) => completions::completions(completions, output),
        Command::Audit(audit) => audit::audit(audit, output),
        Command::Mcp(mcp)
            if let Mcp {
                command: Some(McpCommand::Install(install)),
                ..
            } = &**mcp =>
        {
            // Registration reads no skills; it gets the global options only to reject them.
            mcp::install::install(install, arguments, output)
        }
        _ => return None,
    })
}

/// Configures what all commands with a runtime share: discovery, scratch space, interpreters, code
/// cache and compiler. Policy, approvals and audit log are added by the commands that run programs.
fn runtime_builder(arguments: &Arguments, output: &Output) -> anyhow::Result<Builder> {
    let builder = SkillRuntime::builder()
        .discovery(discovery_config::build_discovery(arguments)?)
        .scratch_directory(discovery_config::scratch_dir());
    // For all commands and not only for those that run: previews and `doctor` must find the same
    // interpreters as a run.
    let builder = interpreters::configure_interpreters(builder, &arguments.command)?;
    let builder = compile_wasm::with_child_compiler(directories::with_code_cache(builder));
    // The scan for this warning is skipped without `--disable`: it would cost a second scan for
    // every command.
    if !arguments.disable.is_empty() {
        discovery_config::warn_unused_disable(
            &arguments.disable,
            &builder.clone().build().library().catalog(),
            output,
        );
    }
    Ok(builder)
}

fn run_with_runtime(
    arguments: Arguments,
    builder: Builder,
    output: &Output,
) -> anyhow::Result<Exit> {
    let project_trust = arguments.project_trust();
    match arguments.command {
        Command::List(list) => list::list(&builder.build(), &list, output),
        Command::Roots(_) => explain::roots(&builder.build(), output),
        Command::Explain(explain) => explain::explain(&builder.build(), &explain.query, output),
        Command::Doctor(_) => doctor::doctor(&builder.build(), output),
        Command::Show(show) => show::show(&builder.build(), &show, output),
        Command::Prompt(prompt) => {
            let runtime = builder.modes(prompt::listing_modes(&prompt)).build();
            prompt::warn_unused_modes(&runtime, &prompt, output);
            prompt::prompt(&runtime, &prompt, output)
        }
        Command::Mentions(mentions) => mentions::mentions(&builder.build(), &mentions, output),
        Command::Load(load) => load::load(&builder.build(), &load, output),
        Command::Detect(detect) => detect::detect(&builder.build(), &detect, output),
        Command::Precompile(precompile) => {
            precompile::precompile(&builder.build(), &precompile, output)
        }
        Command::Tools(arguments) => tools::tools(builder, &arguments, output),
        Command::Call(call) => call::call(builder, &call, project_trust, output),
        Command::Accept(accept) => accept::accept(&builder.build(), &accept, output),
        Command::Mcp(mcp) => mcp::serve::serve(builder, &mcp.serve, project_trust, output),
        Command::Run(run) => run::run(builder, &run, project_trust, output),
        Command::Policy(policy) => policy::policy(builder, &policy.command, project_trust, output),
        Command::Trust(trust) => trust::trust(builder, &trust, project_trust, output),
        // These commands are handled by `run_standalone`. They are listed, without a wildcard, so
        // that a new command does not compile until it is handled.
        Command::Validate(_)
        | Command::ReadProperties(_)
        | Command::ToPrompt(_)
        | Command::New(_)
        | Command::Build(_)
        | Command::Completions(_)
        | Command::Audit(_) => Ok(Exit::Success),
    }
}

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
mod show;
mod signals;
mod tool_host;
mod tools;
mod trust;
mod trusted_path;
mod validate;

use std::process::ExitCode;

use clap::Parser;
use skills_runtime::SkillRuntime;
use skills_runtime::prompt::ListingModes;

use crate::arguments::{Arguments, Command, Mcp, McpCommand};
use crate::exit::Exit;
use crate::output::Output;

fn main() -> ExitCode {
    if let Some(exit) = compile_wasm::run_if_child() {
        return exit.into();
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return error_report::report_usage(&error).into(),
    };
    let output = Output::new(arguments.json);
    let exit =
        run(arguments, &output).unwrap_or_else(|error| error_report::report(&error, &output));
    exit.into()
}

fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Exit> {
    // These commands use only their arguments, without discovery.
    match &arguments.command {
        Command::Validate(validate) => {
            return validate::validate(validate, arguments.profile.as_deref(), output);
        }
        Command::ReadProperties(read) => return compat::read_properties(&read.path, output),
        Command::ToPrompt(prompt) => return compat::to_prompt(&prompt.paths, output),
        Command::New(new) => return new::new(new, output),
        Command::Build(build) => return build::build(build, output),
        Command::Completions(completions) => return completions::completions(completions, output),
        Command::Audit(audit) => return audit::audit(audit, output),
        Command::Mcp(mcp)
            if let Mcp {
                command: Some(McpCommand::Install(install)),
                ..
            } = &**mcp =>
        {
            return mcp::install::install(install, &arguments, output);
        }
        _ => {}
    }
    let builder = SkillRuntime::builder()
        .discovery(discovery_config::build_discovery(&arguments)?)
        .scratch_directory(discovery_config::scratch_dir());
    let builder = interpreters::configure_interpreters(builder, &arguments.command)?;
    let builder = compile_wasm::with_child_compiler(directories::with_code_cache(builder));
    if !arguments.disable.is_empty() {
        discovery_config::warn_unused_disable(
            &arguments.disable,
            &builder.clone().build().catalog(),
            output,
        );
    }
    match arguments.command {
        Command::List(list) => list::list(&builder.build(), &list, output),
        Command::Roots(_) => explain::roots(&builder.build(), output),
        Command::Explain(explain) => explain::explain(&builder.build(), &explain.query, output),
        Command::Doctor(_) => doctor::doctor(&builder.build(), output),
        Command::Show(show) => show::show(&builder.build(), &show, output),
        Command::Prompt(prompt) => {
            let modes = prompt
                .mode
                .iter()
                .fold(ListingModes::default(), |modes, (skill, mode)| {
                    modes.with_rule(discovery_config::parse_selector(skill), *mode)
                });
            let runtime = builder.modes(modes).build();
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
        Command::Call(call) => call::call(builder, &call, arguments.trust_project, output),
        Command::Accept(accept) => accept::accept(&builder.build(), &accept, output),
        Command::Mcp(mcp) => {
            mcp::serve::serve(builder, &mcp.serve, arguments.trust_project, output)
        }
        Command::Run(run) => run::run(builder, &run, arguments.trust_project, output),
        Command::Policy(policy) => {
            policy::policy(builder, &policy.command, arguments.trust_project, output)
        }
        Command::Trust(trust) => trust::trust(builder, &trust, arguments.trust_project, output),
        // These commands are handled above.
        Command::Validate(_)
        | Command::ReadProperties(_)
        | Command::ToPrompt(_)
        | Command::New(_)
        | Command::Build(_)
        | Command::Completions(_)
        | Command::Audit(_) => Ok(Exit::Success),
    }
}

//! The `skills` command: find, check, show and run skills.
//!
//! This is the only crate that reads the environment, the home directory and the working directory.
//! Everything it does is a call of `skills-runtime`, or of `skills-build` for authors; here are
//! arguments, roots, text and exit codes.
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | the skill failed, or there is no such skill |
//! | 2 | the command line or the input is wrong |
//! | 3 | denied by policy, or no sandbox can be had |
//! | 4 | the deadline came |
//! | 130 | interrupted |

mod adopt;
mod approver;
mod arguments;
mod audit;
mod build;
mod call;
mod compile_wasm;
mod completions;
mod detect;
mod doctor;
mod exit;
mod failure;
mod find;
mod host;
mod input;
mod interpreters;
mod list;
mod load;
mod mcp;
mod mentions;
mod needs;
mod new;
mod output;
mod policy;
mod policy_files;
mod precompile;
mod prompt;
mod reference;
mod roots;
mod run;
mod search_path;
mod show;
mod signals;
mod state;
mod tools;
mod trust;
mod validate;
mod what;

use std::process::ExitCode;

use clap::Parser;
use skills_runtime::SkillRuntime;
use skills_runtime::prompt::Modes;

use crate::arguments::{Arguments, Command, Mcp, McpCommand};
use crate::exit::Exit;
use crate::output::Output;

fn main() -> ExitCode {
    if let Some(exit) = compile_wasm::if_asked() {
        return exit.into();
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return failure::usage(&error).into(),
    };
    let output = Output::new(arguments.json);
    let exit = run(arguments, &output).unwrap_or_else(|error| failure::report(&error, &output));
    exit.into()
}

fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Exit> {
    // These look at what they are given and nowhere else.
    match &arguments.command {
        Command::Validate(validate) => {
            return validate::validate(validate, arguments.profile.as_deref(), output);
        }
        Command::ReadProperties(read) => return reference::read_properties(&read.path, output),
        Command::ToPrompt(prompt) => return reference::to_prompt(&prompt.paths, output),
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
        .discovery(roots::discovery(&arguments)?)
        .scratch_directory(roots::scratch_directory());
    let builder = interpreters::choose(builder, &arguments.command)?;
    let builder = compile_wasm::in_children(state::keep_compiled(builder));
    if !arguments.disable.is_empty() {
        roots::tell_idle_rules(
            &arguments.disable,
            &builder.clone().build().catalog(),
            output,
        );
    }
    match arguments.command {
        Command::List(list) => list::list(&builder.build(), &list, output),
        Command::Roots(_) => find::roots(&builder.build(), output),
        Command::Explain(explain) => find::explain(&builder.build(), &explain.query, output),
        Command::Doctor(_) => doctor::doctor(&builder.build(), output),
        Command::Show(show) => show::show(&builder.build(), &show, output),
        Command::Prompt(prompt) => {
            let modes = prompt
                .mode
                .iter()
                .fold(Modes::default(), |modes, (skill, mode)| {
                    modes.with(roots::selector(skill), *mode)
                });
            let runtime = builder.modes(modes).build();
            prompt::tell_idle_modes(&runtime, &prompt, output);
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
        Command::Adopt(adopt) => adopt::adopt(&builder.build(), &adopt, output),
        Command::Mcp(mcp) => {
            mcp::serve::serve(builder, &mcp.serve, arguments.trust_project, output)
        }
        Command::Run(run) => run::run(builder, &run, arguments.trust_project, output),
        Command::Policy(policy) => {
            policy::policy(builder, &policy.command, arguments.trust_project, output)
        }
        Command::Trust(trust) => trust::trust(builder, &trust, arguments.trust_project, output),
        // Those were answered above.
        Command::Validate(_)
        | Command::ReadProperties(_)
        | Command::ToPrompt(_)
        | Command::New(_)
        | Command::Build(_)
        | Command::Completions(_)
        | Command::Audit(_) => Ok(Exit::Done),
    }
}

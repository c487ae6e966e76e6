//! The `skills` command: finds, checks, shows and runs agent skills.
//!
//! Everything it does is a call of `skills-runtime`, or of `skills-build` for authors; the crate
//! itself handles arguments, roots, output and exit codes. Each command is a module of `commands`
//! with its arguments. Only the module `process_environment` reads the environment, the home
//! directory and the working directory.

mod approver;
mod async_runtime;
mod certificates;
mod cli;
mod client_config;
mod commands;
mod containers;
mod context;
mod counted;
mod default_workspace;
mod deferred;
mod env_files;
mod error;
mod execution;
mod exit;
mod file_mode;
mod finish_compilations;
mod global_options;
mod input;
#[cfg(feature = "install")]
mod install;
mod interpreters;
mod lint;
mod lookup;
mod mount;
mod output;
#[cfg(all(feature = "packages", unix))]
mod packages;
mod permission;
mod policy_files;
mod process_environment;
mod program_args;
mod remedies;
mod requirements;
mod run_exit;
mod selector;
mod settings;
mod shell;
mod signals;
mod skill_path;
#[cfg(any(feature = "install", all(feature = "packages", unix)))]
mod spinner;
mod state;
mod suggested_command;
mod temp_dir;
mod terminal;
mod tool_host;
mod trusted_skills;
mod usage_report;
mod virtual_env;
#[cfg(feature = "wasm")]
mod wasm_compiler;
mod words;

use std::process::ExitCode;

use crate::cli::Arguments;
use crate::context::Context;

fn main() -> ExitCode {
    // Before the arguments are parsed: the subcommand of compiler children is not part of the
    // command line, so clap would reject it.
    #[cfg(feature = "wasm")]
    if let Some(exit) = wasm_compiler::run_if_child() {
        return exit.into();
    }
    let exit = match Arguments::from_process() {
        Ok(Arguments { options, command }) => {
            let context = Context::new(options, Arguments::definition);
            let result = command
                .run(&context)
                .map_err(|error| context.explain(error));
            error::report_result(result, context.output, command.exit_codes())
        }
        Err(error) => error::report_usage(&error, Arguments::exit_codes_of_process(&error)),
    };
    exit.into()
}

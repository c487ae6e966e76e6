//! The `skills` command: list, show, prompt and run skills.
//!
//! This is the only crate that reads the environment, the home directory and the working directory. Everything it does is a call of
//! `skills-runtime`; here are arguments, roots, text and exit codes.
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | the skill failed, or there is no such skill |
//! | 2 | the command line or the input is wrong |
//! | 3 | denied by policy, or no sandbox can be had |
//! | 4 | the deadline came |
//! | 130 | interrupted |

mod arguments;
mod exit;
mod failure;
mod input;
mod list;
mod output;
mod prompt;
mod roots;
mod run;
mod show;
mod signals;

use std::process::ExitCode;

use clap::Parser;
use skills_runtime::SkillRuntime;

use crate::arguments::{Arguments, Command};
use crate::exit::Exit;
use crate::output::Output;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let output = Output::new(arguments.json);
    let exit = run(arguments, &output).unwrap_or_else(|error| failure::report(&error, &output));
    exit.into()
}

fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Exit> {
    // A default root may be absent; one that was named may not.
    arguments.root.iter().try_for_each(|root| input::directory(root).map(drop))?;
    let builder = SkillRuntime::builder().roots(roots::roots(&arguments.root)).scratch_directory(roots::scratch_directory());
    match arguments.command {
        Command::List(_) => list::list(&builder.build(), output),
        Command::Show(show) => show::show(&builder.build(), &show, output),
        Command::Prompt(prompt) => prompt::prompt(&builder.build(), &prompt, output),
        Command::Run(run) => run::run(builder, run, output),
    }
}

//! Builds, checks and shows this workspace: `cargo xtask COMMAND`.
#![expect(
    clippy::disallowed_methods,
    reason = "a build tool starts programs and reads files and the environment"
)]

mod advisories;
mod agents;
mod bench;
mod ci;
mod command;
mod conformance;
mod demo;
mod eval;
mod example_hosts;
mod fuzz;
mod guests;
mod image;
mod interop;
mod mutants;
mod platforms;
mod real;
mod registries;
mod skills_command;
mod skips;
mod test;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use skips::Strictness;

/// Builds, checks and demonstrates this workspace
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Demonstrate the project: find, show, load and run the example skills
    Demo,
    /// Build the example WebAssembly skills, run all tests and list skipped tests
    Test {
        /// Fail on a skip that `xtask/expected-skips.txt` does not list, as in CI (where `CI` is
        /// set)
        #[arg(long)]
        strict: bool,
        /// Run only the tests of this package that depend on the operating system, as an
        /// unprivileged user (needs root)
        #[arg(long, value_name = "PACKAGE", conflicts_with = "strict")]
        unprivileged: Option<String>,
        /// With `--unprivileged`, arguments of the test program, such as the name of a test
        #[arg(requires = "unprivileged", allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Run all checks, as CI does
    Ci {
        /// Skip the tests
        #[arg(long)]
        without_tests: bool,
    },
    /// Check the dependencies against a local copy of the RustSec advisory database, without a
    /// network (needs cargo-deny)
    Advisories {
        /// A clone of the repository `RustSec/advisory-db`
        #[arg(value_name = "DIR")]
        database: PathBuf,
    },
    /// Test the MCP server with third-party clients: libraries and agents
    Clients {
        /// Install the agents with npm into this directory, and run nothing
        #[arg(long, value_name = "DIR")]
        install_agents: Option<PathBuf>,
        /// Run the agents and no libraries; with a name only this one: claude, codex, gemini,
        /// opencode, qwen, copilot, cline or kilo
        #[arg(long, value_name = "NAME", num_args = 0..=1)]
        agent: Option<Option<String>>,
        /// Run only the jobs with the server as it was installed
        #[arg(long, requires = "agent")]
        as_installed: bool,
        /// Use this `skills` command instead of building it
        #[arg(long, value_name = "FILE")]
        skills: Option<PathBuf>,
        /// Write what the models saw to `docs/agents.md` and to the snapshot
        #[arg(long)]
        update: bool,
    },
    /// Run the benchmarks and print a table: median, floor of the same run, ratio
    Bench {
        /// Only the benchmarks of this crate
        package: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Measure how well requests find their skills
    ///
    /// Prints recall, reciprocal rank, the share of lists of 8,000 characters with the right skill,
    /// and the times of a query, of a build and of loading.
    Eval {
        /// Directory of skills
        directory: std::path::PathBuf,
        /// File with one request per line, such as `xtask/eval/requests.jsonl`
        requests: std::path::PathBuf,
        /// More options: `--also DIR` (absolute), `--split NAME`, `--failures`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<std::ffi::OsString>,
    },
    /// Run the fuzzers with limits of memory and time
    Fuzz {
        /// Only this fuzzer of `fuzz/Cargo.toml`; `mcp` runs only if it is named, since it takes
        /// minutes to compile
        target: Option<String>,
        /// Duration of each fuzzer; inputs then differ each time
        #[arg(long)]
        seconds: Option<u32>,
    },
    /// Measure how many changes of the code the tests detect, with `cargo mutants`
    Mutants {
        /// Packages to measure [default: skills-policy skills-audit]
        packages: Vec<String>,
        /// Only files whose paths match this glob
        #[arg(long = "file")]
        files: Vec<String>,
    },
    /// Create the container image for tests from programs of this host, and print how to use it (needs
    /// root, Podman and runc)
    Image,
    /// Run the official MCP conformance suite and Inspector (needs Node 22)
    Conformance,
    /// Compare jobs of real programs, such as LibreOffice, Chromium and git, with a plain shell
    Real {
        /// Only the jobs with this text in the name of their script
        #[arg(value_name = "TEXT", conflicts_with = "update")]
        only: Option<String>,
        /// Use this `skills` command instead of building it
        #[arg(long, value_name = "FILE")]
        skills: Option<PathBuf>,
        /// Write the table to `docs/status.md`, if no job differs
        #[arg(long)]
        update: bool,
    },
    /// Test the packages of skills with PyPI and npm (needs network)
    Registries {
        /// Use this `skills` command instead of building it
        #[arg(long, value_name = "FILE")]
        skills: Option<PathBuf>,
    },
    /// Check crate dependencies, sizes, structure, docs and undeclared tests
    Tidy {
        /// Print the size and the structure of each crate instead
        ///
        /// Lines and tokens are those of libraries and programs, without tests. A token is a word, a
        /// literal, a delimiter or a run of punctuation; comments have none. `median` and `p90` are
        /// tokens of a function. `cycles>3` counts cycles of imports with more than three modules,
        /// and a re-export is an import. `impls>2` counts types with an `impl`, not of a trait, in
        /// more than two files.
        #[arg(long)]
        measure: bool,
    },
    /// Build the WebAssembly guests
    Skills {
        /// Rebuild everything and fail if an artifact differs from the committed one
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Not with `Debug`: its backtrace hides what to do.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> anyhow::Result<()> {
    match task {
        Task::Demo => demo::demo(),
        Task::Test {
            unprivileged: Some(package),
            arguments,
            ..
        } => test::test_unprivileged_package(&package, &arguments),
        Task::Test { strict, .. } => test::test(if strict {
            Strictness::Fail
        } else {
            Strictness::Report
        }),
        Task::Ci { without_tests } => ci::ci(if without_tests {
            ci::Tests::Skip
        } else {
            ci::Tests::Run
        }),
        Task::Advisories { database } => advisories::advisories(&database),
        Task::Clients {
            install_agents: Some(directory),
            ..
        } => agents::install(&directory),
        Task::Clients {
            agent,
            as_installed,
            skills,
            update,
            ..
        } => {
            // The libraries have no figures to update.
            if agent.is_none() && !update {
                interop::interop()?;
            }
            let on_difference = if update {
                agents::OnDifference::Update
            } else {
                agents::OnDifference::Report
            };
            let conditions = if as_installed {
                agents::Conditions::AsInstalled
            } else {
                agents::Conditions::All
            };
            agents::agents(
                agent.flatten().as_deref(),
                skills.as_deref(),
                conditions,
                on_difference,
            )
        }
        Task::Bench { package, json } => bench::bench(
            package.as_deref(),
            if json {
                bench::Format::Json
            } else {
                bench::Format::Table
            },
        ),
        Task::Eval {
            directory,
            requests,
            options,
        } => eval::eval(&directory, &requests, &options),
        Task::Fuzz {
            target,
            seconds: Some(seconds),
        } => fuzz::fuzz(target.as_deref(), seconds, fuzz::InputMode::Random),
        Task::Fuzz {
            target,
            // Without a duration it is a check, whose result must not depend on chance.
            seconds: None,
        } => fuzz::fuzz(
            target.as_deref(),
            fuzz::DEFAULT_SECONDS,
            fuzz::InputMode::Deterministic,
        ),
        Task::Mutants { packages, files } => mutants::mutants(&packages, &files),
        Task::Image => image::image(),
        Task::Conformance => conformance::conformance(),
        Task::Real {
            only,
            skills,
            update,
        } => real::real(only.as_deref(), skills.as_deref(), update),
        Task::Registries { skills } => registries::registries(skills.as_deref()),
        Task::Tidy { measure: false } => tidy::tidy(),
        Task::Tidy { measure: true } => tidy::measure(),
        Task::Skills { check } => guests::guests(if check {
            guests::GuestMode::Check
        } else {
            guests::GuestMode::Update
        }),
    }
}

//! Builds, checks and shows this workspace: `cargo xtask COMMAND`.
#![expect(
    clippy::disallowed_methods,
    reason = "a build tool starts programs and reads files and the environment"
)]

mod bench;
mod ci;
mod command;
mod conformance;
mod demo;
mod example_hosts;
mod fuzz;
mod guests;
mod interop;
mod mutants;
mod platforms;
mod skills_command;
mod skips;
mod test;
mod tidy;

use clap::{Parser, Subcommand};

use skips::Strictness;

/// Builds, checks and shows this workspace
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Show what the project does: find, show, load and run the example skills
    Demo,
    /// Build the example WebAssembly skills, then run all tests and count what they skip
    Test {
        /// Fail on a skip that `xtask/expected-skips.txt` does not list, as in CI (where `CI` is
        /// set)
        #[arg(long)]
        strict: bool,
    },
    /// Run all checks, as CI does
    Ci {
        /// Leave out the tests, which ran before
        #[arg(long)]
        without_tests: bool,
    },
    /// Let clients of the Model Context Protocol that others wrote talk to the server
    Clients,
    /// Run the benchmarks and print one table: figure, floor of the same run, ratio
    Bench {
        /// Only the benchmarks of this crate
        package: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Run the fuzzers under limits of memory and time
    Fuzz {
        /// Only this one of `fuzz/Cargo.toml`; `mcp` runs when it is named, since it takes minutes
        /// to compile
        target: Option<String>,
        /// How long each runs, with other inputs each time
        #[arg(long)]
        seconds: Option<u32>,
    },
    /// Measure which changes of the code no test notices, with `cargo mutants`
    Mutants {
        /// These packages; without any `skills-policy` and `skills-audit`
        packages: Vec<String>,
        /// Only files whose paths match this glob
        #[arg(long = "file")]
        files: Vec<String>,
    },
    /// Hold the server against the official conformance suite and the Inspector of the Model
    /// Context Protocol, where Node 22 has them
    Conformance,
    /// Check edges between crates, file lengths, crate docs and forgotten test files
    Tidy,
    /// Build the WebAssembly guests
    Skills {
        /// Build all, and fail when the bytes differ from the committed ones
        #[arg(long)]
        check: bool,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().task {
        Task::Demo => demo::demo(),
        Task::Test { strict } => test::test(if strict {
            Strictness::Fail
        } else {
            Strictness::Report
        }),
        Task::Ci { without_tests } => ci::ci(if without_tests {
            ci::Tests::Skip
        } else {
            ci::Tests::Run
        }),
        Task::Clients => interop::interop(),
        Task::Bench { package, json } => bench::bench(
            package.as_deref(),
            if json {
                bench::Format::Json
            } else {
                bench::Format::Table
            },
        ),
        Task::Fuzz {
            target,
            seconds: Some(seconds),
        } => fuzz::fuzz(target.as_deref(), seconds, fuzz::InputMode::Random),
        Task::Fuzz {
            target,
            seconds: None,
        } => fuzz::fuzz(
            target.as_deref(),
            fuzz::DEFAULT_SECONDS,
            fuzz::InputMode::Deterministic,
        ),
        Task::Mutants { packages, files } => mutants::mutants(&packages, &files),
        Task::Conformance => conformance::conformance(),
        Task::Tidy => tidy::tidy(),
        Task::Skills { check } => guests::guests(if check {
            guests::GuestMode::Check
        } else {
            guests::GuestMode::Update
        }),
    }
}

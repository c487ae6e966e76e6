//! `skills wasm`: compiles WebAssembly ahead of time.

#[cfg(feature = "wasm")]
mod precompile;

use clap::{Args, Subcommand};

use crate::context::Context;
use crate::exit::Exit;

/// Precompile WebAssembly modules
#[derive(Debug, Args)]
pub(crate) struct Wasm {
    #[command(subcommand)]
    command: WasmCommand,
}

#[derive(Debug, Subcommand)]
enum WasmCommand {
    Precompile(Precompile),
}

/// Compile modules into the code cache, ahead of their first run
#[derive(Debug, Args)]
pub(crate) struct Precompile {
    /// Names or directories of skills [default: all with WebAssembly]
    #[arg(value_name = "SKILL")]
    skills: Vec<String>,

    /// Remove compiled modules first; without SKILL, compile nothing
    #[arg(long)]
    clear: bool,
}

impl Wasm {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let WasmCommand::Precompile(precompile) = &self.command;
        precompile.run(context)
    }
}

#[cfg(not(feature = "wasm"))]
impl Precompile {
    pub(crate) fn run(&self, _context: &Context) -> anyhow::Result<Exit> {
        Err(crate::error::CommandError::missing_feature("WebAssembly", "wasm").into())
    }
}

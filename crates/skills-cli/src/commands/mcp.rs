//! `skills mcp`: the MCP server and its registration with clients.

mod add_servers;
mod client_edit;
#[cfg(feature = "mcp-http")]
mod http;
mod install;
mod log;
mod serve;
mod stdio;
#[cfg(feature = "mcp-http")]
mod token;
mod trust_command;
mod workspace;

use clap::{Args, Subcommand};

use crate::context::Context;
use crate::exit::Exit;

/// Start the MCP server
///
/// Serves skills and their tools to clients of the Model Context Protocol. Clients start this
/// command and use its standard input and output; `skills mcp install` registers it with a
/// client. With --http, clients connect over HTTP.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Mcp {
    #[command(flatten)]
    serve: serve::Serve,

    #[command(subcommand)]
    command: Option<McpCommand>,
}

#[derive(Debug, Subcommand)]
enum McpCommand {
    Install(install::Install),
    AddServers(add_servers::AddServers),
    #[cfg(feature = "mcp-http")]
    Token(token::Token),
}

impl Mcp {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        match &self.command {
            Some(McpCommand::Install(install)) => install.run(context),
            Some(McpCommand::AddServers(add)) => add.run(context),
            #[cfg(feature = "mcp-http")]
            Some(McpCommand::Token(token)) => token.run(context),
            None => self.serve.run(context),
        }
    }
}

//! The arguments of the server for clients of the Model Context Protocol.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) use crate::mcp::install::Client;
use crate::mcp::log::{LogFormat, LogLevel};

/// The heading of what is for HTTP alone.
const HTTP_HEADING: &str = "Over HTTP";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Mcp {
    #[command(flatten)]
    pub(crate) serve: Serve,

    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) host: super::Host,

    /// Allow, while the server runs: write:/DIR, spawn, spawn:PROGRAM, network:HOST, env:NAME
    /// (repeatable)
    #[arg(long, value_name = "PERMISSION")]
    pub(crate) allow: Vec<String>,

    /// Take the variables that skills declare from this .env file (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Vec<PathBuf>,

    /// How many calls of one client are answered at a time
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 64,
        hide_short_help = true
    )]
    pub(crate) calls: usize,

    /// How much is logged to standard error
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = LogLevel::Warn)]
    pub(crate) log: LogLevel,

    /// How it is logged
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,

    /// Serve over HTTP at this address and port instead of standard input and output; port 0 takes
    /// one that is free
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:8640", help_heading = HTTP_HEADING)]
    pub(crate) http: Option<SocketAddr>,

    /// Take the tokens of clients from this file, one in a line as `NAME: TOKEN` [default: one that
    /// is made where this command keeps its state]
    #[arg(long, value_name = "FILE", requires = "http", help_heading = HTTP_HEADING)]
    pub(crate) token_file: Option<PathBuf>,

    /// Serve without a token, to everybody on this machine
    #[arg(long, requires = "http", conflicts_with_all = ["token_file", "allow_remote"], help_heading = HTTP_HEADING)]
    pub(crate) no_token: bool,

    /// Serve at an address that other machines reach; needs --allow-host. There is no encryption:
    /// put something in front that does it
    #[arg(long, requires = "http", help_heading = HTTP_HEADING)]
    pub(crate) allow_remote: bool,

    /// Name by which clients may call the server (repeatable)
    #[arg(long, value_name = "HOST[:PORT]", requires = "http", help_heading = HTTP_HEADING)]
    pub(crate) allow_host: Vec<String>,

    /// Origin whose web pages may call the server (repeatable)
    #[arg(long, value_name = "ORIGIN", requires = "http", help_heading = HTTP_HEADING)]
    pub(crate) allow_origin: Vec<String>,

    /// Keep no sessions for clients of revisions before 2026-07-28; such clients cannot be asked
    /// anything then
    #[arg(long, requires = "http", help_heading = HTTP_HEADING)]
    pub(crate) no_sessions: bool,

    /// Seal questions with the key in this file, at least 32 bytes; servers that stand for each
    /// other share it
    #[arg(long, value_name = "FILE", requires = "http", help_heading = HTTP_HEADING)]
    pub(crate) key_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Let a client start this command as a server: write it into the client's configuration
    ///
    /// The change is shown first, and written when you agree. Everything else in the file stays as
    /// it is. What stands behind `--` are options of `skills mcp`; write paths in full, since a
    /// client starts the server wherever it likes.
    Install(Install),
}

#[derive(Debug, Args)]
pub(crate) struct Install {
    /// The client
    #[arg(long, value_enum, value_name = "CLIENT")]
    pub(crate) client: Client,

    /// Write the configuration of this project, which others may share, instead of your own
    #[arg(long)]
    pub(crate) project: bool,

    /// Name of the server in the client: letters, digits, - and _
    #[arg(long, value_name = "NAME", default_value = "skills", value_parser = parse_server_name)]
    pub(crate) name: String,

    /// Only show what would be written
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,

    /// Write without asking
    #[arg(long)]
    pub(crate) yes: bool,

    /// Options that the client starts `skills mcp` with
    #[arg(last = true, value_name = "OPTION")]
    pub(crate) arguments: Vec<String>,
}

/// Reads a name that all clients take.
fn parse_server_name(text: &str) -> Result<String, String> {
    const MAX_NAME_BYTES: usize = 64;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if text.is_empty() || text.len() > MAX_NAME_BYTES || !text.chars().all(is_plain) {
        return Err(format!(
            "a name has 1 to {MAX_NAME_BYTES} letters, digits, - and _"
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_all_clients_take() {
        assert_eq!(
            parse_server_name("my-skills_2"),
            Ok("my-skills_2".to_owned())
        );
        for wrong in ["", "a.b", "a b", "ä", "a/b", &"x".repeat(65)] {
            assert!(parse_server_name(wrong).is_err(), "{wrong}");
        }
    }
}

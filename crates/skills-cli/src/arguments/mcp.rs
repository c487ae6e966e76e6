//! Arguments of `skills mcp` and `skills mcp install`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use skills_runtime::policy::Rule;

use super::permission::PermissionParser;
pub(crate) use crate::mcp::install::Client;
use crate::mcp::log::{LogFormat, LogLevel};

/// Help heading of the options for HTTP.
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

    /// Grant a permission while the server runs (repeatable)
    ///
    /// One of write:/DIR, spawn, spawn:PROGRAM, network:HOST, env:NAME.
    #[arg(long, value_name = "PERMISSION", value_parser = PermissionParser)]
    pub(crate) allow: Vec<Rule>,

    /// Read variables that skills declare from this .env file (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Vec<PathBuf>,

    /// Maximum number of concurrent calls per client
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 64,
        hide_short_help = true
    )]
    pub(crate) calls: usize,

    /// Log level; logs go to standard error
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = LogLevel::Warn)]
    pub(crate) log: LogLevel,

    /// Log format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,

    /// Serve over HTTP at this address instead of standard input and output
    ///
    /// Port 0 selects a free port.
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:8640", help_heading = HTTP_HEADING)]
    pub(crate) http: Option<SocketAddr>,

    /// File of client tokens, one `NAME: TOKEN` per line
    ///
    /// [default: a token that is generated in the state directory]
    #[arg(long, value_name = "FILE", requires = "http", help_heading = HTTP_HEADING)]
    pub(crate) token_file: Option<PathBuf>,

    /// Serve without a token, to every user of this machine
    #[arg(long, requires = "http", conflicts_with_all = ["token_file", "allow_remote"], help_heading = HTTP_HEADING)]
    pub(crate) no_token: bool,

    /// Serve at an address that other machines can reach
    ///
    /// Needs --allow-host. The server does not encrypt: use a reverse proxy with TLS.
    #[arg(long, requires = "http", help_heading = HTTP_HEADING)]
    pub(crate) allow_remote: bool,

    /// Accept requests for this host name (repeatable)
    #[arg(long, value_name = "HOST[:PORT]", requires = "http", help_heading = HTTP_HEADING)]
    pub(crate) allow_host: Vec<String>,

    /// Accept requests from web pages of this origin (repeatable)
    #[arg(long, value_name = "ORIGIN", requires = "http", help_heading = HTTP_HEADING)]
    pub(crate) allow_origin: Vec<String>,

    /// Disable sessions
    ///
    /// Clients of protocol versions before 2026-07-28 then cannot be asked for approval.
    #[arg(long, requires = "http", help_heading = HTTP_HEADING)]
    pub(crate) no_sessions: bool,

    /// File with the key that signs request state, at least 32 bytes
    ///
    /// Servers behind one load balancer share the key.
    #[arg(long, value_name = "FILE", requires = "http", help_heading = HTTP_HEADING)]
    pub(crate) key_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Register the server with a client
    ///
    /// Shows the change to the client's configuration and writes it after confirmation. Everything
    /// else in the file is preserved. Arguments after `--` are options of `skills mcp`; use
    /// absolute paths, because the working directory of the server depends on the client.
    Install(Install),
}

#[derive(Debug, Args)]
pub(crate) struct Install {
    /// Client to register with
    #[arg(long, value_enum, value_name = "CLIENT")]
    pub(crate) client: Client,

    /// Write the project's configuration instead of the user's
    #[arg(long)]
    pub(crate) project: bool,

    /// Server name in the client: letters, digits, - and _
    #[arg(long, value_name = "NAME", default_value = "skills", value_parser = parse_server_name)]
    pub(crate) name: String,

    /// Show the change without writing it
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,

    /// Write without asking
    #[arg(long)]
    pub(crate) yes: bool,

    /// Options of `skills mcp`
    #[arg(last = true, value_name = "OPTION")]
    pub(crate) arguments: Vec<String>,
}

/// Parses a server name that every client accepts.
fn parse_server_name(text: &str) -> Result<String, String> {
    const MAX_NAME_BYTES: usize = 64;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if text.is_empty() || text.len() > MAX_NAME_BYTES || !text.chars().all(is_plain) {
        return Err(format!(
            "expected 1 to {MAX_NAME_BYTES} letters, digits, `-` or `_`"
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_names_are_accepted_by_every_client() {
        assert_eq!(
            parse_server_name("my-skills_2"),
            Ok("my-skills_2".to_owned())
        );
        for wrong in ["", "a.b", "a b", "ä", "a/b", &"x".repeat(65)] {
            assert!(parse_server_name(wrong).is_err(), "{wrong}");
        }
    }
}

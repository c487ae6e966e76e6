//! The arguments of the server for clients of the Model Context Protocol.

use clap::{Args, Subcommand};

pub(crate) use crate::mcp::install::Client;

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Let a client start this command as a server: write it into the client's configuration
    ///
    /// The change is shown first, and written when you agree. Everything else in the file stays as it is. What stands behind `--` are
    /// options of `skills mcp`; write paths in full, since a client starts the server wherever it likes.
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
    #[arg(long, value_name = "NAME", default_value = "skills", value_parser = name)]
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
fn name(text: &str) -> Result<String, String> {
    const MAX: usize = 64;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if text.is_empty() || text.len() > MAX || !text.chars().all(is_plain) {
        return Err(format!("a name has 1 to {MAX} letters, digits, - and _"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_all_clients_take() {
        assert_eq!(name("my-skills_2"), Ok("my-skills_2".to_owned()));
        for wrong in ["", "a.b", "a b", "ä", "a/b", &"x".repeat(65)] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
    }
}

//! `skills mcp token`: the tokens of clients that connect over HTTP.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use skills_mcp::BearerToken;

use super::http::auth;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;

/// Show or add tokens of HTTP clients
///
/// Without a subcommand, prints the path of the file with the generated token of `skills mcp
/// --http`, which is created if it does not exist. Other tools can read the token from this file.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Token {
    /// Print the first token of the file instead of its path
    #[arg(long)]
    show: bool,

    #[command(subcommand)]
    command: Option<TokenCommand>,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    New(NewToken),
}

/// Add a token for another client
///
/// Adds a line `NAME: TOKEN` to the token file and prints the token, which no command shows again.
/// The server reads the file when it starts. With several tokens the clients are different users,
/// and none of them can approve permanently for the others.
#[derive(Debug, Args)]
struct NewToken {
    /// Name of the client: letters, digits, -, _ and .
    name: String,

    /// File to add the token to, created with mode 0600 [default: the file of the generated token]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl Token {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        match &self.command {
            Some(TokenCommand::New(new)) => new.run(context),
            None => self.print(context),
        }
    }

    fn print(&self, context: &Context) -> anyhow::Result<Exit> {
        let path = auth::generated_token_file(context)?;
        let tokens = auth::read_tokens(&path)?;
        let first = tokens.first().filter(|_| self.show);
        if context.output.is_json() {
            let names: Vec<_> = tokens.iter().map(BearerToken::name).collect();
            let token = first.map(BearerToken::expose_secret);
            let mut document = json!({"file": path, "names": names});
            if let Some(token) = token {
                document["token"] = json!(token);
            }
            context.output.print_json(&document)?;
        } else {
            let line = first.map_or_else(
                || path.display().to_string(),
                |token| token.expose_secret().to_owned(),
            );
            context.output.lines([line])?;
        }
        Ok(Exit::Success)
    }
}

impl NewToken {
    fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let token = BearerToken::generate(&self.name)
            .map_err(|error| CommandError::input(format!("cannot create a token: {error}")))?;
        let path = match &self.token_file {
            Some(path) => path.clone(),
            None => auth::generated_token_file(context)?,
        };
        auth::add_token(&path, &token)?;
        if context.output.is_json() {
            let secret = token.expose_secret();
            let document = json!({"file": path, "name": token.name(), "token": secret});
            context.output.print_json(&document)?;
        } else {
            context.output.lines([token.expose_secret().to_owned()])?;
            context.output.status(&format!(
                "added `{}` to {}; restart the server",
                token.name(),
                path.display()
            ));
        }
        Ok(Exit::Success)
    }
}

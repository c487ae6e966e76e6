//! What clients over HTTP show, and what seals questions.
#![expect(clippy::disallowed_methods, reason = "the files here are this command's own, and none of a skill")]

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use skills_mcp::Token;

use crate::arguments::Serve;
use crate::input::{self, InputError};
use crate::output::Output;
use crate::state;

/// The longest file of tokens, and the longest key, in bytes.
const MAX_FILE: u64 = 64 << 10;
/// The name of the token that this command makes.
const OWN: &str = "owner";

/// Takes the tokens of a file, else the one that this command made for its user, which is made when it is first needed. None when none is wanted.
pub(crate) fn choose(arguments: &Serve, output: &Output) -> anyhow::Result<Vec<Token>> {
    if arguments.no_token {
        return Ok(Vec::new());
    }
    if let Some(path) = &arguments.token_file {
        let tokens = read(path)?;
        anyhow::ensure!(!tokens.is_empty(), InputError::new(format!("{} has no token", path.display())));
        return Ok(tokens);
    }
    let path = state::token()
        .ok_or_else(|| InputError::new("there is no place for a token: set XDG_STATE_HOME, or use --token-file".to_owned()))?;
    if !path.exists() {
        make(&path)?;
    }
    output.note(&format!("clients show the token in {}: Authorization: Bearer TOKEN", path.display()));
    read(&path)
}

/// Reads the key that seals questions.
pub(crate) fn key(path: &Path) -> anyhow::Result<Vec<u8>> {
    private(path)?;
    Ok(input::bytes(path, MAX_FILE)?.trim_ascii().to_vec())
}

fn read(path: &Path) -> anyhow::Result<Vec<Token>> {
    private(path)?;
    let text = input::file_text(path, MAX_FILE)?;
    Token::parse_file(&text).map_err(|error| InputError::new(format!("{}: {error}", path.display())).into())
}

/// What others may read is no secret.
fn private(path: &Path) -> anyhow::Result<()> {
    if state::is_readable_by_others(path) {
        let message = format!("others may read {}; run `chmod 600` on it", path.display());
        return Err(InputError::new(message).into());
    }
    Ok(())
}

/// Makes a token in a file of its user's own. Of two commands that do so at once the first wins.
fn make(path: &Path) -> anyhow::Result<()> {
    let token = Token::generate(OWN).map_err(|error| anyhow::anyhow!("{error}"))?;
    let failed = || format!("cannot make {}", path.display());
    if let Some(directory) = path.parent() {
        state::make_private(directory).with_context(failed)?;
    }
    let mut file = match create(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(()),
        created => created.with_context(failed)?,
    };
    writeln!(file, "{OWN}: {}", token.reveal()).with_context(failed)
}

#[cfg(unix)]
fn create(path: &Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn create(path: &Path) -> std::io::Result<std::fs::File> {
    std::fs::File::create_new(path)
}

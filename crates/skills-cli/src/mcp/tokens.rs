//! What clients over HTTP show, and what seals questions.

use std::path::Path;

use anyhow::Context;
use skills_mcp::Token;
use skills_runtime::PrivateFile;

use crate::arguments::Serve;
use crate::input::{self, InputError};
use crate::output::Output;
use crate::state;

/// The longest file of tokens, and the longest key, in bytes.
const MAX_FILE: u64 = 64 << 10;
/// The name of the token that this command makes.
const OWN: &str = "owner";

/// Takes the tokens of a file, else the one that this command made for its user, which is made when
/// it is first needed. None when none is wanted.
pub(crate) fn choose(arguments: &Serve, output: &Output) -> anyhow::Result<Vec<Token>> {
    if arguments.no_token {
        return Ok(Vec::new());
    }
    if let Some(path) = &arguments.token_file {
        let tokens = read(path)?;
        anyhow::ensure!(
            !tokens.is_empty(),
            InputError::new(format!("{} has no token", path.display()))
        );
        return Ok(tokens);
    }
    let path = state::token().ok_or_else(|| {
        InputError::new(
            "there is no place for a token: set XDG_STATE_HOME, or use --token-file".to_owned(),
        )
    })?;
    // One that is empty was never written.
    if path.metadata().map_or(0, |file| file.len()) == 0 {
        make(&path)?;
    }
    output.note(&format!(
        "clients show the token in {}: Authorization: Bearer TOKEN",
        path.display()
    ));
    read(&path)
}

/// Reads the key that seals questions: the bytes of the file, without the end of a line where
/// enough is left.
pub(crate) fn key(path: &Path) -> anyhow::Result<Vec<u8>> {
    const ENOUGH: usize = 32;
    private(path)?;
    let mut key = input::bytes(path, MAX_FILE)?;
    if key.len() > ENOUGH && key.ends_with(b"\n") {
        key.pop();
    }
    Ok(key)
}

fn read(path: &Path) -> anyhow::Result<Vec<Token>> {
    private(path)?;
    let text = input::file_text(path, MAX_FILE)?;
    Token::parse_file(&text)
        .map_err(|error| InputError::new(format!("{}: {error}", path.display())).into())
}

/// What others may read is no secret, and what they may write is not its owner's.
fn private(path: &Path) -> anyhow::Result<()> {
    if state::is_of_others(path) {
        let message = format!(
            "others may read or change {}; run `chmod 600` on it",
            path.display()
        );
        return Err(InputError::new(message).into());
    }
    Ok(())
}

/// Makes a token in a file of its user's own, which is there whole or not at all. Of two commands
/// that do so at once the first one wins.
fn make(path: &Path) -> anyhow::Result<()> {
    let token = Token::generate(OWN).map_err(|error| anyhow::anyhow!("{error}"))?;
    let file = PrivateFile::new(path);
    let failed = || format!("cannot make {}", path.display());
    let _lock = file.lock().with_context(failed)?;
    if path.metadata().map_or(0, |file| file.len()) > 0 {
        return Ok(());
    }
    file.replace(&format!("{OWN}: {}\n", token.reveal()))
        .with_context(failed)
}

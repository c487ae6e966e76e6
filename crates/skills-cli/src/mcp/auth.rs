//! What clients over HTTP show, and what seals questions.

use std::path::Path;

use anyhow::Context;
use skills_mcp::BearerToken;
use skills_runtime::PrivateFile;

use crate::arguments::Serve;
use crate::directories;
use crate::input::{self, InputError};
use crate::output::Output;

/// The longest file of tokens, and the longest key, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 10;
/// The name of the token that this command makes.
const DEFAULT_TOKEN_NAME: &str = "owner";

/// Takes the tokens of a file, else the one that this command made for its user, which is made when
/// it is first needed. None when none is wanted.
pub(crate) fn load_tokens(arguments: &Serve, output: &Output) -> anyhow::Result<Vec<BearerToken>> {
    if arguments.no_token {
        return Ok(Vec::new());
    }
    if let Some(path) = &arguments.token_file {
        let tokens = read_tokens(path)?;
        anyhow::ensure!(
            !tokens.is_empty(),
            InputError::new(format!("{} has no token", path.display()))
        );
        return Ok(tokens);
    }
    let path = directories::token_path().ok_or_else(|| {
        InputError::new(
            "there is no place for a token: set XDG_STATE_HOME, or use --token-file".to_owned(),
        )
    })?;
    // One that is empty was never written.
    if path.metadata().map_or(0, |file| file.len()) == 0 {
        create_token(&path)?;
    }
    output.status(&format!(
        "clients show the token in {}: Authorization: Bearer TOKEN",
        path.display()
    ));
    read_tokens(&path)
}

/// Reads the key that seals questions: the bytes of the file, without the end of a line where
/// enough is left.
pub(crate) fn read_state_key(path: &Path) -> anyhow::Result<Vec<u8>> {
    const MIN_KEY_BYTES: usize = 32;
    check_private(path)?;
    let mut key = input::read_bytes(path, MAX_FILE_BYTES)?;
    if key.len() > MIN_KEY_BYTES && key.ends_with(b"\n") {
        key.pop();
    }
    Ok(key)
}

fn read_tokens(path: &Path) -> anyhow::Result<Vec<BearerToken>> {
    check_private(path)?;
    let text = input::read_text_file(path, MAX_FILE_BYTES)?;
    BearerToken::parse_file(&text)
        .map_err(|error| InputError::new(format!("{}: {error}", path.display())).into())
}

/// What others may read is no secret, and what they may write is not its owner's.
fn check_private(path: &Path) -> anyhow::Result<()> {
    if directories::is_group_or_world_accessible(path) {
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
fn create_token(path: &Path) -> anyhow::Result<()> {
    let token =
        BearerToken::generate(DEFAULT_TOKEN_NAME).map_err(|error| anyhow::anyhow!("{error}"))?;
    let file = PrivateFile::new(path);
    let failed = || format!("cannot make {}", path.display());
    let _lock = file.lock().with_context(failed)?;
    if path.metadata().map_or(0, |file| file.len()) > 0 {
        return Ok(());
    }
    file.replace(&format!(
        "{DEFAULT_TOKEN_NAME}: {}\n",
        token.expose_secret()
    ))
    .with_context(failed)
}

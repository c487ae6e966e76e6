//! Bearer tokens of HTTP clients, and the key that signs request state.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use skills_mcp::BearerToken;
use skills_runtime::PrivateFile;
use skills_store::trusted_file::{self, Privacy};

use crate::commands::mcp::serve::Serve;
use crate::context::Context;
use crate::error::CommandError;
use crate::input;

/// Maximum size of a token file and of a key file, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 10;
/// Name of the generated token.
const DEFAULT_TOKEN_NAME: &str = "owner";

/// Returns the tokens of `--token-file`, else the generated token of the user, which is created on
/// first use. Returns no tokens with `--no-token`.
pub(super) fn load_tokens(serve: &Serve, context: &Context) -> anyhow::Result<Vec<BearerToken>> {
    if serve.no_token {
        // Opt-in, since every user of the machine can reach a port on loopback.
        return Ok(Vec::new());
    }
    if let Some(path) = &serve.token_file {
        let tokens = read_tokens(path)?;
        anyhow::ensure!(
            // An empty list of tokens would mean a server without authentication.
            !tokens.is_empty(),
            CommandError::input(format!("token file `{}` has no token", path.display()))
        );
        return Ok(tokens);
    }
    let path = generated_token_file(context)?;
    // The path and not the token: standard error is often a log that others read.
    context.output.status(&format!(
        "clients authenticate with the token in {}: `Authorization: Bearer TOKEN`",
        path.display()
    ));
    read_tokens(&path)
}

/// Returns the path of the file with the generated token of the user. Creates it if it does not
/// exist.
pub(in crate::commands::mcp) fn generated_token_file(context: &Context) -> anyhow::Result<PathBuf> {
    let state = context.environment.state_dir().ok_or_else(|| {
        CommandError::input("cannot create a token: no home directory")
            .with_help("set `XDG_STATE_HOME` or pass `--token-file FILE`")
    })?;
    let path = state.join("mcp-token");
    // An empty file was created, but never written.
    if path.metadata().map_or(0, |file| file.len()) == 0 {
        create_token(&path)?;
    }
    Ok(path)
}

/// Adds a token to a file, atomically. Creates the file if it does not exist; of a symlink the target
/// is written.
///
/// # Errors
/// Fails if other users can access the file, if it is invalid, or if it has a token of this name.
pub(in crate::commands::mcp) fn add_token(path: &Path, token: &BearerToken) -> anyhow::Result<()> {
    let target = path.canonicalize();
    let path = target.as_deref().unwrap_or(path);
    let file = PrivateFile::new(path);
    let failed = || format!("cannot write `{}`", path.display());
    let _lock = file.lock().with_context(failed)?;
    let mut text = String::new();
    if path.symlink_metadata().is_ok() {
        text = read_private_text(path)?;
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("{}: {}\n", token.name(), token.expose_secret()));
    // A file that the server would reject is not written.
    BearerToken::parse_file(&text)
        .map_err(|error| CommandError::input(format!("{}: {error}", path.display())))?;
    file.replace(&text).with_context(failed)
}

/// Reads the key that signs request state: the bytes of the file, without a trailing newline if at
/// least 32 bytes remain.
pub(super) fn read_state_key(path: &Path) -> anyhow::Result<Vec<u8>> {
    const MIN_KEY_BYTES: usize = 32;
    let mut key = trusted_file::read(path, MAX_FILE_BYTES, Privacy::Private)?;
    // Editors and `echo` add a line end. It is kept if the key would be too short without it, since
    // random bytes can end with one.
    if key.len() > MIN_KEY_BYTES && key.ends_with(b"\n") {
        key.pop();
    }
    Ok(key)
}

/// Reads a token file, which no other user can access.
pub(in crate::commands::mcp) fn read_tokens(path: &Path) -> anyhow::Result<Vec<BearerToken>> {
    let text = read_private_text(path)?;
    BearerToken::parse_file(&text)
        .map_err(|error| CommandError::input(format!("{}: {error}", path.display())).into())
}

/// Reads a file that other users can neither read nor change: a token that another user added
/// authenticates that user.
fn read_private_text(path: &Path) -> anyhow::Result<String> {
    let bytes = trusted_file::read(path, MAX_FILE_BYTES, Privacy::Private)?;
    input::decode_utf8(path, bytes)
}

/// Generates a token in a private file, atomically. Of two concurrent commands, the first one wins.
fn create_token(path: &Path) -> anyhow::Result<()> {
    let token =
        BearerToken::generate(DEFAULT_TOKEN_NAME).map_err(|error| anyhow::anyhow!("{error}"))?;
    let file = PrivateFile::new(path);
    let failed = || format!("cannot create `{}`", path.display());
    // Clients of the first command are configured with its token, so a second one must not replace
    // it.
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

//! Errors of the installer as errors of the command.

use skills_install::{InstallError, InstallErrorKind};
use skills_runtime::discovery::DiscoveryError;

use crate::error::{CommandError, is_process_limit};
use crate::exit::Exit;
use crate::output::line;

/// Converts an error of the installer.
pub(crate) fn failed(error: InstallError) -> anyhow::Error {
    if is_process_limit(&error) {
        return CommandError::process_limit(describe(&error)).into();
    }
    let exit = match error.kind() {
        InstallErrorKind::Source => Exit::Usage,
        InstallErrorKind::Unsafe
        | InstallErrorKind::Lock
        | InstallErrorKind::NotAllowed
        | InstallErrorKind::Signature
        | InstallErrorKind::Conflict => Exit::Denied,
        _ => Exit::Failed,
    };
    let help = help(&error);
    let known = CommandError::new(error.kind().code(), exit, describe(&error));
    match help {
        Some(help) => known.with_help(help).into(),
        None => known.into(),
    }
}

/// Converts an error about staged files that cannot be searched.
pub(super) fn failed_search(name: &str, error: &DiscoveryError) -> anyhow::Error {
    let message = format!("cannot search the files of `{}`: {error}", line(name));
    CommandError::new(error.kind().code(), Exit::Failed, message).into()
}

/// Returns what to do about an error of the installer.
pub(super) fn help(error: &InstallError) -> Option<String> {
    match error.kind() {
        InstallErrorKind::NotAllowed => {
            Some("`skills policy show` lists the allowed sources".to_owned())
        }
        _ => error.help(),
    }
}

/// Returns an error with its causes.
pub(super) fn describe(error: &InstallError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        let shown = source.to_string();
        // Some errors contain the text of their cause.
        if !text.contains(&shown) {
            text.push_str(&format!(": {shown}"));
        }
        cause = source.source();
    }
    text
}

//! `.env` files with variables for programs.

use std::path::{Path, PathBuf};

use skills_runtime::{Secret, Secrets};
use skills_store::trusted_file::{self, Privacy, TrustErrorKind};

use crate::file_mode::is_readable_by_others;
use crate::input;
use crate::output::Output;

/// Maximum size of a `.env` file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Reads `.env` files; later files override earlier ones. Values are never printed.
///
/// # Errors
/// Fails if a file cannot be read or is too long, or if another user can change it and it is not in
/// the directory `project`.
pub(crate) fn read(
    paths: &[PathBuf],
    project: Option<&Path>,
    output: Output,
) -> anyhow::Result<Secrets> {
    let mut all = Vec::new();
    for path in paths {
        let shown = path.display();
        let text = match trusted_file::read(path, MAX_BYTES, Privacy::Readable) {
            // What a project contains belongs to the user who works on it, as in a container that
            // runs as root; its programs get the variables.
            Err(error) if error.kind() == TrustErrorKind::Untrusted && is_in(path, project) => {
                output.status(&format!(
                    "warning: another user can change `{shown}`, which sets variables of programs"
                ));
                input::read_text_file(path, MAX_BYTES)?
            }
            bytes => input::decode_utf8(path, bytes?)?,
        };
        // A line that cannot be parsed is reported by number, since its text may be a secret.
        let (secrets, problems) = Secrets::from_env_text(&text);
        for problem in problems {
            output.status(&format!("warning: {shown}: {problem}"));
        }
        if is_readable_by_others(path) {
            output.status(&format!(
                "warning: `{shown}` is readable by other users; run `chmod 600` on it"
            ));
        }
        all.extend(pairs(&secrets));
    }
    Ok(all.into_iter().collect())
}

/// Returns true if a file is in a directory, with all symlinks resolved.
fn is_in(path: &Path, directory: Option<&Path>) -> bool {
    let directory = directory.and_then(|directory| directory.canonicalize().ok());
    let path = path.canonicalize();
    directory.is_some_and(|directory| path.is_ok_and(|path| path.starts_with(directory)))
}

/// Returns variables with their values.
pub(crate) fn pairs(secrets: &Secrets) -> impl Iterator<Item = (String, Secret)> {
    let names = secrets.names();
    names.filter_map(|name| Some((name.to_owned(), secrets.get(name)?.clone())))
}

//! `.env` files with variables for programs.

use std::path::PathBuf;

use skills_runtime::{Secret, Secrets};

use crate::file_mode::is_readable_by_others;
use crate::input;
use crate::output::Output;

/// Maximum size of a `.env` file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Reads `.env` files; later files override earlier ones. Values are never printed.
///
/// # Errors
/// Fails if a file cannot be read or is too long.
pub(crate) fn read(paths: &[PathBuf], output: Output) -> anyhow::Result<Secrets> {
    let mut all = Vec::new();
    for path in paths {
        let shown = path.display();
        let text = input::read_text_file(path, MAX_BYTES)?;
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

/// Returns variables with their values.
pub(crate) fn pairs(secrets: &Secrets) -> impl Iterator<Item = (String, Secret)> {
    let names = secrets.names();
    names.filter_map(|name| Some((name.to_owned(), secrets.get(name)?.clone())))
}

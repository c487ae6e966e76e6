//! Names of files and directories that probably hold keys, passwords or tokens.

use crate::fold_name;

/// Extensions of private key files.
const KEY_EXTENSIONS: [&str; 6] = [".pem", ".key", ".p12", ".pfx", ".ppk", ".kdbx"];
/// Prefixes of private keys and secret files.
const KEY_PREFIXES: [&str; 5] = [".env", "id_rsa", "id_dsa", "id_ed25519", "id_ecdsa"];
/// Files and directories with passwords and tokens.
const KEY_PATHS: [&str; 14] = [
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".htpasswd",
    ".git-credentials",
    ".git/config",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".docker",
    ".kube",
    ".config/gcloud",
];

/// Returns the index of the first component of a path that probably holds a key, a password or a token,
/// by its name, such as `.ssh`, `.env.local` or `server.pem`. The comparison ignores case, since some
/// file systems do.
///
/// ```
/// use skills_policy::key_part;
///
/// assert_eq!(key_part(&["home", ".ssh", "config"]), Some(1));
/// assert_eq!(key_part(&["notes.txt"]), None);
/// ```
#[must_use]
pub fn key_part<S: AsRef<str>>(parts: &[S]) -> Option<usize> {
    let parts: Vec<String> = parts.iter().map(|part| fold_name(part.as_ref())).collect();
    (0..parts.len()).find(|at| starts_with_key_path(&parts[*at..]))
}

fn starts_with_key_path(parts: &[String]) -> bool {
    let Some(part) = parts.first() else {
        return false;
    };
    // By prefix, to include `.env.local`, `id_rsa.pub` and backups such as `id_rsa~`.
    KEY_PREFIXES.iter().any(|start| part.starts_with(start))
        || KEY_EXTENSIONS.iter().any(|end| part.ends_with(end))
        || KEY_PATHS.iter().any(|path| starts_with_parts(parts, path))
}

/// Returns true if a path starts with the components of `name`.
fn starts_with_parts(parts: &[String], name: &str) -> bool {
    let mut parts = parts.iter();
    name.split('/')
        .all(|wanted| parts.next().is_some_and(|part| part == wanted))
}

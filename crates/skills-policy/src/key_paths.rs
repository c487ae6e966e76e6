//! Names of files and directories that probably hold keys, passwords or tokens.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::fold_name;
use crate::protected_paths::with_folded_name;

/// Extensions of private keys and of stores of keys.
const KEY_EXTENSIONS: [&str; 9] = [
    ".pem",
    ".key",
    ".p8",
    ".p12",
    ".pfx",
    ".ppk",
    ".kdbx",
    ".jks",
    ".keystore",
];
/// Prefixes of private keys and secret files.
const KEY_PREFIXES: [&str; 5] = [".env", "id_rsa", "id_dsa", "id_ed25519", "id_ecdsa"];
/// Extensions of examples, which are written to be shared: `.env.example`.
const EXAMPLE_EXTENSIONS: [&str; 3] = [".example", ".sample", ".template"];
/// Extensions of backups and of temporary files of editors.
const BACKUP_EXTENSIONS: [&str; 8] = [
    ".bak", ".backup", ".old", ".orig", ".save", ".swo", ".swp", ".tmp",
];
/// Files and directories with passwords and tokens.
const KEY_PATHS: [&str; 38] = [
    ".netrc",
    "_netrc",
    ".dockercfg",
    "terraform.tfstate",
    ".streamlit/secrets.toml",
    ".huggingface/token",
    ".gemini/oauth_creds.json",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".boto",
    ".s3cfg",
    ".vault-token",
    ".git-credentials",
    ".git/config",
    ".git/config.worktree",
    ".git/credentials",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".docker/config.json",
    ".kube/cache",
    ".kube/config",
    ".kaggle",
    ".password-store",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gem/credentials",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/rclone",
    ".terraform.d/credentials.tfrc.json",
];
/// Directories of a repository with those of its submodules and worktrees, which have
/// [settings](REPOSITORY_SETTINGS) of their own.
const INNER_REPOSITORIES: [&str; 2] = ["modules", "worktrees"];
/// The settings of a repository, with the passwords of its remotes.
const REPOSITORY_SETTINGS: [&str; 2] = ["config", "config.worktree"];

/// Returns the index of the first component of a path that probably holds a key, a password or a token,
/// by its name, such as `.ssh`, `.env.local` or `server.pem`. Names of examples (`.env.example`,
/// `.env.sample`, `.env.template`) are not such names. The comparison ignores case, since some file
/// systems do.
///
/// ```
/// use skills_policy::key_part;
///
/// assert_eq!(key_part(&["home", ".ssh", "config"]), Some(1));
/// assert_eq!(key_part(&["notes.txt"]), None);
/// assert_eq!(key_part(&[".env.example"]), None);
/// ```
#[must_use]
pub fn key_part<S: AsRef<str>>(parts: &[S]) -> Option<usize> {
    let parts: Vec<String> = parts.iter().map(|part| fold_name(part.as_ref())).collect();
    (0..parts.len()).find(|at| starts_with_key_path(&parts[*at..]))
}

/// Returns the outermost path at or above `path` and strictly below `base` that probably holds keys,
/// by its name as in [`key_part`]. `path` is at or below `base`.
///
/// ```
/// use skills_policy::key_path;
/// use std::path::{Path, PathBuf};
///
/// let keys = |path: &str| key_path(Path::new(path), Path::new("/w"));
/// assert_eq!(keys("/w/.aws/credentials"), Some(PathBuf::from("/w/.aws")));
/// assert_eq!(keys("/w/src/main.rs"), None);
/// ```
#[must_use]
pub fn key_path(path: &Path, base: &Path) -> Option<PathBuf> {
    let below = path.strip_prefix(base).ok()?;
    let parts: Vec<_> = below
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    let at = key_part(&parts)?;
    // The number of components of a key path, such as two of `.config/gcloud`.
    let folded: Vec<String> = parts.iter().map(|part| fold_name(part)).collect();
    let length = key_path_length(&folded[at..]);
    Some(base.join(below.components().take(at + length).collect::<PathBuf>()))
}

/// Returns true if a file name can be the last component of a path that [`key_part`] recognizes: a
/// quick check before it, for searches of large directories.
#[must_use]
pub fn ends_key_path(name: &OsStr) -> bool {
    with_folded_name(name, |name| {
        is_key_name(name) || LAST_COMPONENTS.contains(name)
    })
}

/// The last components of paths with keys, other than names that hold keys in any directory.
static LAST_COMPONENTS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let paths = KEY_PATHS.iter().filter_map(|path| path.rsplit('/').next());
    paths.chain(REPOSITORY_SETTINGS).collect()
});

fn starts_with_key_path(parts: &[String]) -> bool {
    key_path_length(parts) > 0
}

/// Returns the number of components of the key path at the start of folded components; 0 if there is
/// none.
fn key_path_length(parts: &[String]) -> usize {
    let Some(first) = parts.first() else {
        return 0;
    };
    if is_key_name(first) {
        return 1;
    }
    let named = KEY_PATHS.iter().find(|path| starts_with_parts(parts, path));
    match named {
        Some(path) => path.split('/').count(),
        None => inner_settings_length(parts),
    }
}

/// Returns true for a name that holds keys in any directory.
fn is_key_name(name: &str) -> bool {
    let name = without_backup_marks(name);
    // By prefix, to include `.env.local` and `id_rsa.pub`.
    let is_key = KEY_PREFIXES.iter().any(|start| name.starts_with(start))
        || KEY_EXTENSIONS.iter().any(|end| name.ends_with(end));
    is_key && !EXAMPLE_EXTENSIONS.iter().any(|end| name.ends_with(end))
}

/// Returns a name without what editors add to those of backups and of files that are open:
/// `#.env#`, `.server.key.swp`, `server.key~`.
fn without_backup_marks(name: &str) -> &str {
    let name = name.trim_start_matches(".#").trim_matches(['#', '~']);
    let mut ends = BACKUP_EXTENSIONS.iter();
    ends.find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// Returns the number of components up to the settings of a submodule or a worktree, as in
/// `.git/modules/a/config`; 0 for other paths.
fn inner_settings_length(parts: &[String]) -> usize {
    let is_inner = parts.first().is_some_and(|name| name == ".git")
        && parts
            .get(1)
            .is_some_and(|name| INNER_REPOSITORIES.contains(&name.as_str()));
    let settings = parts
        .iter()
        .position(|name| REPOSITORY_SETTINGS.contains(&name.as_str()));
    settings.filter(|_| is_inner).map_or(0, |at| at + 1)
}

/// Returns true if a path starts with the components of `name`.
fn starts_with_parts(parts: &[String], name: &str) -> bool {
    let mut parts = parts.iter();
    name.split('/')
        .all(|wanted| parts.next().is_some_and(|part| part == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_examples_hold_no_keys() {
        for name in [
            ".env.example",
            ".env.sample",
            ".ENV.Template",
            "a/.env.production.example",
            "server.pem.sample",
        ] {
            assert_eq!(key_path(Path::new(name), Path::new("")), None, "{name}");
        }
        for name in [
            ".env.examples",
            ".env.example.local",
            ".env-sample",
            "server.key~",
            "server.key.bak",
            ".server.key.swp",
            "#.env#",
        ] {
            assert!(key_path(Path::new(name), Path::new("")).is_some(), "{name}");
        }
    }

    #[test]
    fn only_settings_of_inner_repositories_hold_keys() {
        for path in [
            "/w/.git/objects/config",
            "/w/src/modules/a/config",
            "/w/.git/modules/a/HEAD",
        ] {
            assert_eq!(key_path(Path::new(path), Path::new("/w")), None, "{path}");
        }
    }

    #[test]
    fn the_outermost_path_with_keys_is_returned() {
        let keys = |path: &str| key_path(Path::new(path), Path::new("/w"));
        for (path, expected) in [
            ("/w/.aws/x/.env", "/w/.aws"),
            ("/w/a/.Config/gcloud/x", "/w/a/.Config/gcloud"),
            ("/w/.git/modules/a/config", "/w/.git/modules/a/config"),
            (
                "/w/.git/worktrees/a/config.worktree",
                "/w/.git/worktrees/a/config.worktree",
            ),
        ] {
            assert_eq!(keys(path), Some(PathBuf::from(expected)), "{path}");
        }
        for path in [
            "/w",
            "/w/.config/x",
            "/w/.git/HEAD",
            "/w/.git/modules/a",
            "/.ssh/w",
        ] {
            assert_eq!(keys(path), None, "{path}");
        }
    }

    #[test]
    fn the_quick_check_includes_all_key_paths() {
        let named = KEY_PATHS.iter().map(|path| path.to_string());
        let others = [
            ".env",
            ".ENV.local",
            "a.pem",
            "id_rsa",
            ".git/modules/x/config",
        ];
        for path in named.chain(others.map(str::to_owned)) {
            let name = path.rsplit('/').next().unwrap();
            assert!(
                ends_key_path(name.as_ref()) && ends_key_path(name.to_uppercase().as_ref()),
                "{path}"
            );
            assert!(
                key_path(Path::new(&path), Path::new("")).is_some(),
                "{path}"
            );
        }
        assert!(!ends_key_path("main.rs".as_ref()) && !ends_key_path(".env.example".as_ref()));
    }
}

//! Names of files and directories that probably hold keys, passwords or tokens.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::fold_name;
use crate::protected_paths::with_folded_name;

/// Names with one `*` of private keys, of stores of keys and of secret files, in any directory. Those
/// that end with `*` include `.env.local` and `id_rsa.pub`.
const KEY_NAMES: [&str; 23] = [
    ".dev.vars*",
    ".env*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "id_rsa*",
    "*.env",
    "*.jks",
    "*.kdbx",
    "*.key",
    "*.keystore",
    "*.kubeconfig",
    "*.p12",
    "*.p8",
    "*.pem",
    "*.pfx",
    "*.ppk",
    "*.tfstate",
    "*.tfvars",
    "*.tfvars.json",
    "client_secret*.json",
    "service-account*.json",
    "service_account*.json",
];
/// Names of files that hold a key only if their content says so: other files have such names, too.
const CONTENT_NAMES: [&str; 21] = [
    ".bunfig.toml",
    ".yarnrc",
    ".yarnrc.yml",
    "auth.json",
    "bunfig.toml",
    "kubeconfig",
    "*.asc",
    "*.cer",
    "*.crt",
    "*-dsa",
    "*-ecdsa",
    "*-ed25519",
    "*-key",
    "*-rsa",
    "*.priv",
    "*.rsa",
    "*_dsa",
    "*_ecdsa",
    "*_ed25519",
    "*_key",
    "*_rsa",
];
/// Extensions of examples, which are written to be shared: `.env.example`.
const EXAMPLE_EXTENSIONS: [&str; 3] = [".example", ".sample", ".template"];
/// Names of examples before an extension of a text: `example.env`, `prod.sample.tfvars`.
const EXAMPLE_STEMS: [&str; 3] = ["example", "sample", "template"];
/// Extensions of secret files that are text.
const TEXT_EXTENSIONS: [&str; 6] = ["env", "json", "tfvars", "toml", "yaml", "yml"];
/// Extensions of backups and of temporary files of editors.
const BACKUP_EXTENSIONS: [&str; 8] = [
    ".bak", ".backup", ".old", ".orig", ".save", ".swo", ".swp", ".tmp",
];
/// Files and directories with passwords and tokens.
const KEY_PATHS: [&str; 58] = [
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
    ".authinfo",
    ".authinfo.gpg",
    ".netrc.gpg",
    ".secrets",
    ".secrets.toml",
    ".vault_pass",
    "credentials.csv",
    "credentials.json",
    "credentials.toml",
    "credentials.yaml",
    "credentials.yml",
    "keystore.properties",
    "local.settings.json",
    "rootkey.csv",
    "secring.gpg",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "vault_pass.txt",
];
/// Directories of a repository with those of its submodules and worktrees, which have
/// [settings](REPOSITORY_SETTINGS) of their own.
const INNER_REPOSITORIES: [&str; 2] = ["modules", "worktrees"];
/// The settings of a repository, with the passwords of its remotes.
const REPOSITORY_SETTINGS: [&str; 2] = ["config", "config.worktree"];

/// Returns the index of the first component of a path that probably holds a key, a password or a token,
/// by its name, such as `.ssh`, `.env.local` or `server.pem`. Names of examples (`.env.example`,
/// `example.env`, `.env.template`) are not such names. The comparison ignores case, since some file
/// systems do. Names of which only the content of the file decides are not included, see
/// [`is_key_by_content`].
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

/// Returns true for a name of a file that holds a key only if its content says so, such as `deploy_rsa`,
/// `my.asc` or `auth.json`, and that [`key_part`] does not recognize.
///
/// ```
/// use skills_policy::is_key_by_content;
///
/// assert!(is_key_by_content("deploy_rsa".as_ref()) && is_key_by_content("README.asc".as_ref()));
/// assert!(!is_key_by_content("id_rsa".as_ref()) && !is_key_by_content("notes.txt".as_ref()));
/// ```
#[must_use]
pub fn is_key_by_content(name: &OsStr) -> bool {
    with_folded_name(name, |name| {
        let name = without_backup_marks(name);
        CONTENT_NAME_TABLE.matches(name) && !is_key_name(name)
    })
}

/// Returns true if a file name can be the last component of a path with keys: one that [`key_part`]
/// recognizes, or one of which the [content](is_key_by_content) decides. A quick check, for searches of
/// large directories.
#[must_use]
pub fn ends_key_path(name: &OsStr) -> bool {
    with_folded_name(name, |name| {
        let name = without_backup_marks(name);
        LAST_COMPONENTS.contains(name) || is_key_name(name) || CONTENT_NAME_TABLE.matches(name)
    })
}

/// Returns true if a path strictly below `base` may hold keys, by its name or by its content.
pub(crate) fn may_hold_keys(path: &Path, base: &Path) -> bool {
    let is_by_content = || path != base && path.file_name().is_some_and(is_key_by_content);
    key_path(path, base).is_some() || is_by_content()
}

/// The last components of paths with keys, other than names that hold keys in any directory.
static LAST_COMPONENTS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let paths = KEY_PATHS.iter().filter_map(|path| path.rsplit('/').next());
    paths.chain(REPOSITORY_SETTINGS).collect()
});

static KEY_NAME_TABLE: LazyLock<NameTable> = LazyLock::new(|| NameTable::new(&KEY_NAMES));
static CONTENT_NAME_TABLE: LazyLock<NameTable> = LazyLock::new(|| NameTable::new(&CONTENT_NAMES));

/// Names in which one `*` is any text, for searches that compare each name of a large directory.
struct NameTable {
    exact: HashSet<&'static str>,
    /// What is before and after the `*`, by the first byte of the name.
    by_first: HashMap<u8, Vec<(&'static str, &'static str)>>,
    /// What is after a `*` at the start, by the last byte of the name.
    by_last: HashMap<u8, Vec<&'static str>>,
}

impl NameTable {
    fn new(patterns: &[&'static str]) -> Self {
        let mut table = Self {
            exact: HashSet::new(),
            by_first: HashMap::new(),
            by_last: HashMap::new(),
        };
        for pattern in patterns {
            let Some((start, end)) = pattern.split_once('*') else {
                table.exact.insert(pattern);
                continue;
            };
            if let Some(first) = start.bytes().next() {
                table.by_first.entry(first).or_default().push((start, end));
            } else if let Some(last) = end.bytes().last() {
                table.by_last.entry(last).or_default().push(end);
            }
        }
        table
    }

    fn matches(&self, name: &str) -> bool {
        let bytes = name.as_bytes();
        let starting = bytes.first().and_then(|first| self.by_first.get(first));
        let ending = bytes.last().and_then(|last| self.by_last.get(last));
        let mut starting = starting.into_iter().flatten();
        let mut ending = ending.into_iter().flatten();
        let is_rest = |(start, end): &(&str, &str)| {
            let rest = name.strip_prefix(start);
            rest.is_some_and(|rest| rest.ends_with(end))
        };
        starting.any(is_rest) || ending.any(|end| name.ends_with(end)) || self.exact.contains(name)
    }
}

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
    KEY_NAME_TABLE.matches(name) && !is_example(name)
}

/// Returns true for the name of an example of a secret file, which is written to be shared.
fn is_example(name: &str) -> bool {
    let is_text_example = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        let word = stem.rsplit(['.', '-', '_']).next().unwrap_or(stem);
        TEXT_EXTENSIONS.contains(&extension) && EXAMPLE_STEMS.contains(&word)
    });
    is_text_example || EXAMPLE_EXTENSIONS.iter().any(|end| name.ends_with(end))
}

/// Returns a name without what editors, copies and rotations add: `#.env#`, `.server.key.swp`,
/// `server.key~`, `server.pem.1`, `server.key-2024.old`.
fn without_backup_marks(name: &str) -> &str {
    let name = name.trim_start_matches(".#").trim_matches(['#', '~']);
    let mut ends = BACKUP_EXTENSIONS.iter();
    let shorter = ends
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or_else(|| without_number(name));
    if shorter.len() == name.len() {
        name
    } else {
        without_backup_marks(shorter)
    }
}

/// Returns a name without a number or a date at its end, after a `.`, `-` or `_`.
fn without_number(name: &str) -> &str {
    let is_mark = |c: char| matches!(c, '.' | '-' | '_');
    let rest = name.trim_end_matches(|c: char| c.is_ascii_digit() || is_mark(c));
    let number = &name[rest.len()..];
    let is_number = number.starts_with(is_mark) && number.ends_with(|c: char| c.is_ascii_digit());
    if is_number { rest } else { name }
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
    let mut names = name.split('/').peekable();
    while let Some(name) = names.next() {
        let is_last = names.peek().is_none();
        let is_equal = parts.next().is_some_and(|part| {
            // A copy of a file with keys has them, too.
            part == name || is_last && without_backup_marks(part) == name
        });
        if !is_equal {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_matches_what_each_of_its_patterns_matches() {
        let matches = |pattern: &str, name: &str| match pattern.split_once('*') {
            None => name == pattern,
            Some((start, end)) => {
                let rest = name.strip_prefix(start);
                rest.is_some_and(|rest| rest.ends_with(end))
            }
        };
        for patterns in [&KEY_NAMES[..], &CONTENT_NAMES[..]] {
            let table = NameTable::new(patterns);
            assert!(!table.matches(""));
            for pattern in KEY_NAMES.iter().chain(&CONTENT_NAMES) {
                for text in ["", "a", "é", ".env", "_key", "a.json"] {
                    let named = pattern.replace('*', text);
                    let cut = pattern.replace('*', "");
                    for name in [format!("x{named}"), format!("{named}x"), named, cut] {
                        let expected = patterns.iter().any(|pattern| matches(pattern, &name));
                        assert_eq!(table.matches(&name), expected, "{name}");
                    }
                }
            }
        }
    }

    #[test]
    fn names_of_examples_hold_no_keys() {
        for name in [
            ".env.example",
            ".env.sample",
            ".ENV.Template",
            "a/.env.production.example",
            "server.pem.sample",
            "example.env",
            "prod.example.env",
            "terraform.tfvars.example",
            "example.tfvars",
            "service-account.sample.json",
            ".dev.vars.example",
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
            "prod.env",
            "staging.env",
            ".dev.vars",
            ".dev.vars.production",
            "terraform.tfvars",
            "prod.auto.tfvars.json",
            "prod.tfstate.backup",
            "secrets.yml",
            "Secrets.JSON",
            "credentials.json",
            "service-account-prod.json",
            "client_secret_1.apps.googleusercontent.com.json",
            "local.settings.json",
            "server.key-2024",
            "server.pem.1",
            "server.key.bak.2024-11-28",
            ".netrc.gpg",
            ".netrc.bak",
            ".npmrc~",
            ".git/config.1",
            ".docker/config.json.old",
        ] {
            assert!(key_path(Path::new(name), Path::new("")).is_some(), "{name}");
        }
    }

    #[test]
    fn everyday_names_hold_no_keys() {
        for name in [
            "environment.ts",
            "env.py",
            "secrets.py",
            "secrets/mod.rs",
            "credentials.ts",
            "settings.json",
            "my.settings.json",
            "service.json",
            "variables.tf",
            "package-1.json",
            "v2",
            "1.2.3",
            "release-2024-11-28",
            "keys.md",
            "monkey-1",
            ".terraform.lock.hcl",
        ] {
            assert_eq!(key_path(Path::new(name), Path::new("")), None, "{name}");
            assert!(!is_key_by_content(name.as_ref()), "{name}");
        }
    }

    /// Their name alone causes no question and withholds nothing.
    #[test]
    fn names_of_which_the_content_decides_are_told_apart() {
        for name in [
            "deploy_rsa",
            "deploy_ed25519",
            "github-rsa",
            "ssh_host_ecdsa_key",
            "my.asc",
            "auth.json",
            ".yarnrc.yml",
            ".bunfig.toml",
            "Server.CRT",
            "deploy_rsa.bak",
        ] {
            assert!(is_key_by_content(name.as_ref()), "{name}");
            assert!(ends_key_path(name.as_ref()), "{name}");
            assert_eq!(key_path(Path::new(name), Path::new("")), None, "{name}");
            assert!(may_hold_keys(&Path::new("/w").join(name), Path::new("/w")));
            assert!(!may_hold_keys(
                Path::new("/w").join(name).as_path(),
                &Path::new("/w").join(name)
            ));
        }
        for name in [
            "id_rsa",
            "tls.key",
            "deploy_rsa.pub",
            "rsa",
            "key",
            "author.json",
        ] {
            assert!(!is_key_by_content(name.as_ref()), "{name}");
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

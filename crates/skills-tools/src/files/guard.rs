//! Names that are not written or read although their mount allows it.

use skills_runtime::PROTECTED;

/// Endings of files that hold private keys.
const KEY_ENDINGS: [&str; 5] = [".pem", ".key", ".p12", ".pfx", ".kdbx"];
/// Beginnings of files that hold private keys or secrets.
const KEY_BEGINNINGS: [&str; 4] = [".env", "id_rsa", "id_ed25519", "id_ecdsa"];
/// Files that hold passwords and tokens.
const KEY_NAMES: [&str; 4] = [".netrc", ".npmrc", ".pypirc", ".git-credentials"];

/// Returns the part of a path for which nothing is written there: what runs or steers somebody the next time, and what holds secrets.
///
/// Case does not count, since it does not on every disk.
pub(crate) fn protected<S: AsRef<str>>(parts: &[S]) -> Option<String> {
    let parts: Vec<String> = parts.iter().map(|part| part.as_ref().to_lowercase()).collect();
    let is_protected = |at: usize| {
        let part = parts[at].as_str();
        part == ".git" || part.starts_with(".env") || PROTECTED.iter().any(|name| begins(&parts[at..], name))
    };
    (0..parts.len()).find(|at| is_protected(*at)).map(|at| parts[at].clone())
}

/// Says whether a file is likely to hold a key, a password or a token.
pub(crate) fn is_key<S: AsRef<str>>(parts: &[S]) -> bool {
    parts.iter().any(|part| {
        let part = part.as_ref().to_lowercase();
        KEY_NAMES.contains(&part.as_str())
            || KEY_BEGINNINGS.iter().any(|start| part.starts_with(start))
            || KEY_ENDINGS.iter().any(|end| part.ends_with(end))
    })
}

/// Whether a path begins with the parts of `name`.
fn begins(parts: &[String], name: &str) -> bool {
    let mut parts = parts.iter();
    name.split('/').all(|wanted| parts.next().is_some_and(|part| part == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(path: &str) -> Vec<&str> {
        path.split('/').collect()
    }

    #[test]
    fn protected_names_are_found_at_any_depth_and_in_any_case() {
        for path in [
            ".git/hooks/pre-commit",
            ".git/config",
            "a/b/.GIT/x",
            ".bashrc",
            "home/.Zshrc",
            ".env",
            ".env.local",
            "x/.ENVRC",
            ".claude/settings.json",
            "a/.config/git/config",
            ".ssh/authorized_keys",
            ".vscode/tasks.json",
        ] {
            assert!(protected(&parts(path)).is_some(), "{path}");
        }
        for path in ["a/git/config", ".gitignore", "config/git", ".config/other", ".github/workflows/ci.yml", "env", "bashrc"] {
            assert_eq!(protected(&parts(path)), None, "{path}");
        }
    }

    #[test]
    fn key_files_are_known_by_their_names() {
        for path in [".env", "a/.env.production", "server.PEM", "tls.key", "id_rsa", "id_ed25519.pub", ".npmrc", "x.kdbx", "id_ecdsa_sk"] {
            assert!(is_key(&parts(path)), "{path}");
        }
        for path in ["environment.md", "keys.txt", "pem.md", "my_id_rsa.md", "npmrc"] {
            assert!(!is_key(&parts(path)), "{path}");
        }
    }
}

//! Names that are protected from reading or writing, even in a writable mount.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use skills_runtime::holds_key_by_content;
use skills_runtime::policy::{fold_name, innermost_protected_name, is_key_by_content, key_part};

/// Returns the component for which a path must not be written: automatically executed files (git
/// hooks, CI) and files with secrets.
///
/// The comparison ignores case, since some file systems do.
pub(crate) fn protected_component<S: AsRef<str>>(parts: &[S]) -> Option<String> {
    protected_name(
        &parts.iter().map(AsRef::as_ref).collect::<PathBuf>(),
        Path::new(""),
    )
}

/// Returns the component of `path` below `base` for which outputs of a model must not be written
/// there.
///
/// A component is protected if other programs execute or trust it
/// ([`protected_paths`](skills_runtime::policy::protected_paths)) or if it may contain keys. The
/// comparison ignores case. Returns `None` if the path may be written.
///
/// ```
/// use std::path::Path;
///
/// let base = Path::new("/home/me");
/// let key = skills_tools::protected_name(Path::new("/home/me/.ssh/config"), base);
/// assert_eq!(key.as_deref(), Some(".ssh"));
/// assert_eq!(skills_tools::protected_name(Path::new("/home/me/report.txt"), base), None);
/// ```
#[must_use]
pub fn protected_name(path: &Path, base: &Path) -> Option<String> {
    // Directories above the base are the user's own choice, for example a home directory below
    // `.config`.
    let below = path.strip_prefix(base).unwrap_or(path);
    let parts: Vec<String> = below
        .components()
        .map(|part| fold_name(&part.as_os_str().to_string_lossy()))
        .collect();
    let key = key_part(&parts).map(|at| parts[at].clone());
    key.or_else(|| {
        let protected = innermost_protected_name(path, base)?;
        Some(
            protected
                .strip_prefix(base)
                .unwrap_or(&protected)
                .to_string_lossy()
                .into_owned(),
        )
    })
}

/// Returns true if a file probably contains a key, a password or a token.
pub(crate) fn is_key_file<S: AsRef<str>>(parts: &[S]) -> bool {
    key_part(parts).is_some()
}

/// Returns true if a file holds a key by its content, and `name` is one for which that counts; also
/// if it has such a name and nothing can be read at its path, as in a skill of a source.
pub(crate) fn may_hold_key_by_content(name: &OsStr, file: &Path) -> bool {
    is_key_by_content(name)
        && (file.symlink_metadata().is_err() || holds_key_by_content(name, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(path: &str) -> Vec<&str> {
        path.split('/').collect()
    }

    #[test]
    fn protected_names_match_at_any_depth_and_in_any_case() {
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
            ".\u{17f}\u{17f}h/config",
            ".\u{17f}\u{212a}ill\u{17f}/x",
            ".con\u{fb01}g/git",
            "a/.husky/pre-commit",
            ".githooks/x",
            ".GitHub/workflows/ci.yml",
            ".npmrc",
            "x/.netrc",
            ".pypirc",
            ".git-credentials",
            "id_rsa",
            "tls.key",
            ".aws/credentials",
        ] {
            assert!(protected_component(&parts(path)).is_some(), "{path}");
        }
        for path in [
            "a/git/config",
            ".gitignore",
            "config/git",
            ".config/other",
            ".github/FUNDING.yml",
            "env",
            "bashrc",
        ] {
            assert_eq!(protected_component(&parts(path)), None, "{path}");
        }
    }

    #[test]
    fn key_files_are_recognized_by_name() {
        for path in [
            ".env",
            "a/.env.production",
            "server.PEM",
            "tls.key",
            "id_rsa",
            "id_ed25519.pub",
            ".npmrc",
            "x.kdbx",
            "id_ecdsa_sk",
        ] {
            assert!(is_key_file(&parts(path)), "{path}");
        }
        for path in [
            ".pgpass",
            "a/.htpasswd",
            "x.PPK",
            "id_dsa",
            ".ssh/known",
            ".aws/x/y",
            ".gnupg/k",
            ".docker/config.json",
            "h/.kube/config",
        ] {
            assert!(is_key_file(&parts(path)), "{path}");
        }
        for path in [
            ".azure/x",
            ".config/gcloud/x",
            ".Git/config",
            "sub/.git/config",
            ".\u{17f}\u{17f}h/x",
            ".\u{212a}ube/config",
        ] {
            assert!(is_key_file(&parts(path)), "{path}");
        }
        for path in [
            "environment.md",
            "keys.txt",
            "pem.md",
            "my_id_rsa.md",
            "npmrc",
            ".config/x",
            ".git/HEAD",
            "docker/x",
            "aws.ppk.md",
        ] {
            assert!(!is_key_file(&parts(path)), "{path}");
        }
    }
}

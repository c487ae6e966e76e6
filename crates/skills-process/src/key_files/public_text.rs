//! Files that have the name of a file with keys, and hold none.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::path::Path;

use super::git_settings::is_public_git_config;
use super::named_by_content::holds_key;
use super::secret_text::{has_user, is_variable, may_hold_secret};
use crate::regular_file::{self, Symlink};

/// Larger files count as files with keys. The list of all public authorities has 300 KiB.
const MAX_BYTES: u64 = 1 << 20;
/// How much is read of a file with a key at its start.
const START_BYTES: u64 = 64 << 10;
/// Kinds of PEM blocks that are made to be public.
const PUBLIC_BLOCKS: [&str; 9] = [
    "CERTIFICATE",
    "CERTIFICATE REQUEST",
    "DH PARAMETERS",
    "EC PARAMETERS",
    "NEW CERTIFICATE REQUEST",
    "PUBLIC KEY",
    "RSA PUBLIC KEY",
    "TRUSTED CERTIFICATE",
    "X509 CRL",
];
/// Settings of npm that hold no password. `@scope:registry` is one, too.
const NPM_SETTINGS: [&str; 18] = [
    "audit",
    "auto-install-peers",
    "engine-strict",
    "enable-pre-post-scripts",
    "fund",
    "hoist",
    "ignore-scripts",
    "legacy-peer-deps",
    "link-workspace-packages",
    "loglevel",
    "node-linker",
    "package-lock",
    "prefer-workspace-packages",
    "progress",
    "save-exact",
    "save-prefix",
    "shamefully-hoist",
    "strict-peer-dependencies",
];

/// Returns true if a file or directory with the name of one with keys is known to hold none:
/// certificates alone, settings of git or npm that are all known and without a password, a virtual
/// environment, or a file with a name of [`skills_policy::is_key_by_content`] and another content. `name`
/// can be that of a symlink to `path`, which is not one.
pub(super) fn holds_no_key(name: &OsStr, path: &Path, metadata: &Metadata) -> bool {
    let is_by_content = skills_policy::is_key_by_content(name);
    if metadata.is_dir() {
        return is_by_content || path.join("pyvenv.cfg").is_file();
    }
    let name = name.to_string_lossy().to_lowercase();
    if is_by_content {
        return metadata.is_file() && !holds_key(&name, path);
    }
    let is_public: fn(&str) -> bool = match name.as_str() {
        "config" | "config.worktree" => is_public_git_config,
        ".npmrc" => is_public_npm_config,
        name if name.ends_with(".pem") => is_public_pem,
        _ => return false,
    };
    metadata.is_file() && read_text(path).is_some_and(|text| is_public(&text))
}

fn read_text(path: &Path) -> Option<String> {
    String::from_utf8(read_bytes(path)?).ok()
}

/// Returns the first 64 KiB of a regular file. Symlinks are not followed.
pub(super) fn read_start(path: &Path) -> Option<Vec<u8>> {
    regular_file::read_start(path, Symlink::Reject, START_BYTES).ok()
}

/// Returns the content of a regular file of at most a mebibyte. Symlinks are not followed.
pub(super) fn read_bytes(path: &Path) -> Option<Vec<u8>> {
    // One byte more, so that a larger file is recognized.
    let bytes = regular_file::read_start(path, Symlink::Reject, MAX_BYTES + 1).ok()?;
    (bytes.len() as u64 <= MAX_BYTES).then_some(bytes)
}

/// Returns true if a text has PEM blocks, all of them are public, and nothing but comments is around
/// them.
fn is_public_pem(text: &str) -> bool {
    let mut blocks = 0;
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let label = line
            .strip_prefix("-----BEGIN ")
            .and_then(|rest| rest.strip_suffix("-----"));
        let Some(label) = label.filter(|label| PUBLIC_BLOCKS.contains(label)) else {
            return false;
        };
        let end = format!("-----END {label}-----");
        if !lines.by_ref().any(|line| line == end) {
            return false;
        }
        blocks += 1;
    }
    blocks > 0 && !text.to_ascii_uppercase().contains("PRIVATE")
}

/// Returns true if all lines of settings of npm are known and hold no password.
fn is_public_npm_config(text: &str) -> bool {
    text.lines().map(str::trim).all(|line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            return !may_hold_secret(line);
        }
        let Some((name, value)) = line.split_once('=') else {
            return false;
        };
        let (name, value) = (name.trim(), value.trim());
        if is_variable(value) && !name.trim_start_matches('@').contains('@') {
            return true;
        }
        let is_registry =
            name == "registry" || name.starts_with('@') && name.ends_with(":registry");
        let is_known = is_registry || NPM_SETTINGS.contains(&name);
        // Some registries have a token in the path.
        let is_public_value = !may_hold_secret(value) && !has_user(value);
        is_known && is_public_value && !(is_registry && has_path(value))
    })
}

fn has_path(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split_once('/')
        .is_some_and(|(_, path)| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_without_a_private_key_are_public() {
        let block = |label: &str| format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n");
        assert!(is_public_pem(&format!(
            "# roots\n{}",
            block("CERTIFICATE").repeat(3)
        )));
        assert!(is_public_pem(&block("PUBLIC KEY")));
        for text in [
            String::new(),
            "no block".to_owned(),
            block("PRIVATE KEY"),
            block("CERTIFICATE") + &block("RSA PRIVATE KEY"),
            block("CERTIFICATE") + &block("OPENSSH PRIVATE KEY"),
            block("CERTIFICATE") + "-----BEGIN ",
            block("UNKNOWN"),
            block("CERTIFICATE") + "PuTTY-Private-Lines: 8",
            block("CERTIFICATE") + "word of pass: hunter2",
        ] {
            assert!(!is_public_pem(&text), "{text}");
        }
    }

    #[test]
    fn settings_of_npm_are_public_only_if_all_of_them_are_known() {
        let plain = "registry=https://registry.npmjs.org/\n@acme:registry = https://npm.acme.example\n\nsave-exact=true\n";
        assert!(is_public_npm_config(plain));
        assert!(is_public_npm_config(
            "//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n"
        ));
        for line in [
            "//registry.npmjs.org/:_authToken=abc",
            "//registry.npmjs.org/:_authToken=${NPM_TOKEN-abc}",
            "registry=https://anna@npm.example/",
            "_auth=abc",
            "registry=https://u:p@npm.example/",
            "# the token is in the vault",
            "registry=https://npm.example/TOKEN/me/",
            "ca[]=x",
            "@acme:token=x",
        ] {
            assert!(!is_public_npm_config(line), "{line}");
        }
    }
}

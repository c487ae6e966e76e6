//! Files that have the name of a file with keys, and hold none.

use std::fs::{Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Larger files count as files with keys. The list of all public authorities has 300 KiB.
const MAX_BYTES: u64 = 1 << 20;
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
/// Sections of the configuration of a repository with settings that hold no password, unless their
/// value [looks like one](may_hold_secret).
const GIT_SECTIONS: [&str; 41] = [
    "add",
    "advice",
    "alias",
    "am",
    "apply",
    "blame",
    "branch",
    "clean",
    "color",
    "column",
    "commit",
    "core",
    "diff",
    "extensions",
    "feature",
    "fetch",
    "format",
    "fsck",
    "gc",
    "grep",
    "gui",
    "index",
    "init",
    "lfs",
    "log",
    "maintenance",
    "merge",
    "pack",
    "protocol",
    "pull",
    "push",
    "rebase",
    "receive",
    "rerere",
    "stash",
    "status",
    "submodule",
    "tag",
    "transfer",
    "user",
    "worktree",
];
/// Settings of remotes that hold no password.
const REMOTE_SETTINGS: [&str; 11] = [
    "url",
    "fetch",
    "pushurl",
    "push",
    "tagopt",
    "mirror",
    "prune",
    "promisor",
    "partialclonefilter",
    "gh-resolved",
    "skipfetchall",
];
/// Parts of values and comments that may name a password.
const SECRET_WORDS: [&str; 8] = [
    "authorization",
    "basic ",
    "bearer",
    "credential",
    "passw",
    "pwd",
    "secret",
    "token",
];
/// The length of the shortest word of letters and digits that may be a token.
const MIN_TOKEN_BYTES: usize = 20;
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
/// certificates alone, settings of git or npm that are all known and without a password, or a
/// virtual environment. Symlinks are not followed.
pub(super) fn holds_no_key(path: &Path, metadata: &Metadata) -> bool {
    if metadata.is_dir() {
        return path.join("pyvenv.cfg").is_file();
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_public: fn(&str) -> bool = match name.to_lowercase().as_str() {
        "config" | "config.worktree" => is_public_git_config,
        ".npmrc" => is_public_npm_config,
        name if name.ends_with(".pem") => is_public_pem,
        _ => return false,
    };
    metadata.is_file() && read_text(path).is_some_and(|text| is_public(&text))
}

/// Returns the text of a regular file of at most a mebibyte.
fn read_text(path: &Path) -> Option<String> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path)
        .ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return None;
    }
    let mut text = String::new();
    // One byte more, so that a file that grows is recognized.
    file.take(MAX_BYTES + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= MAX_BYTES).then_some(text)
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

/// Returns true if all lines of the settings of a repository are known and hold no password.
fn is_public_git_config(text: &str) -> bool {
    let mut section = String::new();
    text.lines().map(str::trim).all(|line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            return !may_hold_secret(line);
        }
        let header = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        if let Some(header) = header {
            let name = header.split([' ', '.']).next().unwrap_or_default();
            section = name.to_ascii_lowercase();
            return !may_hold_secret(header);
        }
        // Escapes and values of several lines are left to git.
        let Some((name, value)) = line.split_once('=').filter(|_| !line.contains('\\')) else {
            return false;
        };
        let name = name.trim().to_ascii_lowercase();
        let is_known = match section.as_str() {
            "remote" => REMOTE_SETTINGS.contains(&name.as_str()),
            "http" => matches!(name.as_str(), "sslverify" | "postbuffer" | "version"),
            section => GIT_SECTIONS.contains(&section),
        };
        // Public by its purpose, and as long as a token.
        let is_public_key = section == "user" && name == "signingkey";
        is_known && (is_public_key || !may_hold_secret(value.trim().trim_matches('"')))
    })
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
        let is_registry =
            name == "registry" || name.starts_with('@') && name.ends_with(":registry");
        let is_known = is_registry || NPM_SETTINGS.contains(&name);
        // Some registries have a token in the path.
        is_known && !may_hold_secret(value) && !(is_registry && has_path(value))
    })
}

/// Returns true if a text may contain a password: a URL with a user of HTTP, with a password or with
/// parameters, a word for one, or a long word of letters and digits.
fn may_hold_secret(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_token = |word: &str| {
        word.len() >= MIN_TOKEN_BYTES
            && word.contains(|c: char| c.is_ascii_digit())
            && word.contains(|c: char| c.is_ascii_alphabetic())
    };
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    SECRET_WORDS.iter().any(|word| lower.contains(word))
        || words.any(is_token)
        || has_password(text)
}

/// Returns true for a URL with a user of HTTP, with a password, or with parameters.
fn has_password(value: &str) -> bool {
    let Some((scheme, rest)) = value.split_once("://") else {
        return false;
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    let is_ssh = scheme.ends_with("ssh");
    let names_password = user.is_some_and(|user| !is_ssh || user.contains(':'));
    names_password || value.contains(['?', '#']) || rest.contains("://")
}

/// Returns true for a URL with a path.
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
    fn settings_of_git_are_public_only_if_all_of_them_are_known() {
        let plain = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\
            \turl = git@github.com:o/r.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
            [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";
        assert!(is_public_git_config(plain));
        for line in [
            "url = https://github.com/o/r.git",
            "url = ssh://git@example.com:22/r.git",
            "url = /srv/r.git",
        ] {
            assert!(
                is_public_git_config(&format!("[remote \"o\"]\n{line}\n")),
                "{line}"
            );
        }
        for line in [
            "url = https://x-token@github.com/o/r.git",
            "url = https://u:p@github.com/o/r.git",
            "url = ssh://u:p@example.com/r.git",
            "url = https://github.com/o/r.git?token=1",
            "url = https:\\\n//u:p@h/x",
            "extraheader = AUTHORIZATION: basic x",
            "# url = https://u:p@github.com",
            "proxy = http://h",
            "url = ghp0123456789abcdefghij",
        ] {
            assert!(
                !is_public_git_config(&format!("[remote \"o\"]\n{line}\n")),
                "{line}"
            );
        }
        assert!(!is_public_git_config("[http \"https://u:p@h/\"]\n"));
        for text in [
            "[include]\n\tpath = other\n",
            "[credential]\n\thelper = store\n",
            "[http]\n\tcookiefile = x\n",
            "[alias]\n\tx = !curl -H 'Authorization: x'\n",
        ] {
            assert!(!is_public_git_config(text), "{text}");
        }
        for text in [
            "[alias]\n\tst = status\n# mine\n[gc]\n\tauto = 0\n",
            "[core]\n\tquotepath = \"false\"\n[user]\n\tsigningkey = 3AA5C34371567BD2AAAA\n",
        ] {
            assert!(is_public_git_config(text), "{text}");
        }
    }

    #[test]
    fn settings_of_npm_are_public_only_if_all_of_them_are_known() {
        let plain = "registry=https://registry.npmjs.org/\n@acme:registry = https://npm.acme.example\n\nsave-exact=true\n";
        assert!(is_public_npm_config(plain));
        for line in [
            "//registry.npmjs.org/:_authToken=abc",
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

//! Files with the name of a file with keys whose text holds none.

use std::fs::OpenOptions;
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
/// Settings of a repository that hold no password, by section and name. All settings that are not
/// listed may hold one.
const GIT_SETTINGS: [(&str, &[&str]); 10] = [
    (
        "core",
        &[
            "autocrlf",
            "bare",
            "editor",
            "eol",
            "filemode",
            "fsmonitor",
            "hookspath",
            "ignorecase",
            "logallrefupdates",
            "longpaths",
            "pager",
            "precomposeunicode",
            "repositoryformatversion",
            "safecrlf",
            "sparsecheckout",
            "sparsecheckoutcone",
            "symlinks",
            "untrackedcache",
            "worktree",
        ],
    ),
    (
        "remote",
        &[
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
        ],
    ),
    (
        "branch",
        &[
            "autosetupmerge",
            "autosetuprebase",
            "description",
            "merge",
            "mergeoptions",
            "pushremote",
            "rebase",
            "remote",
            "vscode-merge-base",
        ],
    ),
    (
        "submodule",
        &["active", "branch", "ignore", "update", "url"],
    ),
    (
        "extensions",
        &[
            "objectformat",
            "partialclone",
            "refstorage",
            "worktreeconfig",
        ],
    ),
    ("user", &["email", "name", "signingkey"]),
    ("commit", &["gpgsign", "template"]),
    ("pull", &["ff", "rebase"]),
    ("push", &["autosetupremote", "default", "followtags"]),
    ("lfs", &["repositoryformatversion"]),
];
/// Settings of npm that hold no password. `@scope:registry` is one, too.
const NPM_SETTINGS: [&str; 19] = [
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
    "registry",
    "save-exact",
    "save-prefix",
    "shamefully-hoist",
    "strict-peer-dependencies",
];

/// Returns true if a file whose name says that it may hold keys is known to hold none: certificates
/// alone, or settings of git or npm that are all known and without a password. Symlinks are not
/// followed.
pub(super) fn holds_no_key(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_public: fn(&str) -> bool = match name.to_lowercase().as_str() {
        "config" | "config.worktree" => is_public_git_config,
        ".npmrc" => is_public_npm_config,
        name if name.ends_with(".pem") => is_public_pem,
        _ => return false,
    };
    read_text(path).is_some_and(|text| is_public(&text))
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

/// Returns true if a text has PEM blocks, and all of them are public.
fn is_public_pem(text: &str) -> bool {
    let mut labels = text
        .match_indices("-----BEGIN ")
        .map(|(at, marker)| &text[at + marker.len()..])
        .map(|rest| rest.split_once("-----").map(|(label, _)| label))
        .peekable();
    labels.peek().is_some()
        && labels.all(|label| label.is_some_and(|label| PUBLIC_BLOCKS.contains(&label)))
        // Another spelling of a private key, such as that of PuTTY or in one line.
        && !text.to_ascii_uppercase().contains("PRIVATE")
}

/// Returns true if all lines of the settings of a repository are known and hold no password.
fn is_public_git_config(text: &str) -> bool {
    let mut section = String::new();
    text.lines().map(str::trim).all(|line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            // A comment may hold anything, such as a password that was replaced.
            return line.is_empty();
        }
        if let Some(header) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            let name = header.split([' ', '.']).next().unwrap_or_default();
            section = name.to_ascii_lowercase();
            return !has_password(header);
        }
        // Quotes and escapes are left to git.
        let Some((name, value)) = line.split_once('=').filter(|_| !line.contains(['"', '\\']))
        else {
            return false;
        };
        let name = name.trim().to_ascii_lowercase();
        let mut known = GIT_SETTINGS.iter().filter(|(known, _)| *known == section);
        known.any(|(_, names)| names.contains(&name.as_str())) && !has_password(value.trim())
    })
}

/// Returns true if all lines of settings of npm are known and hold no password.
fn is_public_npm_config(text: &str) -> bool {
    text.lines().map(str::trim).all(|line| {
        let Some((name, value)) = line.split_once('=') else {
            return line.is_empty();
        };
        let name = name.trim();
        let is_registry = name.starts_with('@') && name.ends_with(":registry");
        (is_registry || NPM_SETTINGS.contains(&name)) && !has_password(value.trim())
    })
}

/// Returns true if a value may contain a password: it is a URL with a user of HTTP, with a password, or
/// with parameters.
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
            "url = \"https://github.com/o/r.git\"",
            "url = https:\\\n//u:p@h/x",
            "extraheader = AUTHORIZATION: basic x",
            "# url = https://u:p@github.com",
            "helper = store",
            "proxy = http://h",
        ] {
            assert!(
                !is_public_git_config(&format!("[remote \"o\"]\n{line}\n")),
                "{line}"
            );
        }
        assert!(!is_public_git_config("[http \"https://u:p@h/\"]\n"));
        assert!(!is_public_git_config("[include]\n\tpath = other\n"));
    }

    #[test]
    fn settings_of_npm_are_public_only_if_all_of_them_are_known() {
        let plain = "registry=https://registry.npmjs.org/\n@acme:registry = https://npm.acme.example\n\nsave-exact=true\n";
        assert!(is_public_npm_config(plain));
        for line in [
            "//registry.npmjs.org/:_authToken=abc",
            "_auth=abc",
            "registry=https://u:p@npm.example/",
            "; comment",
            "ca[]=x",
            "@acme:token=x",
        ] {
            assert!(!is_public_npm_config(line), "{line}");
        }
    }
}

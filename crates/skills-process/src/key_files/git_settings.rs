//! Settings of a repository of git that hold no password.

use super::secret_text::{
    has_user, is_user_name, looks_like_secret, may_hold_secret, names_secret,
};

/// Sections of which every setting holds no password, unless its value looks like one.
const PUBLIC_SECTIONS: [&str; 59] = [
    "add",
    "advice",
    "alias",
    "am",
    "apply",
    "blame",
    "branch",
    "browser",
    "checkout",
    "clean",
    "clone",
    "color",
    "column",
    "commit",
    "core",
    "diff",
    "difftool",
    "extensions",
    "feature",
    "fetch",
    "format",
    "fsck",
    "fsmonitor",
    "gc",
    "gitflow",
    "gpg",
    "grep",
    "gui",
    "help",
    "index",
    "init",
    "interactive",
    "lfs",
    "log",
    "maintenance",
    "man",
    "merge",
    "mergetool",
    "notes",
    "pack",
    "pager",
    "protocol",
    "pull",
    "push",
    "rebase",
    "receive",
    "rerere",
    "safe",
    "sequence",
    "ssh",
    "stash",
    "status",
    "submodule",
    "tag",
    "transfer",
    "uploadpack",
    "user",
    "versionsort",
    "worktree",
];
/// Sections of which only these settings, separated by spaces, are known to hold no password.
const KNOWN_SETTINGS: [(&str, &str); 7] = [
    (
        "credential",
        "helper username usehttppath interactive provider guiprompt credentialstore",
    ),
    ("filter", "clean smudge process required"),
    (
        "http",
        "delegation emptyauth followredirects lowspeedlimit lowspeedtime maxrequests \
         minsessions noepsv postbuffer proxy proxyauthmethod schannelcheckrevoke sslbackend \
         sslcainfo sslcapath sslcert sslkey sslverify sslversion version",
    ),
    ("include", "path"),
    ("includeif", "path"),
    (
        "remote",
        "url fetch pushurl push tagopt mirror prune prunetags promisor partialclonefilter \
         gh-resolved skipdefaultupdate skipfetchall followremotehead lfsurl lfspushurl",
    ),
    ("url", "insteadof pushinsteadof"),
];
/// Helpers of git that store passwords elsewhere.
const HELPERS: [&str; 10] = [
    "cache",
    "gnome-keyring",
    "libsecret",
    "manager",
    "manager-core",
    "netrc",
    "oauth",
    "osxkeychain",
    "store",
    "wincred",
];
/// Commands that are such helpers, without the directory of the program.
const HELPER_COMMANDS: [&str; 4] = [
    "aws codecommit credential-helper $@",
    "gcloud auth git-helper --ignore-unknown $@",
    "gh auth git-credential",
    "glab auth git-credential",
];
/// Options of helpers. Their values are a number or a path.
const HELPER_OPTIONS: [&str; 3] = ["--file", "--socket", "--timeout"];
/// Programs that convert files, and get no password as an argument.
const FILTERS: [&str; 4] = ["git lfs ", "git-crypt ", "git-lfs ", "nbstripout"];

/// Returns true if all lines of the settings of a repository are known and hold no password.
pub(super) fn is_public_git_config(text: &str) -> bool {
    let mut section = String::new();
    text.lines().map(str::trim).all(|line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            return !may_hold_secret(line);
        }
        if line.starts_with('[') {
            let header = parse_header(line);
            section = header.map_or_else(String::new, |(name, _)| name.to_ascii_lowercase());
            return header.is_some_and(|(_, subsection)| is_public_name(&section, subsection));
        }
        // Escapes and values of several lines are left to git.
        let Some((name, value)) = line.split_once('=').filter(|_| !line.contains('\\')) else {
            return false;
        };
        let name = name.trim().to_ascii_lowercase();
        is_known(&section, &name) && is_public_value(&section, &name, unquoted(value))
    })
}

/// Returns the section and the subsection of a line that is nothing but a header.
fn parse_header(line: &str) -> Option<(&str, &str)> {
    let header = line.strip_prefix('[')?.strip_suffix(']')?;
    let (name, subsection) = match header.split_once([' ', '\t']) {
        Some((name, quoted)) => {
            let quoted = quoted.trim_start().strip_prefix('"')?;
            (name, quoted.strip_suffix('"')?)
        }
        None => header.split_once('.').unwrap_or((header, "")),
    };
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    // A setting can follow the header on its line.
    (is_name && !subsection.contains(['"', '\\', '[', ']'])).then_some((name, subsection))
}

/// Returns the value as git reads it if it is quoted as a whole.
fn unquoted(value: &str) -> &str {
    value.trim().trim_matches('"')
}

fn is_known(section: &str, name: &str) -> bool {
    let named = KNOWN_SETTINGS.iter().find(|(known, _)| *known == section);
    match named {
        Some((_, settings)) => settings.split_whitespace().any(|known| known == name),
        None => PUBLIC_SECTIONS.contains(&section) && !names_secret(name),
    }
}

/// Returns true for a subsection without a password. Those of some sections are names that people
/// choose, such as the branch `reset-password`.
fn is_public_name(section: &str, subsection: &str) -> bool {
    match section {
        "branch" | "remote" | "submodule" => !looks_like_secret(subsection),
        "credential" | "http" | "lfs" | "url" => is_public_location(subsection),
        _ => !may_hold_secret(subsection),
    }
}

fn is_public_value(section: &str, name: &str, value: &str) -> bool {
    match (section, name) {
        // Public by its purpose, and as long as a token.
        ("user", "signingkey") => true,
        ("branch" | "remote", _) if value.trim_start_matches(['+', '^']).starts_with("refs/") => {
            !looks_like_secret(value)
        }
        ("credential", "helper") => is_public_helper(value),
        ("credential", "username") => is_user_name(value),
        ("filter", "clean" | "smudge" | "process") => is_public_filter(value),
        ("http", "proxy") => !has_user(value) && is_public_location(value),
        ("include" | "includeif", "path")
        | ("remote" | "submodule", "url" | "pushurl")
        | ("remote" | "lfs", "lfsurl" | "lfspushurl")
        | ("url", _) => is_public_location(value),
        _ => !may_hold_secret(value),
    }
}

/// Returns true for a URL or a path without a password. A word for one can be a part of its name, as in
/// `https://github.com/o/password-reset`.
fn is_public_location(value: &str) -> bool {
    let has_parts = value.contains(['=', ';', ' ']);
    !(looks_like_secret(value) || has_parts && names_secret(value))
}

/// Returns true for a helper that stores passwords elsewhere, with options that name none.
fn is_public_helper(value: &str) -> bool {
    if value.is_empty() {
        return true;
    }
    let (directory, command) = split_directory(value.strip_prefix('!').unwrap_or(value));
    if looks_like_secret(directory) {
        return false;
    }
    if HELPER_COMMANDS.contains(&command) {
        return value.starts_with('!');
    }
    let mut words = command.split_whitespace();
    let name = words.next().unwrap_or_default();
    let name = name.strip_prefix("git-credential-").unwrap_or(name);
    HELPERS.contains(&name) && !value.starts_with('!') && are_public_options(words)
}

/// Returns the directory of the program of a command, and the command without it.
fn split_directory(command: &str) -> (&str, &str) {
    let program = command.split(' ').next().unwrap_or_default();
    let length = program.rfind('/').map_or(0, |slash| slash + 1);
    command.split_at(length)
}

fn are_public_options<'a>(words: impl Iterator<Item = &'a str>) -> bool {
    let mut takes_value = false;
    for word in words {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) => (Some(option), Some(value)),
            None if takes_value => (None, Some(word)),
            None => (Some(word), None),
        };
        let is_known = option.is_none_or(|option| HELPER_OPTIONS.contains(&option));
        if !is_known || value.is_some_and(|value| !is_number_or_path(value)) {
            return false;
        }
        takes_value = value.is_none();
    }
    true
}

fn is_number_or_path(value: &str) -> bool {
    let is_number = value.chars().all(|c| c.is_ascii_digit());
    is_number || value.starts_with(['~', '/', '.']) && !looks_like_secret(value)
}

fn is_public_filter(value: &str) -> bool {
    let (_, command) = split_directory(value);
    FILTERS.iter().any(|program| command.starts_with(program)) && !may_hold_secret(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_public_only_if_all_of_them_are_known() {
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
            "[http]\n\tcookiefile = x\n",
            "[alias]\n\tx = !curl -H 'Authorization: x'\n",
            "[sendemail]\n\tsmtppass = hunter2\n",
            "[http] extraheader = X: hunter2]\n",
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

    /// Settings without a password, each with one of the same kind that has one.
    #[test]
    fn settings_without_a_password_withhold_nothing_and_those_with_one_do() {
        for (section, public, secret) in [
            (
                "remote \"origin\"",
                "url = https://org@dev.azure.com/org/proj/_git/x",
                "url = https://org:hunter2@dev.azure.com/org/proj/_git/x",
            ),
            (
                "remote \"origin\"",
                "url = https://anna@github.com/a/b.git",
                "url = https://ghp_0123456789@github.com/a/b.git",
            ),
            (
                "remote \"o\"",
                "pushurl = https://anna%40corp.example@host/a/b.git",
                "pushurl = https://anna%3Ahunter2@host/a/b.git",
            ),
            (
                "remote \"o\"",
                "url = https://github.com/o/password-reset.git",
                "url = https://github.com/o/r.git;password=hunter2",
            ),
            (
                "branch \"reset-password\"",
                "merge = refs/heads/reset-password",
                "description = the password is hunter2",
            ),
            (
                "credential",
                "helper = store",
                "helper = \"!f() { echo password=hunter2; }; f\"",
            ),
            (
                "credential",
                "helper = cache --timeout=3600",
                "helper = cache --password=hunter2",
            ),
            (
                "credential",
                "helper = store --file ~/.git-credentials",
                "helper = store hunter2",
            ),
            (
                "credential \"https://github.com\"",
                "helper = !/usr/bin/gh auth git-credential",
                "helper = !/usr/bin/gh auth git-credential hunter2",
            ),
            (
                "credential",
                "helper = /usr/lib/git-core/git-credential-libsecret",
                "helper = /opt/tool hunter2",
            ),
            (
                "credential \"https://anna@github.com\"",
                "username = anna",
                "username = ghp_0123456789",
            ),
            ("credential", "useHttpPath = true", "password = hunter2"),
            (
                "filter \"lfs\"",
                "clean = git-lfs clean -- %f",
                "clean = openssl enc -k hunter2",
            ),
            (
                "filter \"lfs\"",
                "process = git-lfs filter-process",
                "process = git-lfs --password hunter2",
            ),
            (
                "http",
                "proxy = http://proxy:8080",
                "proxy = http://anna:hunter2@proxy:8080",
            ),
            ("http", "proxy = proxy:8080", "proxy = anna@proxy:8080"),
            (
                "http \"https://git.corp.example/\"",
                "sslVerify = false",
                "extraheader = X: hunter2",
            ),
            (
                "url \"git@github.com:\"",
                "insteadOf = https://github.com/",
                "insteadOf = https://u:hunter2@github.com/",
            ),
            (
                "includeIf \"gitdir:~/work/\"",
                "path = ~/.gitconfig-work",
                "password = hunter2",
            ),
            ("include", "path = other", "token = hunter2"),
            (
                "lfs \"https://github.com/o/r.git/info/lfs\"",
                "access = basic",
                "access = https://u:hunter2@h/",
            ),
        ] {
            let text = |line: &str| format!("[{section}]\n\t{line}\n");
            assert!(is_public_git_config(&text(public)), "[{section}] {public}");
            assert!(!is_public_git_config(&text(secret)), "[{section}] {secret}");
            let both = text(public) + &text(secret);
            assert!(!is_public_git_config(&both), "{both}");
        }
        for section in [
            "url \"https://u:hunter2@github.com/\"",
            "url \"https://ghp_0123456789@github.com/\"",
            "credential \"https://u:hunter2@github.com\"",
            "branch \"https://u:hunter2@h/\"",
        ] {
            assert!(
                !is_public_git_config(&format!("[{section}]\n")),
                "{section}"
            );
        }
    }
}

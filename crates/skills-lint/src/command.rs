//! What a command says by itself: from where it downloads, and whether there is anything to run.
//! The words around a command cost an attacker nothing; these facts do.

use crate::finding::Severity;
use crate::rule::{
    DECODE_TO_SHELL, DESTRUCTIVE_COMMAND, DOWNLOAD_AND_RUN, DROP_SITE, PERSISTENCE, PIPE_TO_SHELL,
    Rule, SYSTEM_PROTECTION, UNTRUSTED_PACKAGES,
};
use crate::words::{is_example_host, is_fictional_host, is_known_installer};

/// Programs that download.
const DOWNLOADS: [&str; 6] = ["curl", "wget", "iwr", "irm", "invoke-webrequest", "fetch"];

/// Options by which a server other than that of the address answers, or further addresses are read.
const DETOURS: [&str; 9] = [
    "--resolve",
    "--connect-to",
    "--proxy",
    "--socks",
    "--preproxy",
    "--doh-url",
    "--config",
    "--input-file",
    "--unix-socket",
];

/// Words that stand for an address in a text about commands.
const PLACEHOLDERS: [&str; 9] = [
    "url",
    "uri",
    "link",
    "address",
    "http",
    "https",
    "remote",
    "untrusted",
    "site",
];

/// Severities that are lower because of the command itself, and why.
type Judgment = Option<(Severity, &'static str)>;

/// Returns the severity of a command, if it is lower than that of the rule by the command itself.
/// The line is what surrounds the matched command.
pub(crate) fn judged(
    rule: &'static Rule,
    severity: Severity,
    matched: &str,
    line: &str,
) -> Judgment {
    if *rule == PIPE_TO_SHELL || *rule == DOWNLOAD_AND_RUN {
        return download(severity, matched, line);
    }
    if *rule == DECODE_TO_SHELL && decodes_nothing(matched, line) {
        let note = "lower, since the command decodes nothing";
        return Some((severity.min(Severity::Medium), note));
    }
    if *rule == PERSISTENCE && severity == Severity::Medium && sets_variable(line) {
        return Some((Severity::Low, "low, since it only sets a variable"));
    }
    if *rule == PERSISTENCE && severity == Severity::High && starts_integration(line) {
        let note = "low, since it starts the integration of an installed program";
        return Some((Severity::Low, note));
    }
    if *rule == SYSTEM_PROTECTION && matched.starts_with("xattr") && line.contains("brew --prefix")
    {
        let note = "low, since the file is one of a package manager";
        return Some((Severity::Low, note));
    }
    if *rule == PERSISTENCE && is_own_key(line) {
        let note = "lower, since the key is added on another machine";
        return Some((severity.lowered(1), note));
    }
    if *rule == DESTRUCTIVE_COMMAND && is_refused(matched) {
        return Some((Severity::Low, "low, since `rm` refuses it"));
    }
    if *rule == DROP_SITE && severity == Severity::Medium && shows_image(line) {
        return Some((Severity::Low, "low, since it is an image"));
    }
    if *rule != UNTRUSTED_PACKAGES && is_fiction(line) {
        return Some((severity.lowered(1), FICTION));
    }
    None
}

const FICTION: &str = "lower, since the address stands for that of an attacker";

/// Returns true for a download from the servers of well-known tools alone.
pub(crate) fn is_known_download(line: &str) -> bool {
    Hosts::of(line).are_all(|address| is_known_installer(address.url))
}

fn download(severity: Severity, matched: &str, line: &str) -> Judgment {
    let hosts = Hosts::of(matched);
    if hosts.are_all(|address| is_known_installer(address.url)) {
        let note = "low, since it is the installer of a well-known tool";
        return Some((Severity::Low, note));
    }
    if hosts.are_all(|address| is_local(address.host)) {
        return Some((Severity::Low, "low, since the server is this machine"));
    }
    if hosts.are_all(|address| is_example_host(address.host)) {
        return Some((Severity::Low, "low, since the address is one of examples"));
    }
    if hosts.are_all(|address| is_fictional_host(address.host)) {
        return Some((severity.lowered(1), FICTION));
    }
    if !hosts.addresses.is_empty() || hosts.has_variable {
        return None;
    }
    match arguments(matched)? {
        Arguments::None if !line.contains("://") => {
            Some((Severity::Low, "low, since the command names no address"))
        }
        Arguments::None | Arguments::Placeholder => Some((
            severity.min(Severity::Medium),
            "lower, since the command names no address",
        )),
        Arguments::Words => None,
    }
}

#[derive(Debug, Clone, Copy)]
struct Address<'a> {
    /// With the scheme, if it has one.
    url: &'a str,
    host: &'a str,
}

/// The addresses of a command.
struct Hosts<'a> {
    addresses: Vec<Address<'a>>,
    /// Whether something else than the addresses decides what is run.
    is_doubtful: bool,
    has_variable: bool,
}

impl<'a> Hosts<'a> {
    fn of(command: &'a str) -> Self {
        let words = || command.split_whitespace();
        let programs = words().filter(|word| is_download(word)).count();
        // A stage between the download and the shell can replace what was downloaded.
        let mut stages = command.split('|');
        let download = stages.next().unwrap_or_default();
        let is_piped_to_shells = stages.all(starts_shell);
        // Of more than one download, all are piped if they are grouped.
        let arguments = if programs > 1 { command } else { download };
        let addresses = addresses(command, arguments);
        let has_variable = arguments.replace("$(", "(").contains('$');
        Self {
            is_doubtful: !is_piped_to_shells
                || addresses.len() < programs
                || arguments.split_whitespace().any(is_detour)
                || has_variable,
            has_variable,
            addresses,
        }
    }

    fn are_all(&self, is_expected: impl Fn(&Address<'a>) -> bool) -> bool {
        !self.is_doubtful && !self.addresses.is_empty() && self.addresses.iter().all(is_expected)
    }
}

/// Returns true for the name of a download program, with or without its directory.
fn is_download(word: &str) -> bool {
    let name = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let name = name
        .rsplit(['/', '(', '`', '|', ';'])
        .next()
        .unwrap_or(name);
    DOWNLOADS
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// Returns true if what follows a pipe starts a shell, perhaps as another user.
fn starts_shell(stage: &str) -> bool {
    let stage = stage.trim_start_matches(|c: char| !c.is_ascii_alphanumeric() && c != '$');
    let mut words = stage.split(|c: char| c.is_whitespace() || matches!(c, '`' | ')' | '"' | '.'));
    let first = words.find(|word| {
        !word.is_empty()
            && !["sudo", "env", "command", "exec", "\\", "&"].contains(word)
            && !word.starts_with('-')
            && !word.contains('=')
    });
    first.is_some_and(|word| {
        let name = word.rsplit('/').next().unwrap_or(word).to_ascii_lowercase();
        SHELLS.contains(&name.as_str())
    })
}

fn is_detour(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    // `-K` reads a file of options; `-e` and `-i` are of `wget`.
    if word.starts_with("--") {
        return DETOURS.iter().any(|option| lower.starts_with(option));
    }
    word.starts_with("-x") || word.starts_with("-K") || word == "-i" || word == "-e"
}

/// Returns the URLs of a command, and the names of hosts without a scheme among the arguments of
/// its download.
fn addresses<'a>(command: &'a str, download: &'a str) -> Vec<Address<'a>> {
    let mut found: Vec<Address<'a>> = Vec::new();
    for (start, _) in command.match_indices("://") {
        let is_scheme = |c: char| c.is_ascii_alphanumeric();
        let scheme = command[..start].trim_end_matches(is_scheme).len();
        let rest = &command[scheme..];
        let end = rest.find([' ', '"', '\'', '`', '|', '\\', ')', '>', '<', ';', ',', ']']);
        let url = &rest[..end.unwrap_or(rest.len())];
        found.push(Address {
            url,
            host: host_of(url),
        });
    }
    let mut before = "";
    for word in download.split_whitespace() {
        let bare = word.trim_matches(['"', '\'', '`', '(', ')', '$', '<', '>', ',']);
        let is_value = matches!(before, "-o" | "-O" | "--output" | "-OutFile" | "-outfile");
        if !is_value && !bare.contains("://") && is_host_like(bare) {
            found.push(Address {
                url: bare,
                host: host_of(bare),
            });
        }
        before = word;
    }
    found
}

/// Returns the host and the port of an address, with or without a scheme.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// Returns true for `name.tld`, `name.tld/path` and numbers that are addresses.
fn is_host_like(word: &str) -> bool {
    if word.starts_with('-') {
        return false;
    }
    let host = host_of(word);
    let is_label = |label: &str| {
        !label.is_empty()
            && label
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':'))
    };
    let mut labels = host.split('.');
    let is_dotted = host.contains('.') && labels.all(is_label);
    let is_number = host.len() >= 8 && host.bytes().all(|byte| byte.is_ascii_digit());
    is_dotted || is_number
}

fn is_local(host: &str) -> bool {
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|local| {
        host.strip_prefix(local)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    })
}

/// What is between the name of a download program and the pipe.
enum Arguments {
    None,
    /// A word that stands for an address.
    Placeholder,
    Words,
}

/// Returns the arguments of a download that is piped or substituted; none if it is neither.
fn arguments(command: &str) -> Option<Arguments> {
    let lower = command.to_ascii_lowercase();
    let is_shell = ["|", "$(", "<(", "`"]
        .iter()
        .any(|mark| lower.contains(mark));
    if !is_shell || !DOWNLOADS.iter().any(|name| lower.contains(name)) {
        return None;
    }
    let mut found = Arguments::None;
    for word in lower
        .split([' ', '\t', '|'])
        .filter(|word| !word.starts_with('-'))
    {
        let is_marked = (word.starts_with('<') && word.ends_with('>'))
            || (word.starts_with('{') && word.ends_with('}') && !word.contains(','))
            || (word.starts_with('[') && word.ends_with(']') && word.len() > 2);
        if is_marked {
            found = Arguments::Placeholder;
            continue;
        }
        let visible = without_escapes(word);
        for letters in visible.split(|c: char| !c.is_alphanumeric()) {
            if PLACEHOLDERS.contains(&letters) {
                found = Arguments::Placeholder;
            } else if letters.chars().count() >= 2
                && !DOWNLOADS.contains(&letters)
                && !SHELLS.contains(&letters)
            {
                return Some(Arguments::Words);
            }
        }
    }
    Some(found)
}

/// Programs that run what is piped to them.
const SHELLS: [&str; 14] = [
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "python",
    "python3",
    "perl",
    "ruby",
    "node",
    "sudo",
    "iex",
    "invoke",
    "expression",
];

/// Returns a word without classes of regular expressions, as scanners contain them.
fn without_escapes(word: &str) -> String {
    let mut text = String::new();
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        if c == '\\' {
            chars.next();
        } else {
            text.push(c);
        }
    }
    text
}

/// Returns true if a decoder has neither input nor arguments, as in texts about such commands.
fn decodes_nothing(matched: &str, line: &str) -> bool {
    let Some((decoder, _)) = matched.split_once('|') else {
        return false;
    };
    if decoder.trim().is_empty() {
        return false;
    }
    let start = line.find(matched).unwrap_or(0);
    let before = line[..start].trim_end();
    let is_first = before.is_empty() || before.ends_with(['`', '"', '\'', '(', ',', '/']);
    let mut words = decoder.split_whitespace();
    words.next();
    is_first && words.all(|word| word.starts_with('-') && word.len() <= 8)
}

/// Returns true if all hosts of a line stand for an attacker or an example in texts.
fn is_fiction(line: &str) -> bool {
    let line = line
        .replace("/dev/tcp/", "tcp://")
        .replace("/dev/udp/", "udp://");
    let has_variable = line.match_indices('$').any(|(start, _)| {
        line[start + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '{')
    });
    let found = addresses(&line, &line);
    !has_variable
        && !found.is_empty()
        && found
            .iter()
            .all(|address| is_example_host(address.host) || is_fictional_host(address.host))
}

/// Variables and commands that start other programs, or change where they connect to.
const POWERFUL: [&str; 14] = [
    "prompt_command",
    "ld_",
    "dyld_",
    "bash_env",
    "env=",
    "node_options",
    "python",
    "git_",
    "proxy",
    "alias sudo",
    "alias ssh",
    "alias git",
    "alias ls",
    "alias cd",
];

/// Returns true for what installers write into the profile of a shell: a variable, an alias or the
/// completion of a program.
fn sets_variable(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let is_setting = [
        "export ", "alias ", "source ", "path=", "fpath=", "set -gx ",
    ];
    is_setting.iter().any(|word| lower.contains(word))
        && !POWERFUL.iter().any(|word| lower.contains(word))
        && !["$(", "`curl", "/tmp/", "&", ";"]
            .iter()
            .any(|mark| lower.contains(mark))
}

/// Returns true for `eval "$(program init shell)"` and nothing more.
fn starts_integration(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let others = [
        "curl", "wget", "base64", "/dev/tcp", " -c", "nohup", "iex", "/tmp/", "|", ";",
    ];
    let Some((_, substitution)) = lower.split_once("$(") else {
        return false;
    };
    let words: Vec<&str> = substitution.split([' ', ')']).collect();
    let integrations = [
        "init",
        "hook",
        "env",
        "shellenv",
        "completion",
        "activate",
        "shell-init",
    ];
    lower.matches("$(").count() == 1
        && words
            .get(1)
            .is_some_and(|word| integrations.contains(&word.trim_start_matches('-')))
        && !others.iter().any(|other| lower.contains(other))
}

/// Returns true for images of a Markdown page, which a reader only sees.
fn shows_image(line: &str) -> bool {
    let Some((_, rest)) = line.split_once("](") else {
        return false;
    };
    let url = rest
        .split(')')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let images = [".png", ".jpg", ".jpeg", ".gif", ".webp"];
    !url.contains('?') && images.iter().any(|end| url.ends_with(end)) && !line.contains("curl")
}

/// Returns true for `rm -rf /`, which all systems refuse, so that it is the example of texts.
fn is_refused(matched: &str) -> bool {
    let end = matched.trim_end_matches(['`', '\'', '"', ')', ';', '&', '|', ' ']);
    matched.starts_with("rm ") && end.ends_with(" /") && !end.contains("no-preserve-root")
}

/// Returns true for `ssh HOST 'cat >> ~/.ssh/authorized_keys'`, by which one's own key is installed.
fn is_own_key(line: &str) -> bool {
    let remote = line.split_once("ssh ").map_or("", |(_, remote)| remote);
    let is_shell_text = ["'cat >>", "\"cat >>"]
        .iter()
        .any(|text| remote.contains(text));
    is_shell_text && remote.contains('@')
}

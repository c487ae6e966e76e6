//! Reads from messages of programs which operations a restriction stopped.
//!
//! A program can print anything, so what is read here is a claim: it explains a failure, and nothing
//! depends on it.

use std::path::Path;

use skills_sandbox::{CapturedOutput, NeverAllowed, RefusedOperation, ScriptType};

/// The length of the end of each stream that is searched, in bytes.
const MAX_TEXT_BYTES: usize = 8_192;

/// Texts before the name of a host that cannot be resolved or reached.
const BEFORE_HOST: [&str; 8] = [
    "Could not resolve host: ",
    "Could not resolve hostname ",
    "getaddrinfo ENOTFOUND ",
    "getaddrinfo EAI_AGAIN ",
    "unable to resolve host address ",
    "Cannot connect to host ",
    "dial tcp: lookup ",
    "host='",
];
/// Texts that say that a name cannot be resolved, without the name.
const UNKNOWN_HOST: [&str; 5] = [
    "Name or service not known",
    "Temporary failure in name resolution",
    "nodename nor servname provided",
    "Name does not resolve",
    "TypeError: fetch failed",
];
/// Texts with which programs report operations that no rule allows, and that no filter of system calls
/// tells apart.
const NEVER_ALLOWED: [(&[&str], NeverAllowed); 3] = [
    (
        &[
            "uv_interface_addresses returned",
            "route ip+net: netlinkrib:",
            "Cannot open netlink socket:",
        ],
        NeverAllowed {
            family: "list-interfaces",
            text: "list network interfaces",
            reason: "addresses and names of interfaces identify the machine",
            is_probed: false,
        },
    ),
    (
        &["_multiprocessing.SemLock("],
        NeverAllowed {
            family: "semaphores",
            text: "create a semaphore for several processes",
            reason: "without namespaces it would be one of the whole host",
            is_probed: false,
        },
    ),
    (
        &[
            "out of pty devices",
            "failed to create pseudo-terminal",
            "posix_openpt",
            "/dev/ptmx",
        ],
        NeverAllowed {
            family: "terminals",
            text: "open a terminal",
            reason: "without namespaces it would be one of the whole host",
            is_probed: false,
        },
    ),
];
/// The families of operations that programs with namespaces of their own may do.
const ALLOWED_WITH_NAMESPACES: [&str; 2] = ["semaphores", "terminals"];
/// Words of messages about a file or directory that cannot be created.
const CREATION: [&str; 7] = [
    "unable to open database",
    "cannot create",
    "can't create",
    "cannot touch",
    "failed to create",
    "could not create",
    "unable to create",
];
/// Parts of statements that create files, as tracebacks quote them.
const WRITING_STATEMENTS: [&str; 16] = [
    "\"w\"",
    "'w'",
    "\"wb\"",
    "'wb'",
    "\"a\"",
    "'a'",
    "\"x\"",
    "'x'",
    "write_text(",
    "write_bytes(",
    "mkdir(",
    "makedirs(",
    ".touch(",
    "writeFile",
    "appendFile",
    "createWriteStream",
];

/// Maximum length of a package name, in characters.
const MAX_NAME_CHARS: usize = 80;
/// Texts before the name of a package that is not installed.
const MISSING_PACKAGE: [(&str, ScriptType); 6] = [
    ("No module named ", ScriptType::Python),
    ("pip install ", ScriptType::Python),
    ("pip3 install ", ScriptType::Python),
    ("Cannot find module ", ScriptType::Node),
    ("Cannot find package ", ScriptType::Node),
    ("npm install ", ScriptType::Node),
];

/// Returns the operations that lines of a text say were refused. `current_dir` is the path of a
/// message that names no absolute one.
pub(super) fn parse_messages(text: &str, current_dir: &str) -> Vec<RefusedOperation> {
    let mut operations = Vec::new();
    // Of a traceback that ends with a missing file: it was to be created.
    let mut is_writing = false;
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        if line.starts_with("Traceback ") {
            is_writing = false;
        }
        let is_statement = line.starts_with("    ");
        is_writing |= is_statement && contains_any(line, &WRITING_STATEMENTS);
        let Some(operation) = parse_line(line, current_dir) else {
            continue;
        };
        // Node prints the stack after the message.
        let stack = lines[index + 1..]
            .iter()
            .take_while(|line| line.starts_with("    at "));
        let is_writing_stack = stack
            .into_iter()
            .any(|line| contains_any(line, &WRITING_STATEMENTS));
        operations.push(match operation {
            RefusedOperation::Read { path } if is_writing || is_writing_stack => {
                RefusedOperation::Write { path }
            }
            other => other,
        });
    }
    operations
}

fn contains_any(line: &str, markers: &[&str]) -> bool {
    markers.iter().any(|marker| line.contains(marker))
}

/// Returns the operation that a line says was refused.
fn parse_line(line: &str, current_dir: &str) -> Option<RefusedOperation> {
    let line = without_location(line);
    let write = |path: Option<&str>| RefusedOperation::Write {
        path: path.unwrap_or(current_dir).to_owned(),
    };
    if let Some(end) = read_only_marker(line) {
        return Some(write(absolute_path(without_program(line, end))));
    }
    // Node reports a directory that it cannot create on a read-only file system as missing.
    if line.contains("ENOENT") && line.contains(", mkdir '") {
        return Some(write(absolute_path(line)));
    }
    let mut never = NEVER_ALLOWED.iter();
    if let Some((_, never)) = never.find(|(markers, _)| contains_any(line, markers)) {
        return Some(RefusedOperation::NeverAllowed(*never));
    }
    let missing = [
        "No such file or directory",
        "Directory nonexistent",
        "ENOENT",
        ": unable to open database file",
        // Without namespaces a path outside exists and cannot be opened.
        "Permission denied",
        "EACCES",
    ];
    if let Some(end) = missing.iter().find_map(|marker| line.find(marker)) {
        let message = without_program(line, end);
        let path = absolute_path(message)?;
        let creates = contains_any(message, &CREATION) || line.contains("Directory nonexistent");
        return Some(if creates {
            write(Some(path))
        } else {
            RefusedOperation::Read {
                path: path.to_owned(),
            }
        });
    }
    parse_host(line)
}

/// Returns true if the operation is allowed with namespaces.
pub(super) fn needs_namespaces(operation: &NeverAllowed) -> bool {
    ALLOWED_WITH_NAMESPACES.contains(&operation.family)
}

/// Returns the operations that lines of the text of a successful program say were refused: writes to a
/// read-only file system. Other errors, such as a missing file, are a part of what many programs do.
pub(super) fn parse_read_only_messages(text: &str, current_dir: &str) -> Vec<RefusedOperation> {
    let lines = text.lines().filter(|line| read_only_marker(line).is_some());
    lines
        .filter_map(|line| parse_line(line, current_dir))
        .collect()
}

/// Returns the words of messages about a read-only file system that are paths with more than one
/// component, or hidden files; relative ones are as the program wrote them.
pub(super) fn parse_read_only_paths(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| read_only_marker(line).is_some());
    let words = lines.flat_map(|line| line.split(is_path_end));
    words.filter(|word| word.len() > 1 && (word.contains('/') || word.starts_with('.')))
}

/// Returns the end of a stream, which is searched: programs report an error last.
pub(super) fn end_of(captured: &CapturedOutput) -> String {
    let text = captured.text();
    let start = text.len().saturating_sub(MAX_TEXT_BYTES);
    without_colors(&text[text.ceil_char_boundary(start)..])
}

/// Returns a text without the colors that programs use on a terminal, also around names.
fn without_colors(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c| ('@'..='~').contains(&c));
        plain.push_str(end.map_or("", |end| &part[end + 1..]));
    }
    plain
}

/// Returns where a line says that a file system is read-only.
pub(super) fn read_only_marker(line: &str) -> Option<usize> {
    const MARKERS: [&str; 3] = ["read-only file system", "erofs", "(os error 30)"];
    let line = line.to_ascii_lowercase();
    MARKERS.iter().find_map(|marker| line.find(marker))
}

/// Returns true if a text reports an operation that a filter of system calls denied.
pub(super) fn is_not_permitted(text: &str) -> bool {
    const MARKERS: [&str; 4] = [
        "peration not permitted",
        "EPERM",
        "(os error 1)",
        "[Errno 1]",
    ];
    contains_any(text, &MARKERS)
}

/// Returns true if a text reports that the permissions of a file do not allow to use it.
pub(super) fn is_permission_denied(text: &str) -> bool {
    contains_any(text, &["ermission denied", "EACCES", "(os error 13)"])
}

/// Returns the variable of the environment that a text says is missing. Arguments are reported in
/// similar words, so `script` has to read the environment if a line does not say that it is about it.
pub(super) fn missing_variable<'a>(text: &'a str, script: &str) -> Option<&'a str> {
    const CERTAIN: [&str; 5] = [
        "environment variable",
        "env var",
        "unbound variable",
        "parameter not set",
        "parameter null or not set",
    ];
    const POSSIBLE: [&str; 4] = ["not set", "must be set", "is required", "issing"];
    const READS: [&str; 5] = ["environ", "getenv", "process.env", "ENV[", "$ENV{"];
    text.lines().find_map(|line| {
        let is_read = |name: &str| {
            let reads = [format!("${name}"), format!("${{{name}")];
            contains_any(script, &READS) || reads.iter().any(|read| script.contains(read))
        };
        // Python names the key of any mapping in these words.
        let key = line.strip_prefix("KeyError: '");
        if let Some((name, _)) = key.and_then(|key| key.split_once('\'')) {
            let is_environment = contains_any(text, &["os.environ", "<frozen os>", "/os.py\""]);
            return Some(name).filter(|name| is_environment && is_upper_name(name));
        }
        let mut words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = words.find(|word| is_upper_name(word))?;
        let is_missing =
            contains_any(line, &CERTAIN) || contains_any(line, &POSSIBLE) && is_read(name);
        is_missing.then_some(name)
    })
}

/// Returns true for a name as variables of the environment have.
fn is_upper_name(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    word.len() > 4
        && word.contains('_')
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.chars().all(is_part)
}

/// Returns the program that a text says does not exist, which it was to start.
pub(super) fn missing_program(text: &str) -> Option<&str> {
    text.lines().rev().find_map(|line| {
        let bash = line.strip_suffix(": command not found");
        let bash = bash.and_then(|rest| rest.rsplit(": ").next());
        // Other programs report other things that they do not find, without the number of a line.
        let dash = line.strip_suffix(": not found").and_then(|rest| {
            let (before, name) = rest.rsplit_once(": ")?;
            let number = before.rsplit(": ").next()?;
            number.parse::<u32>().is_ok().then_some(name)
        });
        let python = line
            .strip_prefix("FileNotFoundError: [Errno 2] No such file or directory: '")
            .and_then(|rest| rest.strip_suffix('\''));
        let node = line
            .split_once("spawn ")
            .and_then(|(_, rest)| rest.split_once(" ENOENT"));
        let is_started = contains_any(text, &["subprocess.py", "_execute_child"]);
        let name = bash
            .or(dash)
            .or(python.filter(|_| is_started))
            .or(node.map(|(name, _)| name))?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
        (!name.is_empty() && name.len() <= 64 && name.chars().all(is_name)).then_some(name)
    })
}

fn parse_host(line: &str) -> Option<RefusedOperation> {
    let named = BEFORE_HOST
        .iter()
        .find_map(|marker| line.split_once(marker))
        .and_then(|(_, rest)| host_at_start(rest));
    if let Some(host) = named {
        return Some(RefusedOperation::Connect { host: Some(host) });
    }
    contains_any(line, &UNKNOWN_HOST).then_some(RefusedOperation::Connect { host: None })
}

fn host_at_start(text: &str) -> Option<String> {
    let is_host = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    let host = text.trim_start_matches(['\'', '"', '‘', '“']);
    let end = host.find(|c| !is_host(c)).unwrap_or(host.len());
    let host = &host[..end];
    (!host.is_empty()).then(|| host.to_owned())
}

/// Returns a message without the path of the program that prints it, as in `/a.sh: line 3: out.txt:
/// …`, `/bin/sh: 1: cannot create out.txt: …` and `/usr/bin/touch: cannot touch 'out.txt': …`. `end`
/// is where the reason begins.
fn without_program(line: &str, end: usize) -> &str {
    let Some((program, rest)) = line.split_once(':') else {
        return line;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let after_number = rest.split_once(": ").and_then(|(number, message)| {
        let number = number.trim_start();
        let number = number.strip_prefix("line ").unwrap_or(number);
        is_number(number).then_some(message)
    });
    if let Some(message) = after_number {
        return message;
    }
    // What is followed by the reason at once is the file itself.
    let is_program = program.starts_with('/') && line[..end].len() > program.len() + ": ".len();
    if is_program { rest } else { line }
}

/// Returns a message without the place in the program that Perl adds, as in `Cannot open /a: No such
/// file or directory at /b.pl line 3.`.
fn without_location(line: &str) -> &str {
    let Some((message, number)) = line.rsplit_once(" line ") else {
        return line;
    };
    let number = number.trim_end_matches('.');
    match message.rsplit_once(" at ") {
        Some((message, _)) if number.parse::<u32>().is_ok() => message,
        _ => line,
    }
}

/// Returns the last quoted or free-standing absolute path of a line, without what follows it.
fn absolute_path(line: &str) -> Option<&str> {
    line.char_indices()
        .filter(|(_, c)| *c == '/')
        .filter_map(|(index, _)| {
            let previous = line[..index].chars().next_back();
            previous
                .is_none_or(is_path_end)
                .then(|| path_at_start(&line[index..], previous))
        })
        .rfind(|path| path.len() > 1 && !path.starts_with("//") && Path::new(path).is_absolute())
}

/// Returns the path at the start of a text. `previous` is the character before it: a quoted path ends
/// with its quote. Another one can contain a space if a `/` of the same path follows.
fn path_at_start(text: &str, previous: Option<char>) -> &str {
    let closing = match previous {
        Some(quote @ ('\'' | '"' | '`')) => Some(quote),
        Some('‘') => Some('’'),
        Some('“') => Some('”'),
        _ => None,
    };
    if let Some(end) = closing.and_then(|quote| text.find(quote)) {
        return &text[..end];
    }
    let mut end = text.find(is_path_end).unwrap_or(text.len());
    while let Some(rest) = text[end..].strip_prefix(' ')
        && let Some((word, _)) = rest.split_once('/')
        && !word.is_empty()
        && !word.contains(is_path_end)
    {
        let length = rest.find(is_path_end).unwrap_or(rest.len());
        end += 1 + length;
    }
    &text[..end]
}

/// Returns true for a character that ends a path in a message.
pub(super) fn is_path_end(c: char) -> bool {
    c.is_whitespace() || "'\"`:,;()’‘”“".contains(c)
}

/// Returns true for an error that only an interpreter itself prints. Advice of a script to install a
/// package can be about anything.
pub(super) fn is_error_of(line: &str, script_type: ScriptType) -> bool {
    match script_type {
        ScriptType::Python => {
            line.starts_with("ModuleNotFoundError: ") || line.contains(": No module named ")
        }
        _ => {
            line.starts_with("Error: Cannot find module ")
                || line.contains("[ERR_MODULE_NOT_FOUND]")
        }
    }
}

/// Returns the package that a line of output says is missing.
pub(super) fn missing_package(line: &str, script_type: ScriptType) -> Option<String> {
    let rest = MISSING_PACKAGE
        .iter()
        .filter(|(_, known)| *known == script_type)
        .find_map(|(marker, _)| Some(line.split_once(marker)?.1))?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "@/._-".contains(c);
    // Options come before the names; those that take a file stand for a list of packages.
    let mut rest = rest;
    while let Some((option, after)) = rest
        .split_once(' ')
        .filter(|(word, _)| word.starts_with('-'))
    {
        if matches!(option, "-r" | "--requirement" | "-e" | "--editable") {
            return None;
        }
        rest = after;
    }
    let rest = rest.trim_start_matches(['\'', '"', '`']);
    let name: String = rest
        .chars()
        .take_while(|c| is_name(*c))
        .take(MAX_NAME_CHARS)
        .collect();
    // Its beginning would be another name.
    let is_cut = rest[name.len()..].starts_with(|c: char| c.is_alphanumeric() || !c.is_ascii());
    // Node reports a missing file of the skill itself in the same words.
    let is_file = name.starts_with(['.', '/']) || name.starts_with('-');
    (!name.is_empty() && !is_file && !is_cut).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let operations = parse_messages(text, "/work");
        let names = operations.iter().map(|operation| match operation.target() {
            Some(target) => target.to_string(),
            None => operation.to_string(),
        });
        assert_eq!(names.collect::<Vec<_>>().join(" "), expected, "{text}");
    }

    #[test]
    fn messages_about_files_name_what_was_refused() {
        for (line, target) in [
            (
                "FileNotFoundError: [Errno 2] No such file or directory: '/data/a.csv'",
                "read:/data/a.csv",
            ),
            ("cat: /data/b: No such file or directory", "read:/data/b"),
            (
                "Error: ENOENT: no such file or directory, open '/data/c.json'",
                "read:/data/c.json",
            ),
            (
                "OSError: [Errno 30] Read-only file system: '/data/out.txt'",
                "write:/data/out.txt",
            ),
            (
                "touch: cannot touch '/data/x': Read-only file system",
                "write:/data/x",
            ),
            (
                "/skills/todo/scripts/todo.sh: line 18: list.md: Read-only file system",
                "write:/work",
            ),
            (
                "/skills/todo/scripts/todo.sh: line 9: /data/y: Read-only file system",
                "write:/data/y",
            ),
            (
                "/bin/sh: 1: cannot create out.o: Read-only file system",
                "write:/work",
            ),
            (
                "/bin/sh: 1: cannot create /data/out.o: Read-only file system",
                "write:/data/out.o",
            ),
            ("/a/x.zsh:3: read-only file system: out.txt", "write:/work"),
            (
                "/usr/bin/touch: cannot touch 'x': Read-only file system",
                "write:/work",
            ),
            ("/data/z: Read-only file system", "write:/data/z"),
            (
                "a.sh: line 2: /data/my files/z.txt: Read-only file system",
                "write:/data/my files/z.txt",
            ),
            (
                "OSError: [Errno 30] Read-only file system: '/data/my files/a b'",
                "write:/data/my files/a b",
            ),
            (
                "Can't open /data/p: No such file or directory at /skills/a/b.pl line 2.",
                "read:/data/p",
            ),
            (
                "Cannot open: Read-only file system at /skills/a/b.pl line 1.",
                "write:/work",
            ),
            (
                "Error: ENOENT: no such file or directory, mkdir 'usage'",
                "write:/work",
            ),
            (
                "/bin/sh: 1: cannot create /data/new: Directory nonexistent",
                "write:/data/new",
            ),
            (
                "touch: cannot touch '/data/new': No such file or directory",
                "write:/data/new",
            ),
            (
                "Error: unable to open database \"/data/a.db\": unable to open database file",
                "write:/data/a.db",
            ),
        ] {
            check(line, target);
        }
        // Without namespaces a path outside exists.
        check(
            "PermissionError: [Errno 13] Permission denied: '/data/a.csv'",
            "read:/data/a.csv",
        );
        check(
            "touch: cannot touch '/data/x': Permission denied",
            "write:/data/x",
        );
        for line in [
            "ValueError: no such column: price",
            "No such file or directory: 'relative.csv'",
            "see https://example.com/No such file or directory",
            "/usr/bin/ls: none: No such file or directory",
            "",
        ] {
            check(line, "");
        }
    }

    #[test]
    fn a_missing_file_that_was_to_be_created_is_a_refused_write() {
        check(
            "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    open('/data/new.txt', 'w')\n    ~~~~^^^\nFileNotFoundError: [Errno 2] No such file or directory: '/data/new.txt'",
            "write:/data/new.txt",
        );
        check(
            "Error: ENOENT: no such file or directory, open '/data/new.txt'\n    at openSync (node:fs:562:18)\n    at writeFileSync (node:fs:2412:35)",
            "write:/data/new.txt",
        );
        check(
            "Traceback (most recent call last):\n    open('/data/new.txt')\nFileNotFoundError: [Errno 2] No such file or directory: '/data/new.txt'",
            "read:/data/new.txt",
        );
    }

    #[test]
    fn messages_about_interfaces_are_refused_lists() {
        for line in [
            "SystemError [ERR_SYSTEM_ERROR]: A system error occurred: uv_interface_addresses returned Unknown system error 1 (Unknown system error 1)",
            "route ip+net: netlinkrib: operation not permitted",
            "Cannot open netlink socket: Operation not permitted",
        ] {
            check(line, "list network interfaces");
        }
        check(
            "    sl = self._semlock = _multiprocessing.SemLock(",
            "create a semaphore for several processes",
        );
        for line in [
            "OSError: out of pty devices",
            "script: failed to create pseudo-terminal: Permission denied",
            "pexpect.exceptions.ExceptionPexpect: PermissionError: [Errno 13] Permission denied: '/dev/ptmx'",
        ] {
            check(line, "open a terminal");
        }
    }

    #[test]
    fn colors_of_messages_are_not_part_of_names() {
        let text = "\u{1b}[1;35mModuleNotFoundError\u{1b}[0m: \u{1b}[35mNo module named 'x'\u{1b}[0m\u{1b}[";
        assert_eq!(
            without_colors(text),
            "ModuleNotFoundError: No module named 'x'"
        );
    }

    #[test]
    fn messages_about_hosts_name_what_was_refused() {
        for line in [
            "curl: (6) Could not resolve host: api.example.com",
            "ssh: Could not resolve hostname api.example.com: Name or service not known",
            "Error: getaddrinfo ENOTFOUND api.example.com",
            "HTTPSConnectionPool(host='api.example.com', port=443): Max retries exceeded",
            "Cannot connect to host api.example.com:443 ssl:default [Name or service not known]",
            "Get \"https://x\": dial tcp: lookup api.example.com on 127.0.0.1:53: no such host",
        ] {
            check(line, "network:api.example.com");
        }
        for line in [
            "socket.gaierror: [Errno -2] Name or service not known",
            "TypeError: fetch failed",
        ] {
            check(line, "open a network connection");
        }
    }

    #[test]
    fn messages_of_interpreters_name_the_missing_package() {
        for (line, script_type, package) in [
            (
                "ModuleNotFoundError: No module named 'PIL.Image'",
                ScriptType::Python,
                Some("PIL.Image"),
            ),
            (
                "ERROR: python-pptx not installed. Install with: pip install python-pptx",
                ScriptType::Python,
                Some("python-pptx"),
            ),
            (
                "Error: Cannot find module 'docx'",
                ScriptType::Node,
                Some("docx"),
            ),
            (
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find package '@scope/x' imported from /a.mjs",
                ScriptType::Node,
                Some("@scope/x"),
            ),
            (
                "Error: Cannot find module './lib/own.js'",
                ScriptType::Node,
                None,
            ),
            (
                "Error: Cannot find module '/skills/a/lib.js'",
                ScriptType::Node,
                None,
            ),
            ("pip install -r requirements.txt", ScriptType::Python, None),
            (
                "run: pip3 install --user python-docx",
                ScriptType::Python,
                Some("python-docx"),
            ),
            ("No module named 'x'", ScriptType::Shell, None),
            ("ValueError: bad", ScriptType::Python, None),
        ] {
            assert_eq!(
                missing_package(line, script_type).as_deref(),
                package,
                "{line}"
            );
        }
    }

    #[test]
    fn missing_variables_are_told_from_other_missing_things() {
        let of_script = |text, script| missing_variable(text, script);
        let python = "  File \"<frozen os>\", line 714, in __getitem__\nKeyError: 'API_KEY'";
        for text in [
            python,
            "a.sh: line 3: API_KEY: unbound variable",
            "a.sh: 3: API_KEY: parameter not set",
            "Error: environment variable API_KEY is missing",
        ] {
            assert_eq!(of_script(text, ""), Some("API_KEY"), "{text}");
        }
        let required = "Error: API_KEY is required";
        assert_eq!(of_script(required, "process.env.API_KEY"), Some("API_KEY"));
        assert_eq!(
            of_script(required, "[ -n \"${API_KEY:-}\" ]"),
            Some("API_KEY")
        );
        for text in [
            "KeyError: 'API_KEY'",
            "Error: missing argument INPUT_FILE",
            required,
            "API_KEY=x was read",
            "the environment variable path is not set",
        ] {
            assert_eq!(of_script(text, "argument INPUT_FILE"), None, "{text}");
        }
    }

    #[test]
    fn missing_programs_are_told_from_other_missing_things() {
        for (text, program) in [
            (
                "a.sh: line 1: pdftotext: command not found",
                Some("pdftotext"),
            ),
            ("a.sh: 1: pdftotext: not found", Some("pdftotext")),
            ("Error: spawn pdftotext ENOENT", Some("pdftotext")),
            (
                "  File \"/usr/lib/python3.11/subprocess.py\", line 1, in _execute_child\nFileNotFoundError: [Errno 2] No such file or directory: 'pdftotext'",
                Some("pdftotext"),
            ),
            (
                "FileNotFoundError: [Errno 2] No such file or directory: 'pdftotext'",
                None,
            ),
            ("error: the key: not found", None),
            ("a.sh: 1: $(x): not found", None),
        ] {
            assert_eq!(missing_program(text), program, "{text}");
        }
    }
}

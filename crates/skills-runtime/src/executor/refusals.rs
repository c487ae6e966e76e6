//! Operations that restrictions stopped during a run, observed by the backend or reported in the
//! output.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use skills_policy::{Access, Grants, HostPattern, NetworkGrant};
use skills_sandbox::{Evidence, Refusal, Refusals, RefusedOperation, RunOutput};

/// The end of each stream that is read: programs report an error last.
const MAX_TEXT_BYTES: usize = 4_096;
/// The port for which a host without a port is granted.
const TLS_PORT: u16 = 443;
/// Directories that a run sees without a grant, so that a path in them is not missing a grant.
const SYSTEM_DIRECTORIES: [&str; 8] = [
    "/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/dev", "/tmp",
];

/// Returns what was refused. If the program failed, its output is read too: a path outside of what
/// it sees looks like a missing file to it, which no restriction can report.
///
/// Whether a path exists on the host is not checked: a skill could otherwise learn that by printing
/// names.
///
/// `current_dir` is the working directory, used when a message names no absolute path. `aliases` are
/// names under which the program knows directories.
pub(super) fn refusals(
    output: &RunOutput,
    grants: &Grants,
    current_dir: &str,
    aliases: &[(PathBuf, PathBuf)],
) -> Refusals {
    let mut refusals = output.refusals.clone();
    if output.termination.is_success() {
        return refusals;
    }
    for captured in [&output.stderr, &output.stdout] {
        let text = captured.text();
        let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_TEXT_BYTES));
        for line in text[start..].lines() {
            let operation = parse_message(line, current_dir);
            let operation = operation.map(|operation| without_alias(operation, aliases));
            if let Some(operation) = operation.filter(|operation| lacks_grant(operation, grants)) {
                refusals.add(Refusal::new(operation, Evidence::ProgramOutput));
            }
        }
    }
    refusals
}

/// Names the programs of a refused process: those that the skill requires and that were not granted.
/// The hint is then for them, and not for any program.
pub(super) fn name_programs(refusals: Refusals, dropped: &[String]) -> Refusals {
    let is_process = |refusal: &Refusal| refusal.operation == RefusedOperation::StartProcess;
    if dropped.is_empty() || !refusals.list().iter().any(is_process) {
        return refusals;
    }
    refusals.replace(is_process, |refusal| {
        let programs = dropped
            .iter()
            .map(|name| RefusedOperation::StartProgram { name: name.clone() });
        programs
            .map(|operation| Refusal::new(operation, refusal.evidence).count(refusal.count))
            .collect()
    })
}

/// Replaces the alias of a directory in the path of an operation: grants and rules are for its path on
/// the host, and a missing file in it was not refused.
fn without_alias(operation: RefusedOperation, aliases: &[(PathBuf, PathBuf)]) -> RefusedOperation {
    let on_host = |path: String| {
        let below = aliases.iter().find_map(|(alias, directory)| {
            let rest = Path::new(&path).strip_prefix(alias).ok()?;
            // Joining an empty path would leave a slash at the end.
            let host: PathBuf = directory.join(rest).components().collect();
            host.into_os_string().into_string().ok()
        });
        below.unwrap_or(path)
    };
    match operation {
        RefusedOperation::Read { path } => RefusedOperation::Read {
            path: on_host(path),
        },
        RefusedOperation::Write { path } => RefusedOperation::Write {
            path: on_host(path),
        },
        other => other,
    }
}

/// Returns the operation that a line of output says was refused.
fn parse_message(line: &str, current_dir: &str) -> Option<RefusedOperation> {
    const HOSTS: [&str; 4] = [
        "Could not resolve host: ",
        "getaddrinfo ENOTFOUND ",
        "unable to resolve host address ",
        "host='",
    ];
    if line.contains("Read-only file system") || line.contains("EROFS") {
        let path = absolute_path(without_script(line)).unwrap_or(current_dir);
        return Some(RefusedOperation::Write {
            path: path.to_owned(),
        });
    }
    // Node reports a directory that it cannot create on a read-only file system as missing.
    if line.contains("ENOENT") && line.contains(", mkdir '") {
        let path = absolute_path(line).unwrap_or(current_dir).to_owned();
        return Some(RefusedOperation::Write { path });
    }
    if line.contains("No such file or directory") || line.contains("ENOENT") {
        let path = absolute_path(line)?.to_owned();
        return Some(RefusedOperation::Read { path });
    }
    let host = HOSTS
        .iter()
        .find_map(|marker| line.split_once(marker))
        .map(|(_, rest)| rest)?;
    let is_host = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    let host = host.trim_start_matches(['\'', '"', '‘', '“']);
    let end = host.find(|c| !is_host(c)).unwrap_or(host.len());
    let host = host[..end].to_owned();
    (!host.is_empty()).then_some(RefusedOperation::Connect { host: Some(host) })
}

/// Returns a message of a shell without the path of its script: `/a.sh: line 3: out.txt: …`.
fn without_script(line: &str) -> &str {
    let after_script = line.split_once(": line ").and_then(|(_, rest)| {
        let (number, rest) = rest.split_once(": ")?;
        number.bytes().all(|b| b.is_ascii_digit()).then_some(rest)
    });
    after_script.unwrap_or(line)
}

/// Returns the last quoted or free-standing absolute path of a line, without what follows it.
fn absolute_path(line: &str) -> Option<&str> {
    let is_end = |c: char| c.is_whitespace() || "'\"`:,;()’‘”“".contains(c);
    let is_start = |previous: Option<char>| previous.is_none_or(is_end);
    line.char_indices()
        .filter(|(index, c)| *c == '/' && is_start(line[..*index].chars().next_back()))
        .map(|(index, _)| {
            let rest = &line[index..];
            &rest[..rest.find(is_end).unwrap_or(rest.len())]
        })
        .rfind(|path| path.len() > 1 && !path.starts_with("//"))
}

/// Returns true if the grants lack what the operation needs.
fn lacks_grant(operation: &RefusedOperation, grants: &Grants) -> bool {
    match operation {
        RefusedOperation::Connect { host: Some(host) } => match grants.network() {
            NetworkGrant::None => true,
            NetworkGrant::Hosts(hosts) => {
                !hosts.allows(host, TLS_PORT)
                    && !HostPattern::from_str(host)
                        .is_ok_and(|named| hosts.allowed().contains(&named))
            }
        },
        RefusedOperation::Read { path } => {
            let path = Path::new(path);
            grants.innermost_grant(path).is_none()
                && !SYSTEM_DIRECTORIES
                    .iter()
                    .any(|visible| path.starts_with(visible))
        }
        RefusedOperation::Write { path } => grants
            .innermost_grant(Path::new(path))
            .is_none_or(|grant| grant.access() != Access::ReadWrite),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_below_an_alias_is_that_of_the_host() {
        let aliases = [
            ("/workspace", "/home/ada/project"),
            ("/skills/pdf", "/s/pdf"),
        ];
        let aliases = aliases.map(|(alias, path)| (alias.into(), path.into()));
        for (path, host) in [
            ("/workspace/none.txt", "/home/ada/project/none.txt"),
            ("/workspace", "/home/ada/project"),
            ("/workspaces/x", "/workspaces/x"),
            ("/skills/pdf/a/b", "/s/pdf/a/b"),
            ("/skills/pdf2/a", "/skills/pdf2/a"),
        ] {
            let path = path.to_owned();
            let read = without_alias(RefusedOperation::Read { path }, &aliases);
            assert_eq!(read.target().unwrap().to_string(), format!("read:{host}"));
        }
    }

    #[test]
    fn messages_of_programs_name_what_was_refused() {
        let messages = [
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
                "Error: ENOENT: no such file or directory, mkdir 'usage'",
                "write:/work",
            ),
            (
                "curl: (6) Could not resolve host: api.example.com",
                "network:api.example.com",
            ),
            (
                "Error: getaddrinfo ENOTFOUND api.example.com",
                "network:api.example.com",
            ),
            (
                "HTTPSConnectionPool(host='a.example', port=443): Max retries exceeded",
                "network:a.example",
            ),
        ];
        for (line, target) in messages {
            let operation = parse_message(line, "/work").unwrap_or_else(|| panic!("{line}"));
            assert_eq!(operation.target().unwrap().to_string(), target, "{line}");
        }
        for line in [
            "ValueError: no such column: price",
            "No such file or directory: 'relative.csv'",
            "see https://example.com/No such file or directory",
            "",
        ] {
            assert_eq!(parse_message(line, "/work"), None, "{line}");
        }
    }
}

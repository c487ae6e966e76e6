//! The paths and hosts that a program names, as its user knows them.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use skills_policy::{
    Access, Grants, HostFilter, HostPattern, NetworkGrant, host_caution, innermost_protected_name,
    path_caution,
};
use skills_sandbox::{Refusal, Refusals, RefusedOperation, RunOutput};

use super::printed::{end_of, needs_namespaces, parse_read_only_paths};

/// The port for which a host without a port is granted.
const TLS_PORT: u16 = 443;
/// Directories that a run sees without a grant, so that a path in them is not missing a grant.
pub(super) const VISIBLE_DIRECTORIES: [&str; 7] =
    ["/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/dev"];
/// Directories in a home directory in which each program has its own.
const SHARED_DIRECTORIES: [&str; 4] = [".config", ".local/share", ".local/state", ".local"];

/// What explains the paths in messages of a program.
pub(crate) struct ProgramPaths<'a> {
    /// The working directory, for messages that name no absolute path.
    pub(crate) current_dir: &'a Path,
    /// The directory of the skill, which stays read-only also in a writable directory.
    pub(crate) skill_dir: Option<&'a Path>,
    /// Names under which the program knows directories.
    pub(crate) aliases: &'a [(PathBuf, PathBuf)],
    /// The home directory of the user, if it is known.
    pub(crate) user_home: Option<&'a Path>,
    /// What the caller passed to the program, as text.
    pub(crate) input: &'a str,
}

impl ProgramPaths<'_> {
    /// Returns why no rule is suggested for a refused operation, as a clause: it gives keys or
    /// control, or only the program names it, which can print anything. A protected path is then
    /// not suggested even if the caller passed it.
    pub(super) fn caution(&self, refusal: &Refusal, workspace: Option<&Path>) -> Option<String> {
        let is_claim = !refusal.evidence.is_observed();
        let (sensitive, is_known) = match &refusal.operation {
            RefusedOperation::Read { path } | RefusedOperation::Write { path } => {
                let on_host = expand_home(path, self.user_home);
                let in_workspace = workspace.is_some_and(|top| on_host.starts_with(top));
                let is_known = in_workspace
                    || self.is_in_skill(&on_host)
                    || Self::is_configuration(&on_host)
                    || self.is_passed(&on_host);
                (
                    path_caution(&on_host),
                    is_known && innermost_protected_name(&on_host, Path::new("/")).is_none(),
                )
            }
            RefusedOperation::Connect { host: Some(host) } => {
                (host_caution(host), self.is_passed_host(host))
            }
            _ => return None,
        };
        let unknown = (is_claim && !is_known).then_some("only the program names it");
        sensitive.or(unknown).map(str::to_owned)
    }

    /// Returns true for a file that a well-known program always reads, and whose absence it would
    /// accept: without namespaces it exists and cannot be opened.
    fn is_configuration(path: &Path) -> bool {
        path == Path::new("/etc/gitconfig")
    }

    /// Returns true for a path at or below one that the caller passed to the program.
    fn is_passed(&self, path: &Path) -> bool {
        self.passed_paths()
            .any(|named| named.components().count() > 1 && path.starts_with(&named))
    }

    /// Returns the words that the caller passed to the program, as absolute paths.
    fn passed_paths(&self) -> impl Iterator<Item = PathBuf> {
        // As whole words: `/home` is not named by `/home/me/a.csv`.
        let words = self
            .input
            .split(|c: char| c.is_whitespace() || "\"'=,;:()[]{}".contains(c));
        words
            .filter(|word| !word.is_empty())
            .map(|word| normalized(&self.current_dir.join(expand_home(word, self.user_home))))
    }

    /// Returns true for a host that the caller passed to the program, by itself or in a URL.
    fn is_passed_host(&self, host: &str) -> bool {
        // As a whole: `le.com` is not named by `https://example.com`.
        let mut words = self
            .input
            .split(|c: char| c.is_whitespace() || "\"'=,;()[]{}<>|".contains(c));
        let host = host.trim_end_matches('.');
        !host.is_empty() && words.any(|word| host_of(word).eq_ignore_ascii_case(host))
    }

    /// Returns true if a write to the directory of the skill was refused.
    pub(super) fn is_skill_written(&self, refusals: &Refusals) -> bool {
        let mut operations = refusals.list().iter().map(|refusal| &refusal.operation);
        operations.any(|operation| match operation {
            RefusedOperation::Write { path } => self.is_in_skill(Path::new(path)),
            _ => false,
        })
    }

    /// Returns the paths on the host, absolute, that messages about a read-only file system name.
    pub(super) fn read_only_claims(&self, output: &RunOutput) -> Vec<PathBuf> {
        let texts = [&output.stderr, &output.stdout].map(end_of);
        let named = texts.iter().flat_map(|text| parse_read_only_paths(text));
        let on_host = named.map(|path| {
            let path = join(self.current_dir, Path::new(path))?;
            let operation = self.on_host(RefusedOperation::Write { path }, output);
            operation.object().map(PathBuf::from)
        });
        on_host.flatten().collect()
    }

    /// Returns true for a path in the directory of the skill.
    pub(super) fn is_in_skill(&self, path: &Path) -> bool {
        self.skill_dir.is_some_and(|skill| path.starts_with(skill))
    }

    /// Returns an operation with the path by which a user knows a file: that on the host, and `~`
    /// for the home directory. Grants and rules are for these, and a missing file in an alias was
    /// not refused.
    pub(super) fn on_host(
        &self,
        operation: RefusedOperation,
        output: &RunOutput,
    ) -> RefusedOperation {
        let home = output.private_home.as_ref();
        let is_write = matches!(operation, RefusedOperation::Write { .. });
        operation.map_path(|path| {
            if let Some(home) = home
                && let Ok(below) = Path::new(path).strip_prefix(&home.path)
                && below
                    .components()
                    .all(|part| matches!(part, Component::Normal(_)))
            {
                // A program that creates one file in its directory there creates others next.
                return match below.to_str() {
                    Some(below) if is_write => format!("~/{}", kept_path(below)),
                    _ => join(Path::new("~"), below).unwrap_or_else(|| path.to_owned()),
                };
            }
            let below = self.aliases.iter().find_map(|(alias, directory)| {
                join(directory, Path::new(path).strip_prefix(alias).ok()?)
            });
            below.unwrap_or_else(|| path.to_owned())
        })
    }

    /// Returns true if the grants lack what the operation needs.
    pub(super) fn lacks_grant(
        &self,
        operation: &RefusedOperation,
        grants: &Grants,
        output: &RunOutput,
    ) -> bool {
        match operation {
            RefusedOperation::Connect { host: None } => *grants.network() == NetworkGrant::None,
            RefusedOperation::Connect { host: Some(host) } => match grants.network() {
                NetworkGrant::None => true,
                NetworkGrant::Hosts(hosts) => !is_granted(hosts, host),
            },
            RefusedOperation::Read { path } => {
                let on_host = &*expand_home(path, self.user_home);
                grants.innermost_grant(on_host).is_none()
                    && (Self::is_configuration(on_host)
                        || !VISIBLE_DIRECTORIES
                            .iter()
                            .any(|visible| on_host.starts_with(visible)))
                    && !self.is_own_scratch(Path::new(path), output)
            }
            RefusedOperation::Write { path } if self.is_in_skill(Path::new(path)) => true,
            RefusedOperation::Write { path } => {
                match grants.deciding_grant(&expand_home(path, self.user_home)) {
                    Some(grant) => grant.access() != Access::ReadWrite,
                    None => !self.is_own_scratch(Path::new(path), output),
                }
            }
            RefusedOperation::NeverAllowed(never) => {
                !(needs_namespaces(never) && has_namespaces(output))
            }
            _ => false,
        }
    }

    /// Returns true for a path in the scratch space of the run, unless the caller passed it to the
    /// program: it then is one of the host.
    fn is_own_scratch(&self, path: &Path, output: &RunOutput) -> bool {
        let home = output.private_home.as_ref().map(|home| home.path.as_path());
        let scratch = home.and_then(Path::parent).unwrap_or(Path::new("/tmp"));
        let is_passed = || {
            let in_scratch = |named: &PathBuf| named != scratch && named.starts_with(scratch);
            let mut passed = self.passed_paths().filter(in_scratch);
            passed.any(|named| path.starts_with(named))
        };
        path.starts_with(scratch) && !is_passed()
    }
}

/// Returns a path as an absolute one if it begins with `~/` and the home directory is known.
pub(super) fn expand_home<'a>(path: &'a str, user_home: Option<&Path>) -> Cow<'a, Path> {
    match (path.strip_prefix("~/"), user_home) {
        (Some(below), Some(home)) => home.join(below).into(),
        _ => Path::new(path).into(),
    }
}

/// Returns the host of a URL, or of a word such as `user@host:port/path`; empty if there is none.
fn host_of(word: &str) -> &str {
    let after_scheme = word.split_once("://").map_or(word, |(_, rest)| rest);
    let authority = after_scheme.split(['/', '\\', '?', '#']).next();
    let host = authority.and_then(|authority| authority.rsplit('@').next());
    let host = host.and_then(|host| host.split(':').next());
    host.unwrap_or_default().trim_end_matches('.')
}

/// Returns a path without `.` and `..`. It is compared only, never opened.
pub(super) fn normalized(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(resolved.pop()),
            component => resolved.push(component),
        }
    }
    resolved
}

/// Joins a path without the slash at the end that an empty one would leave.
fn join(directory: &Path, below: &Path) -> Option<String> {
    let path: PathBuf = directory.join(below).components().collect();
    path.into_os_string().into_string().ok()
}

/// Returns true if a host is granted, by a rule with or without a port.
pub(super) fn is_granted(hosts: &HostFilter, host: &str) -> bool {
    hosts.allows(host, TLS_PORT)
        || HostPattern::from_str(host).is_ok_and(|named| hosts.allowed().contains(&named))
}

/// Returns the directory of a program in a home directory, with a slash at its end, or the file if it
/// is in none. A path that does not exist is created as its slash says.
pub(super) fn kept_path(file: &str) -> String {
    let path = Path::new(file);
    let length = shared_length(path) + 1;
    let kept: PathBuf = path.components().take(length).collect();
    let mut kept = kept.to_string_lossy().into_owned();
    if path.components().count() > length {
        kept.push('/');
    }
    kept
}

/// Returns true if the program had namespaces of its own.
fn has_namespaces(output: &RunOutput) -> bool {
    output.enforcement.field_value("isolation") == Some("namespaces")
}

/// Returns how many components of a path are a directory in which each program has its own.
fn shared_length(path: &Path) -> usize {
    let shared = SHARED_DIRECTORIES
        .iter()
        .find(|shared| path.starts_with(shared));
    shared.map_or(0, |shared| Path::new(shared).components().count())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use skills_sandbox::{CapturedOutput, EnforcementReport, Evidence, PrivateHome, Termination};

    use super::*;

    fn paths_of_input(input: &str) -> ProgramPaths<'_> {
        ProgramPaths {
            current_dir: Path::new("/"),
            skill_dir: None,
            aliases: &[],
            user_home: None,
            input,
        }
    }

    fn output() -> RunOutput {
        RunOutput::new(
            Termination::Exited { code: 1 },
            CapturedOutput::default(),
            CapturedOutput::default(),
            Duration::ZERO,
            EnforcementReport::new("test"),
        )
        .private_home(PrivateHome::new("/tmp/home"))
    }

    #[test]
    fn a_part_of_a_passed_host_is_not_suggested() {
        let is_suggested = |input: &str, host: &str| {
            let host = Some(host.to_owned());
            let operation = RefusedOperation::Connect { host };
            let claim = Refusal::new(operation, Evidence::ProgramOutput);
            paths_of_input(input).caution(&claim, None).is_none()
        };
        for input in [
            "example.com",
            "https://Example.com./x",
            "--url=https://me:secret@example.com:8443?x",
            r#"{"url": "http://example.com/a"}"#,
            "git@example.com:a/b",
        ] {
            assert!(is_suggested(input, "example.com"), "{input}");
            for part in ["le.com", "com", "example", "x", "a", "me", "https", ""] {
                assert!(!is_suggested(input, part), "{input} {part}");
            }
        }
        assert!(!is_suggested("https://example.com/evil.test", "evil.test"));
    }

    /// Git fails if it cannot open this file, which exists without namespaces.
    #[test]
    fn the_configuration_of_git_is_suggested() {
        let paths = paths_of_input("");
        for (path, is_suggested) in [("/etc/gitconfig", true), ("/etc/shadow", false)] {
            let path = path.to_owned();
            let read = RefusedOperation::Read { path };
            assert_eq!(
                paths.lacks_grant(&read, &Grants::none(), &output()),
                is_suggested
            );
            let refusal = Refusal::new(read, Evidence::ProgramOutput);
            assert_eq!(paths.caution(&refusal, None).is_none(), is_suggested);
        }
    }

    /// With namespaces a program has terminals and semaphores of its own.
    #[test]
    fn a_terminal_is_refused_without_namespaces_only() {
        let paths = paths_of_input("");
        for text in ["cannot open /dev/ptmx", "_multiprocessing.SemLock("] {
            let operations = super::super::printed::parse_messages(text, "/work");
            for (isolation, is_refused) in [("landlock", true), ("namespaces", false)] {
                let mut output = output();
                output.enforcement = output.enforcement.field("isolation", isolation);
                let is_explained = paths.lacks_grant(&operations[0], &Grants::none(), &output);
                assert_eq!(is_explained, is_refused, "{text} {isolation}");
            }
        }
    }

    #[test]
    fn a_part_of_a_passed_path_is_in_the_scratch_space() {
        let is_own = |input: &str, path: &str| {
            paths_of_input(input).is_own_scratch(Path::new(path), &output())
        };
        assert!(!is_own("--in=/tmp/data.csv", "/tmp/data.csv"));
        assert!(!is_own("/tmp/data", "/tmp/data/a.csv"));
        assert!(is_own("/tmp/data.csv", "/tmp/dat"));
        assert!(is_own("/tmp/data.csv", "/tmp"));
        assert!(is_own("/tmp", "/tmp/other"));
    }

    #[test]
    fn no_rule_lifts_a_protection_because_a_program_says_so() {
        let caution = |path: &str, evidence| {
            let path = path.to_owned();
            let refusal = Refusal::new(RefusedOperation::Write { path }, evidence);
            paths_of_input("/work").caution(&refusal, Some(Path::new("/work")))
        };
        assert!(caution("/work/.git/hooks/x", Evidence::ProgramOutput).is_some());
        assert!(caution("/work/sub/.venv/bin/x", Evidence::ProgramOutput).is_some());
        assert!(caution("/work/out.txt", Evidence::ProgramOutput).is_none());
        assert!(caution("/work/sub/.venv/bin/x", Evidence::Wasi).is_none());
    }

    #[test]
    fn paths_are_those_by_which_a_user_knows_the_file() {
        let aliases = [
            ("/workspace", "/home/ada/project"),
            ("/skills/pdf", "/s/pdf"),
        ];
        let aliases = aliases.map(|(alias, path)| (alias.into(), path.into()));
        let paths = ProgramPaths {
            aliases: &aliases,
            ..paths_of_input("")
        };
        for (path, host) in [
            ("/workspace/none.txt", "/home/ada/project/none.txt"),
            ("/workspace", "/home/ada/project"),
            ("/workspaces/x", "/workspaces/x"),
            ("/skills/pdf/a/b", "/s/pdf/a/b"),
            ("/skills/pdf2/a", "/skills/pdf2/a"),
            ("/tmp/home/.config/a.json", "~/.config/a.json"),
            ("/tmp/homes", "/tmp/homes"),
        ] {
            let path = path.to_owned();
            let read = paths.on_host(RefusedOperation::Read { path }, &output());
            assert_eq!(read.object(), Some(host));
        }
    }
}

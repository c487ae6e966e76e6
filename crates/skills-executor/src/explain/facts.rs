//! What is known about a run.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use skills_sandbox::{ChangedKeyLink, Evidence, RefusedOperation};

use crate::redaction::Redactor;

/// What is known about a run that can explain its result, and who observed it.
///
/// [`Display`](fmt::Display) writes it as one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Fact {
    /// Who observed it. What only the output of the program says can be wrong.
    pub observer: Evidence,
    /// Whether it is likely to explain the result. Programs also try what they do without.
    pub is_relevant: bool,
    /// What is known.
    #[serde(flatten)]
    pub kind: FactKind,
}

/// What is known about a run. Serialized with its name in kebab case as `kind`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FactKind {
    /// A restriction stopped an operation.
    Refused(RefusedFact),
    /// A run failed in a writable directory with protected paths, which were read-only.
    ReadOnlyPaths {
        /// At most four protected paths.
        paths: Vec<PathBuf>,
        /// The number of further ones.
        omitted: usize,
    },
    /// Files and directories in granted directories that may hold keys were not shared with the
    /// program.
    WithheldKeys {
        /// At most four paths.
        paths: Vec<PathBuf>,
        /// The number of further ones.
        omitted: usize,
    },
    /// Symlinks that alone mark their targets as files with keys were removed, renamed or changed during
    /// the run.
    ChangedKeyLinks {
        /// At most four symlinks with their targets.
        links: Vec<ChangedKeyLink>,
        /// The number of further ones.
        omitted: usize,
    },
    /// The program left files in its private home directory, which is removed.
    PrivateHome {
        /// At most four files, relative to the home directory.
        files: Vec<String>,
        /// The number of further ones, of those that were counted.
        omitted: usize,
        /// The directories, with a slash at their end, and files to keep them, relative to the home
        /// directory. Protected ones are not among them.
        directories: Vec<String>,
    },
    /// The program wrote files into the directory of its skill, which are removed.
    DiscardedFiles {
        /// At most four files, relative to that directory.
        files: Vec<String>,
        /// The number of further ones, of those that were counted.
        omitted: usize,
        /// Whether the run had a workspace.
        has_workspace: bool,
    },
    /// The program tried to write into the directory of its skill.
    SkillIsReadOnly {
        /// Whether the run had a workspace.
        has_workspace: bool,
    },
    /// Files that other programs execute, such as a `Makefile`, were created or changed during the
    /// run, or may have been.
    ExecutedFiles {
        /// The files by program. Those with changed files are first.
        programs: Vec<ProgramFiles>,
        /// Whether all writable directories were searched.
        is_complete: bool,
    },
    /// The program resolved the names of granted hosts itself, so it does not use the proxy, by which
    /// alone they can be reached.
    IgnoredProxy {
        /// At most four hosts.
        hosts: Vec<String>,
    },
}

/// An operation that a restriction stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RefusedFact {
    /// What was tried.
    #[serde(flatten)]
    pub operation: RefusedOperation,
    /// How often it was tried; at least 1.
    pub count: u32,
    /// What would allow it.
    pub allowed_by: Allowance,
}

/// What would allow a refused operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Allowance {
    /// This rule, the narrowest one, in the syntax of rules.
    Rule(String),
    /// Only a rule with a name that is not known: of the host, or of the program because another rule
    /// denies one program, and so all programs without a name.
    NamedRule,
    /// No rule of the user, for this reason, as a clause.
    Nothing(String),
    /// A rule that no message suggests, for this reason, as a clause: it gives keys or control, or only
    /// the program names it.
    Unsuggested(String),
    /// A limit decides.
    Limit,
}

/// Files that one program executes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProgramFiles {
    /// The program, for users.
    pub program: &'static str,
    /// The number of files.
    pub count: usize,
    /// At most two of the paths, changed files and outer ones first; relative to the workspace if
    /// they are in it. None beyond the first 20 programs.
    pub examples: Vec<String>,
}

impl Fact {
    /// A fact that the runtime knows from files and settings of the host.
    pub(super) fn of_runtime(kind: FactKind) -> Self {
        Self {
            observer: Evidence::Runtime,
            is_relevant: true,
            kind,
        }
    }

    pub(super) fn redact(&mut self, redactor: &Redactor) {
        match &mut self.kind {
            FactKind::Refused(refused) => refused.redact(redactor),
            FactKind::ReadOnlyPaths { paths, .. } | FactKind::WithheldKeys { paths, .. } => {
                paths
                    .iter_mut()
                    .for_each(|path| redact_path(path, redactor));
            }
            FactKind::ChangedKeyLinks { links, .. } => {
                for link in links {
                    redact_path(&mut link.link, redactor);
                    redact_path(&mut link.target, redactor);
                }
            }
            FactKind::PrivateHome {
                files, directories, ..
            } => {
                redactor.redact_all(files);
                redactor.redact_all(directories);
            }
            FactKind::DiscardedFiles { files, .. } => redactor.redact_all(files),
            FactKind::IgnoredProxy { hosts } => redactor.redact_all(hosts),
            FactKind::ExecutedFiles { programs, .. } => {
                let names = programs
                    .iter_mut()
                    .flat_map(|program| &mut program.examples);
                redactor.redact_all(names);
            }
            FactKind::SkillIsReadOnly { .. } => {}
        }
    }
}

impl RefusedFact {
    /// Returns the rule that allows it, in the syntax of rules; `None` if there is none, or none that
    /// is suggested.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        match &self.allowed_by {
            Allowance::Rule(rule) => Some(rule),
            _ => None,
        }
    }

    fn redact(&mut self, redactor: &Redactor) {
        redactor.redact_all(self.operation.text_mut());
        if let Allowance::Rule(text) | Allowance::Nothing(text) | Allowance::Unsuggested(text) =
            &mut self.allowed_by
        {
            *text = redactor.redact_text(text);
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FactKind::Refused(refused) => write_refused(f, refused, self.observer),
            FactKind::ReadOnlyPaths { paths, omitted } => {
                let names = paths.iter().map(|path| path.display().to_string());
                write_names(f, names, *omitted)?;
                f.write_str(
                    " stayed read-only: protected paths, which other programs execute or trust (the failed write was reported by the program, not verified)",
                )
            }
            FactKind::WithheldKeys { paths, omitted } => {
                let names = paths.iter().map(|path| path.display().to_string());
                write_names(f, names, *omitted)?;
                f.write_str(
                    " may hold keys and cannot be opened by the program; only a rule or an approval to read that very path shares it",
                )
            }
            FactKind::ChangedKeyLinks { links, omitted } => {
                f.write_str(
                    "symlinks to files with keys were removed, renamed or changed during the run: ",
                )?;
                for (index, changed) in links.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    let (link, target) = (changed.link.display(), changed.target.display());
                    write!(f, "{separator}`{link}` (to `{target}`)")?;
                }
                write_omitted(f, *omitted)?;
                f.write_str(
                    "; their targets are no longer recognized as files with keys, so later runs can read them",
                )
            }
            FactKind::PrivateHome { files, omitted, .. } => {
                f.write_str("wrote ")?;
                write_names(f, files.iter().map(|file| format!("~/{file}")), *omitted)?;
                f.write_str(" into the private home directory of the run, which is removed")
            }
            FactKind::DiscardedFiles { files, omitted, .. } => {
                f.write_str("wrote ")?;
                write_names(f, files.iter().cloned(), *omitted)?;
                f.write_str(" into the directory of the skill, which stays as it was")
            }
            FactKind::SkillIsReadOnly { has_workspace } => f.write_str(if *has_workspace {
                "the program can write to its workspace"
            } else {
                "a program needs a workspace to write files"
            }),
            FactKind::ExecutedFiles {
                programs,
                is_complete,
            } => write_executed(f, programs, *is_complete),
            FactKind::IgnoredProxy { hosts } => {
                f.write_str("the program looked up ")?;
                write_names(f, hosts.iter().cloned(), 0)?;
                f.write_str(
                    " itself, so it does not use the proxy of the sandbox (`HTTPS_PROXY`), by which alone granted hosts are reached",
                )
            }
        }
    }
}

/// Writes an operation. A program can print anything, so what only its output says is not stated as a
/// fact.
fn write_refused(
    f: &mut fmt::Formatter<'_>,
    refused: &RefusedFact,
    observer: Evidence,
) -> fmt::Result {
    write!(f, "{}", refused.operation)?;
    if !observer.is_observed() {
        // It looks like a missing file to the program, and may be one.
        if matches!(refused.operation, RefusedOperation::Read { .. }) {
            f.write_str(", which is not visible to this run")?;
        }
        f.write_str(" (reported by the program, not verified)")?;
    }
    match &refused.allowed_by {
        Allowance::Nothing(reason) => write!(f, "; no option allows it: {reason}"),
        Allowance::Unsuggested(reason) => write!(f, "; no option is suggested: {reason}"),
        Allowance::Rule(_) | Allowance::NamedRule | Allowance::Limit => Ok(()),
    }
}

fn write_executed(
    f: &mut fmt::Formatter<'_>,
    programs: &[ProgramFiles],
    is_complete: bool,
) -> fmt::Result {
    if programs.is_empty() {
        return f.write_str(
            "files that other programs execute may have been created or changed during the run: not all files were searched",
        );
    }
    f.write_str("files that other programs execute were created or changed during the run: ")?;
    for (index, files) in programs.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        f.write_str(separator)?;
        match (files.examples.len(), files.count) {
            (0, 1) => f.write_str("1 file")?,
            (0, count) => write!(f, "{count} files")?,
            (named, count) => {
                write_names(
                    f,
                    files.examples.iter().cloned(),
                    count.saturating_sub(named),
                )?;
            }
        }
        write!(f, " ({})", files.program)?;
    }
    if is_complete {
        Ok(())
    } else {
        f.write_str("; the list is incomplete, since not all files were searched")
    }
}

fn write_names(
    f: &mut fmt::Formatter<'_>,
    names: impl Iterator<Item = String>,
    omitted: usize,
) -> fmt::Result {
    for (index, name) in names.enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        write!(f, "{separator}`{name}`")?;
    }
    write_omitted(f, omitted)
}

fn write_omitted(f: &mut fmt::Formatter<'_>, omitted: usize) -> fmt::Result {
    match omitted {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}

/// Returns a path with the values of secrets redacted. One that shows no secret stays as it is, also if
/// it is not UTF-8.
pub(super) fn redact_path(path: &mut PathBuf, redactor: &Redactor) {
    let text = path.to_string_lossy();
    let redacted = redactor.redact_text(&text);
    if redacted != text {
        *path = redacted.into();
    }
}

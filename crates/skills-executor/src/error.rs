//! The error type of this crate.

use std::error::Error as _;
use std::path::PathBuf;

use skills_audit::AuditError;
use skills_library::{LibraryError, LibraryErrorKind};
use skills_sandbox::SandboxError;

use crate::ExecutionArtifacts;

/// Error of an operation on a skill: it was not found, cannot be read, or could not be started.
///
/// Branch on [`kind`](Self::kind); the message is for users and can change. A program that ran and
/// failed is not an error, but a result with a status in [`ExecutionArtifacts`].
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct RuntimeError(Box<Repr>);

impl From<Repr> for RuntimeError {
    fn from(repr: Repr) -> Self {
        // In a box, since results are moved often and errors are rare.
        Self(Box::new(repr))
    }
}

impl RuntimeError {
    /// Returns the message, followed by those of all sources.
    #[must_use]
    pub fn message_with_sources(&self) -> String {
        let sources = std::iter::successors(self.source(), |&error| error.source());
        sources.fold(self.to_string(), |text, error| format!("{text}: {error}"))
    }

    /// Returns the class of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match &*self.0 {
            Repr::Library(error) => error.kind().into(),
            Repr::NothingToRun { .. } => ErrorKind::NothingToRun,
            Repr::UnknownProgram { .. } => ErrorKind::UnknownProgram,
            Repr::AmbiguousScript { .. } => ErrorKind::AmbiguousScript,
            Repr::MissingRequirements { .. } => ErrorKind::MissingRequirements,
            Repr::ContentChanged { .. } => ErrorKind::ContentChanged,
            Repr::Symlink { .. } => ErrorKind::Symlink,
            Repr::OptionalPath { .. }
            | Repr::ContainsScratch { .. }
            | Repr::ProgramInput { .. } => ErrorKind::FileAccess,
            Repr::Audit(_) | Repr::AuditAfterRun { .. } => ErrorKind::Audit,
            Repr::Approval(_) => ErrorKind::Approval,
            Repr::Hook { .. } => ErrorKind::NothingToRun,
            Repr::Cancelled => ErrorKind::Cancelled,
            Repr::Closed => ErrorKind::Sandbox,
            Repr::Sandbox(_) => ErrorKind::Sandbox,
            #[cfg(all(feature = "packages", unix))]
            Repr::Packages(_) | Repr::PackageDenied { .. } | Repr::NoPackages => {
                ErrorKind::Packages
            }
        }
    }

    /// Returns suggestions: similar names, best first, for an unknown skill; directories for an
    /// ambiguous one; all scripts for an unknown or ambiguous script; the scripts in directories of
    /// `scripts/` if it has no other; the missing requirements.
    #[must_use]
    pub fn suggestions(&self) -> &[String] {
        match &*self.0 {
            Repr::Library(error) => error.suggestions(),
            Repr::MissingRequirements { missing, .. } => missing,
            Repr::UnknownProgram { candidates, .. }
            | Repr::AmbiguousScript { candidates, .. }
            | Repr::NothingToRun { candidates, .. } => candidates,
            _ => &[],
        }
    }

    /// Returns the files of a skill without the program that look like scripts and cannot run, at most
    /// 8, each as a line with its path and the reason. The paths are those of the skill's author.
    #[must_use]
    pub fn unusable_scripts(&self) -> &[String] {
        match &*self.0 {
            Repr::UnknownProgram { unusable, .. } | Repr::NothingToRun { unusable, .. } => unusable,
            _ => &[],
        }
    }

    /// Returns what to do about the error, if known.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match &*self.0 {
            Repr::Sandbox(error) => error.hint(),
            #[cfg(all(feature = "packages", unix))]
            Repr::Packages(error) => error.help(),
            Repr::AmbiguousScript { .. } => {
                Some("select one by name, or with `action` in the input")
            }
            Repr::ContainsScratch { .. } => {
                Some("grant a narrower directory, or set TMPDIR to another directory")
            }
            _ => None,
        }
    }

    /// Returns true if the policy refuses a run with missing requirements, whatever
    /// [`OnMissing`](skills_library::OnMissing) is set to.
    #[must_use]
    pub fn is_refused_by_policy(&self) -> bool {
        matches!(
            *self.0,
            Repr::MissingRequirements {
                by_policy: true,
                ..
            }
        )
    }

    /// Returns the artifacts of a run whose audit record could not be written.
    #[must_use]
    pub fn artifacts(&self) -> Option<&ExecutionArtifacts> {
        match &*self.0 {
            Repr::AuditAfterRun { artifacts, .. } => Some(artifacts),
            _ => None,
        }
    }

    /// Returns the error of the sandbox backend, if that is the cause.
    #[must_use]
    pub fn sandbox(&self) -> Option<&SandboxError> {
        match &*self.0 {
            Repr::Sandbox(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(all(feature = "packages", unix))]
impl From<skills_deps::SetupError> for RuntimeError {
    fn from(error: skills_deps::SetupError) -> Self {
        Repr::Packages(error).into()
    }
}

impl From<LibraryError> for RuntimeError {
    fn from(error: LibraryError) -> Self {
        Repr::Library(error).into()
    }
}

impl From<SandboxError> for RuntimeError {
    fn from(error: SandboxError) -> Self {
        Repr::Sandbox(error).into()
    }
}

/// The classes of [`RuntimeError`].
///
/// New classes can be added. The string of [`code`](Self::code) is stable and appears in JSON
/// output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No skill has this name.
    UnknownSkill,
    /// Several skills have this name.
    AmbiguousSkill,
    /// The skill is inactive: untrusted, disabled, or for other products.
    InactiveSkill,
    /// The skill is not model-invocable; users can still name it.
    NotModelInvocable,
    /// The skill has no script and no WebAssembly module.
    NothingToRun,
    /// The skill does not have the requested program.
    UnknownProgram,
    /// The skill has several scripts and none was selected.
    AmbiguousScript,
    /// A file of the skill cannot be read, or a granted path cannot be used.
    FileAccess,
    /// The skill declares a restriction that cannot be parsed.
    InvalidRestriction,
    /// A declared requirement is missing.
    MissingRequirements,
    /// The skill changed after it was authorized; nothing ran.
    ContentChanged,
    /// A granted path contains a symlink; nothing ran.
    Symlink,
    /// The audit record cannot be written.
    Audit,
    /// An approval cannot be stored.
    Approval,
    /// The run was [cancelled](skills_sandbox::CancellationToken) before it started.
    Cancelled,
    /// The sandbox backend failed or is unavailable, or the system has no random bytes; nothing ran.
    /// See [`RuntimeError::sandbox`].
    Sandbox,
    /// Packages that the skill declares cannot be planned or installed; nothing ran.
    Packages,
}

impl From<LibraryErrorKind> for ErrorKind {
    fn from(kind: LibraryErrorKind) -> Self {
        match kind {
            LibraryErrorKind::UnknownSkill => Self::UnknownSkill,
            LibraryErrorKind::AmbiguousSkill => Self::AmbiguousSkill,
            LibraryErrorKind::InactiveSkill => Self::InactiveSkill,
            LibraryErrorKind::NotModelInvocable => Self::NotModelInvocable,
            LibraryErrorKind::InvalidRestriction => Self::InvalidRestriction,
            LibraryErrorKind::ContentChanged => Self::ContentChanged,
            LibraryErrorKind::Random => Self::Sandbox,
            // New kinds as well, until they have a class of their own.
            _ => Self::FileAccess,
        }
    }
}

impl ErrorKind {
    /// Returns the stable code of this class, as in JSON output.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::UnknownSkill => "unknown-skill",
            Self::AmbiguousSkill => "ambiguous-skill",
            Self::InactiveSkill => "inactive-skill",
            Self::NotModelInvocable => "not-model-invocable",
            Self::NothingToRun => "no-program",
            Self::UnknownProgram => "unknown-program",
            Self::AmbiguousScript => "ambiguous-script",
            Self::FileAccess => "files",
            Self::InvalidRestriction => "restriction-unread",
            Self::MissingRequirements => "requirements",
            Self::ContentChanged => "changed",
            Self::Symlink => "symlink",
            Self::Audit => "audit",
            Self::Cancelled => "cancelled",
            Self::Approval => "approval",
            Self::Sandbox => "sandbox",
            Self::Packages => "setup-failed",
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error(transparent)]
    Library(LibraryError),
    #[error(
        "cannot run skill `{skill}`: no `.wasm` in its directory or `wasm/`, and no script in its directory or `scripts/`"
    )]
    NothingToRun {
        skill: String,
        /// Scripts below directories of `scripts/`, which have to be named.
        candidates: Vec<String>,
        /// Files that cannot run, one line each.
        unusable: Vec<String>,
    },
    #[error("skill `{skill}` has no script `{program}`")]
    UnknownProgram {
        skill: String,
        program: String,
        candidates: Vec<String>,
        unusable: Vec<String>,
    },
    #[error("cannot select a program of skill `{skill}`: it has several scripts")]
    AmbiguousScript {
        skill: String,
        candidates: Vec<String>,
    },
    #[error("skill `{skill}` has missing requirements: {}", missing.join("; "))]
    MissingRequirements {
        skill: String,
        missing: Vec<String>,
        /// Whether the policy refuses them, so that no option of a run allows it.
        by_policy: bool,
    },
    #[error("skill `{skill}` ({}) changed after it was authorized; nothing ran", path.display())]
    ContentChanged { skill: String, path: PathBuf },
    #[error("cannot read the standard input of the program")]
    ProgramInput { source: std::io::Error },
    #[error("cannot use `{}` as a granted path", path.display())]
    OptionalPath {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot grant `{}`: it contains a symlink; nothing ran", path.display())]
    Symlink { path: PathBuf },
    #[error(
        "cannot grant `{}`: it contains `{}`, the directory of private copies and workspaces of other runs",
        path.display(), scratch.display()
    )]
    ContainsScratch { path: PathBuf, scratch: PathBuf },
    #[error("cannot write the audit record")]
    Audit(#[source] AuditError),
    #[error("cannot write the audit record of a finished run")]
    AuditAfterRun {
        source: AuditError,
        artifacts: Box<ExecutionArtifacts>,
    },
    #[error("cannot store the approval")]
    Approval(#[source] skills_policy::BoxError),
    #[error("{reason}")]
    Hook { reason: &'static str },
    #[error("cancelled before the run started")]
    Cancelled,
    #[error("the runtime is shut down")]
    Closed,
    #[error(transparent)]
    Sandbox(SandboxError),
    #[cfg(all(feature = "packages", unix))]
    #[error(transparent)]
    Packages(skills_deps::SetupError),
    #[cfg(all(feature = "packages", unix))]
    #[error("cannot install packages: {reason}")]
    PackageDenied { reason: String },
    #[cfg(all(feature = "packages", unix))]
    #[error("cannot install packages: the runtime has no store for them")]
    NoPackages,
}

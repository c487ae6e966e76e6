//! The one error of this crate: a skill that cannot be had or run.

use std::path::{Path, PathBuf};

use skills_audit::AuditError;
use skills_discovery::{DiscoveryError, InactiveReason};
use skills_sandbox::SandboxError;

use crate::ExecutionArtifacts;

/// Says why a skill cannot be had or run. A program that ran and failed is no error.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct RuntimeError(#[from] Repr);

impl RuntimeError {
    /// Returns the class of the error, to branch on.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match &self.0 {
            Repr::UnknownSkill { .. } => ErrorKind::UnknownSkill,
            Repr::AmbiguousSkill { .. } => ErrorKind::AmbiguousSkill,
            Repr::InactiveSkill { .. } => ErrorKind::InactiveSkill,
            Repr::NotModelInvocable { .. } => ErrorKind::NotModelInvocable,
            Repr::NothingToRun { .. } => ErrorKind::NothingToRun,
            Repr::UnknownProgram { .. } => ErrorKind::UnknownProgram,
            Repr::AmbiguousScript { .. } => ErrorKind::AmbiguousScript,
            Repr::FileAccess { .. } => ErrorKind::FileAccess,
            Repr::InvalidRestriction { .. } => ErrorKind::InvalidRestriction,
            Repr::MissingRequirements { .. } => ErrorKind::MissingRequirements,
            Repr::ContentChanged { .. } => ErrorKind::ContentChanged,
            Repr::Symlink { .. } => ErrorKind::Symlink,
            Repr::OptionalPath { .. } | Repr::ContainsScratch { .. } => ErrorKind::FileAccess,
            Repr::Audit(_) | Repr::AuditAfterRun { .. } => ErrorKind::Audit,
            Repr::Approval(_) => ErrorKind::Approval,
            Repr::Hook { .. } => ErrorKind::NothingToRun,
            Repr::Cancelled => ErrorKind::Cancelled,
            Repr::Closed => ErrorKind::Sandbox,
            Repr::Sandbox(_) => ErrorKind::Sandbox,
        }
    }

    /// Returns names to offer instead: the nearest skills, best first, for an unknown skill; all
    /// scripts for an unknown or ambiguous one; what is missing of the requirements.
    #[must_use]
    pub fn suggestions(&self) -> &[String] {
        match &self.0 {
            Repr::UnknownSkill { nearest, .. } => nearest,
            Repr::AmbiguousSkill { directories, .. } => directories,
            Repr::MissingRequirements { missing, .. } => missing,
            Repr::UnknownProgram { candidates, .. } | Repr::AmbiguousScript { candidates, .. } => {
                candidates
            }
            _ => &[],
        }
    }

    /// Returns what came of a program that ran although no record of it can be kept: it counts as
    /// failed, and nothing is lost.
    #[must_use]
    pub fn artifacts(&self) -> Option<&ExecutionArtifacts> {
        match &self.0 {
            Repr::AuditAfterRun { artifacts, .. } => Some(artifacts),
            _ => None,
        }
    }

    /// Returns the sandbox's own error, when that is the reason.
    #[must_use]
    pub fn sandbox(&self) -> Option<&SandboxError> {
        match &self.0 {
            Repr::Sandbox(error) => Some(error),
            _ => None,
        }
    }
}

impl From<SandboxError> for RuntimeError {
    fn from(error: SandboxError) -> Self {
        Repr::Sandbox(error).into()
    }
}

/// The classes of [`RuntimeError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No skill has this name.
    UnknownSkill,
    /// Several skills have this name.
    AmbiguousSkill,
    /// A skill has this name and is not used: untrusted, disabled, for other products.
    InactiveSkill,
    /// The skill is not for models to choose; users may name it.
    NotModelInvocable,
    /// The skill has nothing to run.
    NothingToRun,
    /// The skill does not have the program that was asked for.
    UnknownProgram,
    /// The skill has several scripts and none was chosen.
    AmbiguousScript,
    /// A file of the skill cannot be had.
    FileAccess,
    /// The skill declares a restriction that cannot be read.
    InvalidRestriction,
    /// Something that the skill says it needs is missing.
    MissingRequirements,
    /// The skill changed between the decision and the run.
    ContentChanged,
    /// Something that was granted leads elsewhere by a symlink.
    Symlink,
    /// The record of the run cannot be kept.
    Audit,
    /// An approval cannot be kept.
    Approval,
    /// The run was [cancelled](crate::Cancellation) before it began.
    Cancelled,
    /// Nothing ran: see [`RuntimeError::sandbox`].
    Sandbox,
}

impl ErrorKind {
    /// Returns the stable code of this class, as JSON output shows it.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::UnknownSkill => "unknown-skill",
            Self::AmbiguousSkill => "ambiguous-skill",
            Self::InactiveSkill => "inactive-skill",
            Self::NotModelInvocable => "not-offered",
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
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("no skill is named {name:?}")]
    UnknownSkill { name: String, nearest: Vec<String> },
    #[error("the skill {name:?} is there ({}) and not used: {reason}", path.display())]
    InactiveSkill {
        name: String,
        path: PathBuf,
        reason: InactiveReason,
    },
    #[error("the skill {name:?} ({}) is not for models to choose: the skill or its mode says so", path.display())]
    NotModelInvocable { name: String, path: PathBuf },
    #[error("several skills are named {name:?}; name one by its directory")]
    AmbiguousSkill {
        name: String,
        directories: Vec<String>,
    },
    #[error(
        "the skill {skill:?} has nothing to run: no `.wasm` in its directory or in `wasm/`, no script in `scripts/`"
    )]
    NothingToRun { skill: String },
    #[error("the skill {skill:?} has no program {program:?}")]
    UnknownProgram {
        skill: String,
        program: String,
        candidates: Vec<String>,
    },
    #[error(
        "the skill {skill:?} has several scripts; name one, or give an input whose `action` is the name of one"
    )]
    AmbiguousScript {
        skill: String,
        candidates: Vec<String>,
    },
    #[error("cannot read {}", location_text(path, source))]
    FileAccess {
        path: PathBuf,
        source: DiscoveryError,
    },
    #[error("{}: nothing of the skill {skill:?} runs until `{}` is mended, which could not be read", path.display(), fields.join("`, `"))]
    InvalidRestriction {
        skill: String,
        path: PathBuf,
        fields: Vec<&'static str>,
    },
    #[error("the skill {skill:?} needs what is not here: {}", missing.join("; "))]
    MissingRequirements { skill: String, missing: Vec<String> },
    #[error("the skill {skill:?} ({}) changed after it was decided on; nothing ran", path.display())]
    ContentChanged { skill: String, path: PathBuf },
    #[error("cannot use {}", path.display())]
    OptionalPath {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} leads elsewhere by a symlink; nothing ran", path.display())]
    Symlink { path: PathBuf },
    #[error(
        "cannot grant {}: it holds {}, where private copies of skills and workspaces of other runs lie; grant a narrower directory, or set TMPDIR to a directory elsewhere",
        path.display(), scratch.display()
    )]
    ContainsScratch { path: PathBuf, scratch: PathBuf },
    #[error("the run's record cannot be kept")]
    Audit(#[source] AuditError),
    #[error("what came of it is known, and its record cannot be kept")]
    AuditAfterRun {
        source: AuditError,
        artifacts: Box<ExecutionArtifacts>,
    },
    #[error("the approval cannot be kept")]
    Approval(#[source] skills_policy::BoxError),
    #[error("{reason}")]
    Hook { reason: &'static str },
    #[error("cancelled before it began")]
    Cancelled,
    #[error("the runtime takes no more runs")]
    Closed,
    #[error(transparent)]
    Sandbox(SandboxError),
}

/// Names the file, and the line of it where that is known.
fn location_text(path: &Path, source: &DiscoveryError) -> String {
    match source
        .manifest()
        .and_then(skills_manifest::ManifestError::line)
    {
        Some(line) => format!("{}:{line}", path.display()),
        None => path.display().to_string(),
    }
}

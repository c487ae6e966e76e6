//! The error type of this crate.

use std::io;
use std::path::{Path, PathBuf};

use skills_discovery::{DiscoveryError, LockError};
use skills_signature::{SignatureError, UnverifiedReason};

use crate::{PathProblem, SourceError};

/// A skill cannot be fetched, checked, installed or verified.
///
/// The message says what failed and why; [`help`](Self::help) says what to do, if that is known.
/// Branch on [`kind`](Self::kind). Texts of a source are part of messages, so escape them for
/// display.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct InstallError(Box<Repr>);

/// The class of an [`InstallError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InstallErrorKind {
    /// The text of a source cannot be parsed.
    Source,
    /// The source cannot be reached, or has no such version.
    Fetch,
    /// The source contains what is never installed: a path out of the skill, a device, a clash.
    Unsafe,
    /// A limit of size, number or time was reached.
    Limit,
    /// The source has no such skill, or several of one name, or one that is not valid.
    Skill,
    /// The lock file cannot be read.
    Lock,
    /// The source is not among those that are allowed.
    NotAllowed,
    /// A signature is missing or not valid.
    Signature,
    /// Installed files differ from the lock file, or something else is at their place.
    Conflict,
    /// Another process installs skills in the same directory.
    Busy,
    /// Any other error of the operating system.
    Io,
}

impl InstallErrorKind {
    /// Returns the stable code of the class, as in JSON output.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Fetch => "fetch",
            Self::Unsafe => "unsafe-content",
            Self::Limit => "limit",
            Self::Skill => "skill",
            Self::Lock => "lock-unreadable",
            Self::NotAllowed => "not-allowed",
            Self::Signature => "signature",
            Self::Conflict => "conflict",
            Self::Busy => "busy",
            Self::Io => "io",
        }
    }
}

/// Why an entry of a source is never installed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(transparent)]
    Path(#[from] PathProblem),
    #[error("it is a device, FIFO or socket")]
    Special,
    #[error("it is a hard link")]
    HardLink,
    #[error("it is a symlink out of the skill, to `{0}`")]
    LinkOut(String),
    #[error("it is a symlink, which this system does not support")]
    #[cfg_attr(unix, expect(dead_code, reason = "other systems"))]
    LinkUnsupported,
    #[error("it is a symlink, which a skill in memory cannot have")]
    LinkInMemory,
    #[error("it is below a symlink")]
    BelowLink,
    #[error("it is there twice")]
    Twice,
    #[error("the archive has several entries with the same name")]
    SameNames,
    #[error("the archive has two names for it")]
    TwoNames,
    #[error("some file systems confuse it with `{0}`")]
    Clash(String),
    #[error("it is a file and a directory")]
    FileAndDirectory,
    #[error("it deletes a file of another layer")]
    Whiteout,
    #[error("it is a submodule")]
    Submodule,
    #[error("it is a pointer to a file in Git LFS, without its content")]
    LfsPointer,
    #[error("it is a sparse file")]
    Sparse,
    #[error("it is encrypted")]
    Encrypted,
}

/// A directory of a repository that stands for a commit of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Submodule {
    pub(crate) path: String,
    pub(crate) commit: String,
    /// The other repository as this one names it; `None` if it does not.
    pub(crate) url: Option<String>,
    /// The commit as a source of skills, if the name of the repository is one.
    pub(crate) source: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("cannot use `{path}` of the source: {refusal}")]
    Unsafe { path: String, refusal: Refusal },
    #[error("the source has more than {limit} {what}")]
    Limit { what: &'static str, limit: u64 },
    #[error("cannot fetch `{from}`: {cause}")]
    Fetch {
        from: String,
        cause: String,
        help: Option<&'static str>,
    },
    #[error("cannot tell whether the download is signed: {source}")]
    SignatureUnavailable {
        source: InstallError,
        help: &'static str,
    },
    #[error("a signature is required, which skills of a live server do not have")]
    LiveUnsigned,
    #[error("cannot read the archive: {0}")]
    Archive(io::Error),
    #[error("the archive has the digest {actual}, not {expected}")]
    ArchiveDigest { expected: String, actual: String },
    #[error("`{name}` has the digest {actual}, not {expected}")]
    Digest {
        name: String,
        expected: String,
        actual: String,
    },
    #[error("no skill found in `{from}`{}", name.as_ref().map_or_else(String::new, |name| format!(" with the name `{name}`")))]
    NoSkill {
        from: String,
        name: Option<String>,
        available: Vec<String>,
        submodules: Vec<Submodule>,
    },
    #[error("several skills have the name `{name}`: {}", paths.join(", "))]
    SameName { name: String, paths: Vec<String> },
    #[error("the skill in `{path}` is not valid: {source}")]
    Invalid {
        path: String,
        source: DiscoveryError,
    },
    #[error("the source lists the skill `{listed}`, whose `SKILL.md` has the name `{name}`")]
    OtherName { listed: String, name: String },
    #[error("the source has the skill `{other}` in place of `{name}`")]
    Renamed { name: String, other: String },
    #[error("the source `{0}` is not allowed")]
    NotAllowed(String),
    #[error("skill `{name}` has no signature of a trusted key{}", about_bundle(*reason))]
    Unsigned {
        name: String,
        reason: UnverifiedReason,
    },
    #[error("cannot verify the signature of `{name}`: {problem}")]
    Signature {
        name: String,
        problem: SignatureError,
    },
    #[error("`{name}` cannot be the name of a skill directory")]
    Name { name: String },
    #[error("{}: {source}", path.display())]
    Lock { path: PathBuf, source: LockError },
    #[error("{}: {problem}", path.display())]
    LockField { path: PathBuf, problem: String },
    #[error("cannot read the lock file `{path}`: {problem}")]
    ForeignLock { path: String, problem: String },
    #[error("cannot read the remembered sources in `{path}`: {problem}")]
    KnownSources { path: String, problem: String },
    #[error("cannot change `{name}`: {problem}")]
    Conflict {
        name: String,
        problem: String,
        help: &'static str,
    },
    #[error("cannot publish `{name}`: {problem}")]
    NotPublished { name: String, problem: String },
    #[error("skill `{0}` is not in the lock file")]
    NotLocked(String),
    #[error("the source of `{0}` no longer has the content of the lock file")]
    NotLockedContent(String),
    #[error("cannot compare the skills in `{}`: an interrupted change of them is unfinished", .0.display())]
    UnfinishedChange(PathBuf),
    #[error("another process installs skills in {}", .0.display())]
    Busy(PathBuf),
    #[error("cannot {action} `{}`", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl InstallError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Repr::Io {
            action,
            path: path.to_owned(),
            source,
        }
        .into()
    }

    pub(crate) fn refused(path: impl Into<String>, refusal: impl Into<Refusal>) -> Self {
        Repr::Unsafe {
            path: path.into(),
            refusal: refusal.into(),
        }
        .into()
    }

    pub(crate) fn fetch(from: &str, cause: impl Into<String>) -> Self {
        Repr::Fetch {
            from: from.to_owned(),
            cause: cause.into(),
            help: None,
        }
        .into()
    }

    pub(crate) fn fetch_with_help(
        from: &str,
        cause: impl Into<String>,
        help: &'static str,
    ) -> Self {
        Repr::Fetch {
            from: from.to_owned(),
            cause: cause.into(),
            help: Some(help),
        }
        .into()
    }

    pub(crate) fn limit(what: &'static str, limit: u64) -> Self {
        Repr::Limit { what, limit }.into()
    }

    pub(crate) fn same_name(name: &str, paths: Vec<String>) -> Self {
        let name = name.to_owned();
        Repr::SameName { name, paths }.into()
    }

    pub(crate) fn invalid(path: impl Into<String>, source: DiscoveryError) -> Self {
        let path = path.into();
        Repr::Invalid { path, source }.into()
    }

    pub(crate) fn conflict(name: &str, problem: &str, help: &'static str) -> Self {
        Repr::Conflict {
            name: name.to_owned(),
            problem: problem.to_owned(),
            help,
        }
        .into()
    }

    /// Names the submodules of a source in which a skill was not found.
    pub(crate) fn with_submodules(mut self, list: impl FnOnce() -> Vec<Submodule>) -> Self {
        if let Repr::NoSkill { submodules, .. } = &mut *self.0 {
            *submodules = list();
        }
        self
    }

    /// Returns the path of the entry that is never installed, if there is one.
    pub(crate) fn refused_path(&self) -> Option<&str> {
        match &*self.0 {
            Repr::Unsafe { path, .. } => Some(path),
            _ => None,
        }
    }

    /// Returns the class of the error.
    #[must_use]
    pub fn kind(&self) -> InstallErrorKind {
        match &*self.0 {
            Repr::SignatureUnavailable { source, .. } => source.kind(),
            Repr::Source(_) => InstallErrorKind::Source,
            Repr::Unsafe { .. } => InstallErrorKind::Unsafe,
            Repr::Limit { .. } => InstallErrorKind::Limit,
            Repr::Fetch { .. }
            | Repr::Archive(_)
            | Repr::ArchiveDigest { .. }
            | Repr::Digest { .. } => InstallErrorKind::Fetch,
            Repr::NoSkill { .. }
            | Repr::SameName { .. }
            | Repr::Invalid { .. }
            | Repr::NotPublished { .. }
            | Repr::OtherName { .. }
            | Repr::Renamed { .. }
            | Repr::Name { .. } => InstallErrorKind::Skill,
            Repr::NotAllowed(_) => InstallErrorKind::NotAllowed,
            Repr::Unsigned { .. } | Repr::Signature { .. } | Repr::LiveUnsigned => {
                InstallErrorKind::Signature
            }
            Repr::Lock { .. }
            | Repr::LockField { .. }
            | Repr::ForeignLock { .. }
            | Repr::KnownSources { .. } => InstallErrorKind::Lock,
            Repr::Conflict { .. }
            | Repr::NotLocked(_)
            | Repr::NotLockedContent(_)
            | Repr::UnfinishedChange(_) => InstallErrorKind::Conflict,
            Repr::Busy(_) => InstallErrorKind::Busy,
            Repr::Io { .. } => InstallErrorKind::Io,
        }
    }

    /// Returns what to do about the error, if that is known.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        Some(match &*self.0 {
            Repr::Source(error) => error.help(),
            Repr::Fetch { help, .. } => (*help)?.to_owned(),
            Repr::SignatureUnavailable { help, .. } => (*help).to_owned(),
            Repr::ArchiveDigest { .. } => {
                "compare the digest with that of the publisher, and change the part after `#`"
                    .to_owned()
            }
            Repr::Digest { .. } => {
                "the source publishes other content than it announces; report it to its owner"
                    .to_owned()
            }
            Repr::NoSkill { submodules, .. } if !submodules.is_empty() => {
                submodules_help(submodules)
            }
            Repr::NoSkill { available, .. } if !available.is_empty() => {
                let names = available.join(", ");
                format!("available: {names}; write one of them after `--skill`")
            }
            Repr::NoSkill { .. } => {
                "a skill is a directory with a `SKILL.md`; write its directory after the source, as in `SOURCE//DIR`"
                    .to_owned()
            }
            Repr::Renamed { other, .. } => {
                format!("to install it, add this source with `--skill {other}`")
            }
            Repr::NotAllowed(_) => {
                "the administrator allows other sources only; ask for this one".to_owned()
            }
            Repr::Unsigned { reason, .. } => trust_help(*reason).to_owned(),
            Repr::Signature { .. } => {
                "the content is not what was signed; report it to the publisher".to_owned()
            }
            Repr::Name { .. } => "rename it in its `SKILL.md`: the name is that of its directory, and must not be that of a hidden file, of a file that is read beside skills, or of a device"
                .to_owned(),
            Repr::SameName { .. } => "write the directory of one of them after the source, as in `SOURCE//DIR`".to_owned(),
            Repr::Lock { source, .. } if source.is_newer() => {
                "update this program; the file was not changed".to_owned()
            }
            Repr::Lock { .. } | Repr::LockField { .. } => {
                "restore the file from version control, or remove it and add the skills again"
                    .to_owned()
            }
            Repr::KnownSources { .. } => {
                "remove the file to forget from where removed skills were installed".to_owned()
            }
            Repr::ForeignLock { .. } => {
                "name a `skills-lock.json` or a `.clawhub/lock.json`".to_owned()
            }
            Repr::Conflict { help, .. } => (*help).to_owned(),
            Repr::NotLocked(_) => "list the locked skills with `skills verify`".to_owned(),
            Repr::NotLockedContent(_) => {
                "review the difference with `skills update --check`".to_owned()
            }
            Repr::UnfinishedChange(_) => {
                "the next command that changes these skills, such as `skills add`, completes it"
                    .to_owned()
            }
            Repr::Busy(_) => "wait until it has finished".to_owned(),
            Repr::Unsafe {
                refusal: Refusal::LfsPointer,
                ..
            } => "ask the author to store the file in the repository itself".to_owned(),
            Repr::Unsafe {
                refusal: Refusal::Path(PathProblem::Encoding),
                ..
            } => "write names of files in UTF-8: nothing says in which other encoding they are"
                .to_owned(),
            _ => return None,
        })
    }
}

impl From<Repr> for InstallError {
    fn from(repr: Repr) -> Self {
        Self(Box::new(repr))
    }
}

impl From<SourceError> for InstallError {
    fn from(error: SourceError) -> Self {
        Repr::Source(error).into()
    }
}

/// Returns the end of a message about a skill without a trusted signature.
fn about_bundle(reason: UnverifiedReason) -> &'static str {
    match reason {
        UnverifiedReason::NotTrusted => " or identity",
        UnverifiedReason::NoTrustedRoot => {
            ", and its Sigstore bundle cannot be verified without a trusted root"
        }
        UnverifiedReason::NoSigstore => ", and this build cannot verify Sigstore bundles",
    }
}

/// Returns what to do about a skill without a trusted signature.
fn trust_help(reason: UnverifiedReason) -> &'static str {
    match reason {
        UnverifiedReason::NotTrusted => {
            "ask the publisher for a signature, and trust the publisher's key or identity"
        }
        UnverifiedReason::NoTrustedRoot => {
            "set `sigstore-trusted-root` to the path of a `trusted_root.json`, beside `signature-identities`"
        }
        UnverifiedReason::NoSigstore => "build with `--features sigstore`",
    }
}

/// The maximum number of submodules in a message.
const MAX_SUBMODULES: usize = 3;

/// Returns what to install instead of submodules, which are not followed: a repository must not
/// decide which others are fetched.
fn submodules_help(submodules: &[Submodule]) -> String {
    let described = submodules.iter().take(MAX_SUBMODULES).map(|submodule| {
        let Submodule { path, commit, .. } = submodule;
        match (&submodule.source, &submodule.url) {
            (Some(source), _) => {
                format!("`{path}` is a submodule, which is not fetched; add `{source}`")
            }
            // Of others, such as one relative to this repository, only a person knows what is
            // meant.
            (None, Some(url)) => {
                format!("`{path}` is a submodule, commit {commit} of `{url}`, which is not fetched")
            }
            (None, None) => format!("`{path}` is a submodule, which is not fetched"),
        }
    });
    let described = described.collect::<Vec<_>>().join("; ");
    match submodules.len().checked_sub(MAX_SUBMODULES) {
        Some(more @ 1..) => format!("{described}; and {more} more"),
        _ => described,
    }
}

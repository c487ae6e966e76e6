//! Sources of a scan, and how each is read.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::open_failures::OpenFailures;
use crate::source_skill::RecentSkills;
use crate::{Scope, SkillSource, SourceKind, TreePath, Trust};

/// The directory of the paths of listed skills. It must not exist: nothing on the disk can then be
/// at the path of a listed skill.
pub(crate) const SOURCES_DIRECTORY: &str = "/skill-sources";
/// The maximum length of the readable part of a directory name, in bytes.
const MAX_LABEL_BYTES: usize = 40;

/// Returns true if a path is that of a skill of a source, or of a file in it: nothing on the disk is
/// there, so that it cannot be resolved.
#[must_use]
pub fn is_source_path(path: &Path) -> bool {
    let mut parts = path.components();
    path.starts_with(SOURCES_DIRECTORY)
        && !parts.any(|part| part == Component::ParentDir)
        && is_missing(Path::new(SOURCES_DIRECTORY))
}

/// Returns true if nothing is at a path, as far as that can be known.
pub(crate) fn is_missing(path: &Path) -> bool {
    let metadata = path.symlink_metadata();
    metadata.is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// A source that is scanned for skills, as a [`Root`](crate::Root) is for directories.
///
/// A skill of a source hides no skill of a directory, whatever the
/// [`Precedence`](crate::Precedence); if all are kept, their common name is ambiguous. The
/// [directory](crate::Entry::directory) of its entries is below `/skill-sources`, which must not
/// exist, and is the same in each process. Files are read with [`Entry::open`](crate::Entry::open)
/// only, which writes them to a private directory when a skill is first opened.
///
/// Defaults: a [`Local`](SourceKind::Local) source is trusted, no skill of a
/// [`Live`](SourceKind::Live) one is.
#[derive(Clone)]
#[must_use]
pub struct SourceRoot {
    pub(crate) source: Arc<dyn SkillSource>,
    /// The name of the source, read once: approvals are for the directory that is made from it.
    pub(crate) name: Arc<str>,
    /// Read once, as the trust depends on it.
    pub(crate) kind: SourceKind,
    pub(crate) scope: Scope,
    pub(crate) scratch: Arc<Path>,
    pub(crate) trust: Trust,
    pub(crate) lock_directory: Option<PathBuf>,
    /// The path below which the directories of the skills are.
    pub(crate) directory: Arc<Path>,
    pub(crate) recent: Arc<RecentSkills>,
    pub(crate) failures: Arc<OpenFailures>,
}

impl SourceRoot {
    /// Creates a root with the default options. `scratch` is an existing directory, in which each
    /// skill that is opened gets a private temporary directory.
    pub fn new(source: Arc<dyn SkillSource>, scope: Scope, scratch: impl Into<PathBuf>) -> Self {
        let kind = source.kind();
        let trust = match kind {
            SourceKind::Local => Trust::Trusted,
            SourceKind::Live => Trust::Untrusted,
        };
        let name = source.name();
        Self {
            directory: directory_of(name).into(),
            name: name.into(),
            kind,
            scope,
            scratch: scratch.into().into(),
            trust,
            lock_directory: None,
            recent: Arc::default(),
            failures: Arc::default(),
            source,
        }
    }

    /// Sets whether the user trusts the skills. Has no effect on a [`Live`](SourceKind::Live)
    /// source: others could replace what was trusted.
    pub fn trust(mut self, trust: Trust) -> Self {
        if self.kind == SourceKind::Local {
            self.trust = trust;
        }
        self
    }

    /// Sets the directory with the `skills.lock` that lists the content that the user has agreed to.
    /// Default: none.
    ///
    /// A skill with the name and the digest of an entry is trusted. Other content under that name is
    /// inactive (`changed`), and so is every skill if the file cannot be read. What the file does
    /// not list is not affected, so a [`Live`](SourceKind::Live) source has no other active skill.
    /// The file is read again in each scan.
    pub fn lock_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.lock_directory = Some(directory.into());
        self
    }

    /// Returns true if the name cannot be read as a path of a directory.
    pub(crate) fn has_valid_name(&self) -> bool {
        let mut parts = self.name.split(['/', '\\']);
        !self.name.starts_with(['/', '\\'])
            && !self.name.is_empty()
            && parts.all(|part| part != "..")
    }

    /// Returns the path of a skill that is skipped, for display: relative, as no path of a directory
    /// is.
    pub(crate) fn skipped_path(&self, skill: &TreePath) -> PathBuf {
        format!("{}/{skill}", self.name).into()
    }
}

impl fmt::Debug for SourceRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the source, which can contain all files of its skills.
        f.debug_struct("SourceRoot")
            .field("source", &self.name)
            .field("scope", &self.scope)
            .field("trust", &self.trust)
            .field("lock_directory", &self.lock_directory)
            .finish_non_exhaustive()
    }
}

// Sources have no equality: the same object is the same source.
impl PartialEq for SourceRoot {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.source, &other.source)
            && (self.scope, self.trust) == (other.scope, other.trust)
            && self.lock_directory == other.lock_directory
            && self.scratch == other.scratch
    }
}

impl Eq for SourceRoot {}

/// Returns the directory of a source: the letters and digits of its name, for readers, and its
/// hash. A path with a colon could not be a module path of Python.
fn directory_of(name: &str) -> PathBuf {
    let label: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(MAX_LABEL_BYTES)
        .collect();
    let hash = hex::encode(&Sha256::digest(name)[..8]);
    Path::new(SOURCES_DIRECTORY).join(format!("{label}-{hash}"))
}

#[cfg(test)]
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
mod tests {
    use super::*;

    /// A directory at the path of a listed skill could stand for it.
    #[test]
    fn anything_at_the_directory_of_sources_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink("nowhere", at("link")).unwrap();
        assert!(is_missing(&at("missing")));
        assert!(!is_missing(&at("file")) && !is_missing(&at("link")));
        assert!(!is_missing(&at("file/below")), "not known");
        let source_path = |below: &str| is_source_path(&Path::new(SOURCES_DIRECTORY).join(below));
        assert!(source_path("app-1/pdf/scripts"));
        assert!(!source_path("app-1/../../etc"));
        assert!(!is_source_path(Path::new("/skill-sources-2/pdf")));
        assert!(!is_source_path(Path::new("skill-sources/pdf")));
    }
}

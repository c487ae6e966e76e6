//! One skill of a catalog.

#[cfg(feature = "fs")]
mod files;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use skills_manifest::{Manifest, OpenAiMetadata, OpenAiWarning, SkillName, Warning};

use crate::lazy_metadata::LazyMetadata;
#[cfg(feature = "fs")]
use crate::locked_content::LockedContent;
use crate::openai_file::OpenAiFile;
use crate::skill_location::SkillLocation;
use crate::walk_path::WalkPath;
use crate::{FileStamp, Scope};

/// One skill of a [`Catalog`](crate::Catalog): its metadata and location.
///
/// The scan has checked that the frontmatter can be parsed and has read the name. The other fields
/// are parsed on the first access, `agents/openai.yaml` is read on the first access, and the body
/// is not read until `open` is called. A clone shares the parsed metadata.
#[derive(Debug, Clone)]
pub struct Entry {
    pub(crate) name: SkillName,
    pub(crate) metadata: Arc<LazyMetadata>,
    pub(crate) location: SkillLocation,
    pub(crate) scope: Scope,
    pub(crate) root: Arc<Path>,
    /// The warnings of the scan, without those of the skill's files.
    pub(crate) scan_warnings: Vec<EntryWarning>,
    /// All warnings, collected on the first access.
    pub(crate) warnings: OnceLock<Vec<EntryWarning>>,
    pub(crate) stamp: FileStamp,
    /// How the scan got to the directory.
    pub(crate) walk_path: Arc<WalkPath>,
    /// The content that a lock file requires, of the skill or of one that contains it.
    #[cfg(feature = "fs")]
    pub(crate) locked: Option<Arc<LockedContent>>,
}

impl Entry {
    /// Returns the name of the skill: `name` of the frontmatter if it is valid, otherwise the name
    /// of the directory, with the namespace of its plugin if the root has namespaces.
    #[must_use]
    pub fn name(&self) -> &SkillName {
        &self.name
    }

    /// Returns the manifest; the first call parses the frontmatter that the scan kept.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.metadata.manifest().0
    }

    /// Returns the canonical path of the skill directory. Two entries are the same skill if and
    /// only if their directories are equal. A skill of a source has a path below `/skill-sources`
    /// that does not exist; runs of it see their private copy there.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.location.directory
    }

    /// Returns the path of the `SKILL.md` in [`directory`](Self::directory), for display only. To
    /// read it use `open`, which does not follow a directory that was replaced by a symlink. The
    /// path of a skill of a source does not exist, so that a program that opens it by mistake reads no
    /// other file.
    #[must_use]
    pub fn location(&self) -> PathBuf {
        self.location.skill_file()
    }

    /// Returns true if `path` is the canonical path of the directory or of the `SKILL.md`.
    pub(crate) fn is_located_at(&self, path: &Path) -> bool {
        // `location` allocates, so the directories are compared first.
        self.directory() == path
            || path.parent() == Some(self.directory()) && path == self.location()
    }

    /// Returns the path of the root that the skill was found in, as it was passed to the scan;
    /// [`Catalog::root_of`](crate::Catalog::root_of) returns the canonical one.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the metadata of `agents/openai.yaml`, which the first call reads; `None` if the
    /// skill has no such file. If it cannot be read, the metadata forbids implicit invocation.
    #[must_use]
    pub fn openai_metadata(&self) -> Option<&OpenAiMetadata> {
        self.openai_file().metadata.as_deref()
    }

    pub(crate) fn openai_file(&self) -> &OpenAiFile {
        self.metadata
            .openai(|below_plugin| self.location.read_openai_file(below_plugin))
    }

    /// Returns true if the skill is listed to a model, which may choose it by itself: neither the
    /// `SKILL.md` nor `agents/openai.yaml` forbids it, and neither has a restriction that cannot be
    /// parsed. Otherwise only a user can select it by name.
    #[must_use]
    pub fn is_model_invocable(&self) -> bool {
        self.manifest().model_invocable()
            && self
                .openai_metadata()
                .is_none_or(|metadata| metadata.policy.allows_implicit_invocation())
    }

    /// Returns the stamp of the `SKILL.md` at the time when it was read.
    #[must_use]
    pub fn stamp(&self) -> FileStamp {
        self.stamp
    }

    /// Returns the path by which the scan found the skill: that of a symlink, if one leads to it.
    /// It is [`directory`](Self::directory) for others.
    #[must_use]
    pub fn logical_path(&self) -> PathBuf {
        self.walk_path.logical_path(self.directory())
    }

    /// Returns the paths by which lock files can list the skill: its directory, and what the scan
    /// passed below the root on the way to it, directories and symlinks. The name is that of the
    /// entry, and the lock file is beside it. None for a skill of a source.
    pub fn lock_paths(&self) -> impl Iterator<Item = &Path> {
        let places = self.walk_path.places(self.directory());
        places.filter(|_| self.has_directory())
    }

    /// Returns true if the skill is in a directory; false if a source lists it.
    #[must_use]
    pub fn has_directory(&self) -> bool {
        #[cfg(feature = "fs")]
        if self.location.source.is_some() {
            return false;
        }
        true
    }

    /// Returns true if a skill file that a scan has found is the one that this entry was read from,
    /// through the same root.
    pub(crate) fn is_unchanged(&self, root: &Path, file_name: &str, stamp: FileStamp) -> bool {
        // A symlinked or differently spelled file may shadow the one that was read before.
        self.stamp.is_unchanged(Some(stamp))
            && self.location.file_name() == file_name
            && *self.root == *root
            // The stamp of a linked file says nothing about the symlink, which may lead to another
            // file now.
            && self.location.linked_path.is_none()
    }

    /// Returns true if an entry of a newer catalog is the same skill, from files that did not
    /// change.
    #[cfg(feature = "watch")]
    pub(crate) fn is_same(&self, newer: &Self) -> bool {
        // If no caller has read the old `agents/openai.yaml`, no caller can depend on its content,
        // and reading it for the comparison would cost more than the rescan itself.
        let has_same_openai = || {
            let read = self.metadata.loaded_openai();
            read.is_none_or(|openai| openai.stamp == newer.openai_file().stamp)
        };
        // Equal stamps prove nothing if the file was written in the clock tick of the scan. Only
        // then the content is compared.
        let has_same_manifest = || {
            self.stamp == newer.stamp
                && (self.stamp.is_settled() || self.metadata.content_eq(&newer.metadata))
        };
        (self.directory(), &self.name, self.scope) == (newer.directory(), &newer.name, newer.scope)
            && has_same_manifest()
            && has_same_openai()
    }

    /// Returns a copy for the next catalog, without the warnings that compare the skill with other
    /// skills and without `agents/openai.yaml`, which may have changed independently.
    pub(crate) fn for_rescan(&self, walk_path: &Arc<WalkPath>) -> Self {
        let scan_warnings = self
            .scan_warnings
            .iter()
            .filter(|warning| !warning.is_about_other_skill())
            .cloned()
            .collect();
        Self {
            scan_warnings,
            walk_path: Arc::clone(walk_path),
            ..self.transient()
        }
    }

    /// Returns a copy whose parsed fields and warnings are dropped with it. For lists of many
    /// skills, which use each of them once: an entry keeps what was parsed.
    #[must_use]
    pub fn transient(&self) -> Self {
        Self {
            metadata: self.metadata.without_openai(),
            warnings: OnceLock::new(),
            ..self.clone()
        }
    }

    /// Returns the scope of the root that the skill was found in.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Returns true if the skill has a warning about the scan or about the frontmatter.
    /// Reads no file: neither the body nor `agents/openai.yaml`, which would be system calls for
    /// each skill of a list.
    #[must_use]
    pub fn has_scan_warnings(&self) -> bool {
        !self.scan_warnings.is_empty() || !self.metadata.manifest().1.is_empty()
    }
}

/// A problem of a skill that still loads.
///
/// [`code`](Self::code) is stable and meant for programs. The text of
/// [`Display`](std::fmt::Display) is meant for users and may change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryWarning {
    /// A problem of the `SKILL.md`.
    #[error("{0}")]
    Manifest(Warning),
    /// The body is not UTF-8, so that its instructions cannot be loaded.
    #[error("line {line}: the body is not UTF-8 and cannot be loaded; save the file as UTF-8")]
    BodyNotUtf8 {
        /// The first line that is not UTF-8, counted from 1.
        line: usize,
    },
    /// `name` is missing or invalid; the name of the directory is used.
    #[error("missing or invalid `name`; using the directory name")]
    NameFromDirectory,
    /// `name` differs from the name of the directory, which the specification forbids.
    #[error("name does not match directory `{directory}`")]
    NameMismatch {
        /// The name of the directory.
        directory: String,
    },
    /// The name of the skill file differs from `SKILL.md` in case; other clients do not find it.
    #[error("file is named `{found}`; other clients read only `SKILL.md`")]
    NonStandardFileName {
        /// The name of the file.
        found: String,
    },
    /// The `SKILL.md` is a symlink out of the skill directory, which its root allows
    /// ([`SkillFileSymlinks::Follow`](crate::SkillFileSymlinks::Follow)).
    // The target may be any path, so control characters in it are escaped.
    #[error("`SKILL.md` is a symlink to {target:?}; other clients ignore it")]
    SymlinkedSkillFile {
        /// The canonical path of the file that is read.
        target: PathBuf,
    },
    /// The name of another skill differs only in case or in Unicode composition.
    #[error("name is confusable with `{other}`")]
    ConfusableName {
        /// The name of the other skill.
        other: String,
    },
    /// Another skill in use has the same name, so that the name alone is ambiguous.
    #[error("duplicate name, also in `{}`; refer to it by path", directory.display())]
    DuplicateName {
        /// The directory of the other skill.
        directory: PathBuf,
    },
    /// A field of `agents/openai.yaml`, or the whole file, was ignored.
    #[error("{}", openai_text(.0))]
    OpenAi(OpenAiWarning),
}

impl EntryWarning {
    /// Returns the line of the `SKILL.md` that the warning is about, counted from 1; `None` if it
    /// is not about a line of that file.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Manifest(warning) => warning.line(),
            Self::BodyNotUtf8 { line } => Some(*line),
            _ => None,
        }
    }

    /// Returns the stable code of the warning, as in JSON output.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Manifest(warning) => warning.kind().code(),
            Self::BodyNotUtf8 { .. } => "body-encoding",
            Self::NameFromDirectory => "name-from-directory",
            Self::NameMismatch { .. } => "name-differs",
            Self::NonStandardFileName { .. } => "file-name",
            Self::SymlinkedSkillFile { .. } => "linked-file",
            Self::ConfusableName { .. } => "name-clash",
            Self::DuplicateName { .. } => "same-name",
            Self::OpenAi(_) => "host-metadata",
        }
    }

    fn is_about_other_skill(&self) -> bool {
        matches!(
            self,
            Self::DuplicateName { .. } | Self::ConfusableName { .. }
        )
    }
}

fn openai_text(warning: &OpenAiWarning) -> String {
    let OpenAiWarning { field, reason } = warning;
    if field.is_empty() {
        format!("cannot read `agents/openai.yaml`: {reason}")
    } else {
        format!("`agents/openai.yaml`: `{field}` ignored: {reason}")
    }
}

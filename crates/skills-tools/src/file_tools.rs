//! The tools for files: one virtual file system of the workspace, the skills and the mounts of a host.

pub(crate) mod create;
pub(crate) mod ls;
mod place;
pub(crate) mod read;
#[cfg(test)]
mod tests;
pub(crate) mod write;

use std::path::PathBuf;
use std::sync::Mutex;

use skills_runtime::SkillRuntime;

use crate::files::list::Bounds;
use crate::mount::{DEFAULT_QUOTA_BYTES, MountTable, Mounted, Quota};

pub(crate) use place::{Place, Target};

/// Which skills a model may write into.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkillWrites {
    /// None, and it makes no new ones.
    Never,
    /// Drafts: new ones, which nobody has adopted and nothing runs of.
    #[default]
    Drafts,
    /// All. What it writes into a skill that is used, the next run uses.
    All,
}

/// Whether files that look like keys and secrets are read: `.env*`, `*.pem`, `id_rsa*`, `.netrc` and the like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyFiles {
    /// They are refused.
    #[default]
    Refused,
    /// They are files like others.
    Readable,
}

/// The tools for files.
pub(crate) struct FileTools {
    pub(crate) runtime: SkillRuntime,
    table: MountTable,
    /// Where new skills are made, when the host has a place for them.
    drafts: Option<PathBuf>,
    skill_writes: SkillWrites,
    key_files: KeyFiles,
    bounds: Bounds,
    /// For all skills together.
    skill_quota: std::sync::Arc<Quota>,
    /// One write at a time: what is compared is what is replaced.
    writing: Mutex<()>,
}

impl FileTools {
    /// Puts the tools together; drafts have no place, [`SkillWrites`] and [`KeyFiles`] are the defaults.
    pub(crate) fn new(runtime: SkillRuntime, table: MountTable) -> Self {
        Self {
            runtime,
            table,
            drafts: None,
            skill_writes: SkillWrites::default(),
            key_files: KeyFiles::default(),
            bounds: Bounds::DEFAULT,
            skill_quota: std::sync::Arc::new(Quota::new(DEFAULT_QUOTA_BYTES)),
            writing: Mutex::new(()),
        }
    }

    /// Names the directory of new skills. The runtime needs it as an untrusted root, else nobody sees them.
    pub(crate) fn drafts(mut self, directory: Option<PathBuf>) -> Self {
        self.drafts = directory;
        self
    }

    /// Returns the workspace and the mounts.
    pub(crate) fn mounts(&self) -> impl Iterator<Item = &Mounted> {
        self.table.all()
    }

    /// Returns the workspace.
    pub(crate) fn workspace(&self) -> Option<&Mounted> {
        self.table.workspace()
    }

    pub(crate) fn skill_writes(mut self, skill_writes: SkillWrites) -> Self {
        self.skill_writes = skill_writes;
        self
    }

    pub(crate) fn key_files(mut self, key_files: KeyFiles) -> Self {
        self.key_files = key_files;
        self
    }
}

//! The tools for files: one virtual file system of the workspace, the skills and the mounts of a
//! host.

pub(crate) mod create;
pub(crate) mod ls;
pub(crate) mod read;
mod resolve;
#[cfg(test)]
mod tests;
pub(crate) mod write;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use skills_runtime::SkillRuntime;

use crate::catalog_cache::CatalogCache;
use crate::files::list::ListLimits;
use crate::files::sensitive;
use crate::mount::{DEFAULT_QUOTA_BYTES, MountTable, OpenMount, WriteQuota};
use crate::{ToolError, ToolErrorCode};

pub(crate) use resolve::{PathTarget, ResolvedPath};

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

/// Whether files that look like keys and secrets are read: `.env*`, `*.pem`, `id_rsa*`, `.netrc`
/// and the like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyFileAccess {
    /// They are refused.
    #[default]
    Deny,
    /// They are files like others.
    Allow,
}

/// The tools for files.
pub(crate) struct FileTools {
    pub(crate) runtime: SkillRuntime,
    pub(crate) catalog_cache: Arc<CatalogCache>,
    mounts: MountTable,
    /// Where new skills are made, when the host has a place for them.
    drafts_dir: Option<PathBuf>,
    /// What of the host no tool writes, by canonical paths.
    protected_paths: Vec<PathBuf>,
    skill_writes: SkillWrites,
    key_file_access: KeyFileAccess,
    list_limits: ListLimits,
    /// For all skills together.
    skill_quota: Arc<WriteQuota>,
    /// One write at a time: what is compared is what is replaced.
    write_lock: Mutex<()>,
}

impl FileTools {
    /// Puts the tools together; drafts have no place, [`SkillWrites`] and [`KeyFileAccess`] are the
    /// defaults.
    pub(crate) fn new(runtime: SkillRuntime, table: MountTable) -> Self {
        Self {
            catalog_cache: Arc::new(CatalogCache::new(runtime.clone())),
            runtime,
            mounts: table,
            drafts_dir: None,
            protected_paths: Vec::new(),
            skill_writes: SkillWrites::default(),
            key_file_access: KeyFileAccess::default(),
            list_limits: ListLimits::DEFAULT,
            skill_quota: Arc::new(WriteQuota::new(DEFAULT_QUOTA_BYTES)),
            write_lock: Mutex::new(()),
        }
    }

    /// Names the directory of new skills. The runtime needs it as an untrusted root, else nobody
    /// sees them.
    pub(crate) fn drafts_dir(mut self, directory: Option<PathBuf>) -> Self {
        self.drafts_dir = directory;
        self
    }

    /// Names what no tool writes, by canonical paths.
    pub(crate) fn protected_paths(mut self, paths: Vec<PathBuf>) -> Self {
        self.protected_paths = paths;
        self
    }

    /// Refuses what the host hides and what is its own. A place to write is not reached through
    /// links, so its path is where it is. Whether a skill is written is said elsewhere, and drafts
    /// may lie among what programs do not write.
    pub(crate) fn check_writable(&self, place: &ResolvedPath) -> Result<(), ToolError> {
        self.check_visible(place, &place.host_path)?;
        let is_kept = |kept: &PathBuf| {
            place.host_path.starts_with(kept) || kept.starts_with(&place.host_path)
        };
        if place.skill.is_none() && self.protected_paths.iter().any(is_kept) {
            let error = ToolError::new(
                ToolErrorCode::PermissionDenied,
                format!("'{}' is the host's own and is not written", place.display),
            );
            return Err(error.with_path(&place.display).with_hint("write elsewhere"));
        }
        Ok(())
    }

    /// Says whether a file is not read because its names say that it may hold keys or secrets.
    pub(crate) fn is_key_file<S: AsRef<str>>(&self, parts: &[S]) -> bool {
        self.key_file_access == KeyFileAccess::Deny && sensitive::is_key_file(parts)
    }

    /// Refuses to go on when something else was put in the place of a mount: programs would see
    /// that.
    pub(crate) fn check_mounts_unchanged(&self) -> Result<(), ToolError> {
        match self
            .mounts
            .all_mounts()
            .find(|mount| mount.path.canonicalize().ok().as_ref() != Some(&mount.path))
        {
            Some(mount) => Err(ToolError::new(
                ToolErrorCode::Conflict,
                format!("'{}' is not where it was when the tools began", mount.name),
            )),
            None => Ok(()),
        }
    }

    /// Says whether whoever watches has to look again because of something that was written
    /// anywhere: mounts may lie where skills do.
    pub(crate) fn may_overlap_skills(&self) -> bool {
        self.skill_writes == SkillWrites::All && self.catalog_cache.has_watchers()
    }

    /// Returns the workspace and the mounts.
    pub(crate) fn mounts(&self) -> impl Iterator<Item = &OpenMount> {
        self.mounts.all_mounts()
    }

    /// Returns the workspace.
    pub(crate) fn workspace(&self) -> Option<&OpenMount> {
        self.mounts.workspace()
    }

    pub(crate) fn skill_writes(mut self, skill_writes: SkillWrites) -> Self {
        self.skill_writes = skill_writes;
        self
    }

    pub(crate) fn key_file_access(mut self, key_files: KeyFileAccess) -> Self {
        self.key_file_access = key_files;
        self
    }
}

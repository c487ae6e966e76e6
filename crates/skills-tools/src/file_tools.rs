//! Tools for files, on a virtual file system of the workspace, the skills and the mounts.

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

use crate::files::list::ListLimits;
use crate::folded_paths::FoldedPaths;
use crate::mount::{DEFAULT_QUOTA_BYTES, MountTable, OpenMount, WriteQuota};
use crate::{Mount, MountError, ToolError, ToolErrorCode};

pub(crate) use resolve::{PathTarget, ResolvedPath};

/// Selects the skills that a model may write to.
///
/// Writing to an active skill changes what its next run executes. The default therefore restricts
/// writes to drafts, which do not run before a user accepts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkillWrites {
    /// None. The model cannot create drafts either.
    Never,
    /// Drafts only: not yet accepted, never run.
    #[default]
    Drafts,
    /// All skills. The next run of a skill uses the changed files.
    All,
}

/// Implements the tools for files.
pub(crate) struct FileTools {
    pub(crate) runtime: SkillRuntime,
    mounts: MountTable,
    /// The directory for drafts, if the host application has one. The runtime needs it as an
    /// untrusted root, otherwise drafts are not found.
    pub(crate) drafts_dir: Option<PathBuf>,
    /// Paths that no tool writes, in addition to skills and drafts.
    pub(crate) protected_paths: Vec<PathBuf>,
    pub(crate) skill_writes: SkillWrites,
    /// Whether `skills_create` is among the tools that a model sees.
    pub(crate) is_create_listed: bool,
    list_limits: ListLimits,
    /// Write quota of all skills together.
    skill_quota: Arc<WriteQuota>,
    /// Serializes writes, so that the file that was compared is the file that is replaced.
    write_lock: Arc<Mutex<()>>,
}

impl FileTools {
    /// Creates the tools without a directory for drafts, with the default of [`SkillWrites`].
    pub(crate) fn new(runtime: SkillRuntime, mounts: MountTable) -> Self {
        Self {
            runtime,
            mounts,
            drafts_dir: None,
            protected_paths: Vec::new(),
            skill_writes: SkillWrites::default(),
            is_create_listed: false,
            list_limits: ListLimits::DEFAULT,
            skill_quota: Arc::new(WriteQuota::new(DEFAULT_QUOTA_BYTES)),
            write_lock: Arc::default(),
        }
    }

    /// Returns the tools with another workspace and a runtime for the same skills. They share the
    /// write quotas of everything else.
    pub(crate) fn with_workspace(
        &self,
        workspace: Mount,
        runtime: SkillRuntime,
    ) -> Result<Self, MountError> {
        Ok(Self {
            runtime,
            mounts: self.mounts.with_workspace(workspace)?,
            drafts_dir: self.drafts_dir.clone(),
            protected_paths: self.protected_paths.clone(),
            skill_writes: self.skill_writes,
            is_create_listed: self.is_create_listed,
            list_limits: self.list_limits,
            skill_quota: Arc::clone(&self.skill_quota),
            write_lock: Arc::clone(&self.write_lock),
        })
    }

    pub(crate) fn mount_table(&self) -> &MountTable {
        &self.mounts
    }

    /// Rejects hidden and protected paths. Skill and draft rules are checked elsewhere: drafts may
    /// be inside a protected path. A write target is not reached through symlinks, so its path
    /// needs no canonicalization.
    pub(crate) fn check_writable(&self, resolved: &ResolvedPath) -> Result<(), ToolError> {
        self.check_visible(resolved, &resolved.host_path)?;
        if resolved.skill.is_none() && self.protected_dirs().overlaps(&resolved.host_path) {
            return Err(ToolErrorCode::PermissionDenied
                .error(format!(
                    "cannot write '{}': protected by the operator",
                    resolved.display
                ))
                .with_path(&resolved.display)
                .with_hint("write to another path"));
        }
        Ok(())
    }

    /// Returns the directories that are not writable as plain files through a mount that contains
    /// them: those of skills, unless skills may be written, the drafts, and those of the host.
    fn protected_dirs(&self) -> FoldedPaths {
        let catalog = self.runtime.library().catalog();
        let skills = catalog
            .skill_directories()
            .filter(|_| self.skill_writes != SkillWrites::All);
        let others = self.protected_paths.iter().chain(&self.drafts_dir);
        FoldedPaths::resolve(skills.chain(others.map(PathBuf::as_path)))
    }

    /// Fails if the directory of a mount was replaced at its path, since programs would see the
    /// replacement.
    pub(crate) fn check_mounts_unchanged(&self) -> Result<(), ToolError> {
        match self
            .mounts
            .all_mounts()
            // File tools use the handle and are not affected; sandboxes mount by path.
            .find(|mount| mount.path.canonicalize().ok().as_ref() != Some(&mount.path))
        {
            Some(mount) => Err(ToolErrorCode::Conflict.error(format!(
                "cannot use '{}': its directory was replaced",
                mount.name
            ))),
            None => Ok(()),
        }
    }

    /// Returns true if a model can create drafts.
    pub(crate) fn can_create(&self) -> bool {
        self.is_create_listed
            && self.drafts_dir.is_some()
            && self.skill_writes != SkillWrites::Never
    }

    /// Returns true if a write may have changed a skill, so that the catalog needs a refresh: a
    /// mount may contain a root.
    pub(crate) fn may_overlap_skills(&self) -> bool {
        self.skill_writes == SkillWrites::All
            && self.runtime.library().generations().current().is_some()
    }

    /// Scans after a write of the tools themselves, which a watcher has not reported yet.
    pub(crate) fn rescan_after_write(&self) {
        // Before the scan, so that nothing read before the write counts as current.
        self.runtime.library().generations().record_change();
        self.runtime.library().refresh();
    }

    /// Returns the workspace and the mounts.
    pub(crate) fn mounts(&self) -> impl Iterator<Item = &OpenMount> {
        self.mounts.all_mounts()
    }

    /// Returns the first components of the paths that exist: `skills`, the workspace, the mounts.
    pub(crate) fn mount_names(&self) -> Vec<&str> {
        self.mounts.names()
    }

    /// Returns the workspace, if there is one.
    pub(crate) fn workspace(&self) -> Option<&OpenMount> {
        self.mounts.workspace()
    }
}

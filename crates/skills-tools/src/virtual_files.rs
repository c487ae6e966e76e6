//! The virtual file system of the workspace, the skills and the mounts, which the tools work on.

mod resolve;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use skills_runtime::SkillRuntime;

use crate::files::list::ListLimits;
use crate::files::sensitive::protected_component;
use crate::folded_paths::FoldedPaths;
use crate::mount::{DEFAULT_QUOTA_BYTES, MountTable, WriteQuota};
use crate::{Mount, MountError, ToolError, ToolErrorCode, ToolGroup};

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

/// The files that tools can access, and the rules for writing them.
#[derive(Clone)]
pub(crate) struct VirtualFiles {
    pub(crate) runtime: SkillRuntime,
    pub(crate) mounts: MountTable,
    /// The groups of tools that a model can call.
    pub(crate) groups: Vec<ToolGroup>,
    /// The directory for drafts, if the host application has one. The runtime needs it as an
    /// untrusted root, otherwise drafts are not found.
    pub(crate) drafts_dir: Option<PathBuf>,
    /// Paths that no tool writes, in addition to skills and drafts.
    pub(crate) protected_paths: Vec<PathBuf>,
    pub(crate) skill_writes: SkillWrites,
    pub(crate) list_limits: ListLimits,
    /// Write quota of all skills together.
    pub(crate) skill_quota: Arc<WriteQuota>,
    /// Serializes writes, so that the file that was compared is the file that is replaced.
    pub(crate) write_lock: Arc<Mutex<()>>,
}

impl VirtualFiles {
    /// Creates the files without groups of tools and a directory for drafts, with the default of
    /// [`SkillWrites`].
    pub(crate) fn new(runtime: SkillRuntime, mounts: MountTable) -> Self {
        Self {
            runtime,
            mounts,
            groups: Vec::new(),
            drafts_dir: None,
            protected_paths: Vec::new(),
            skill_writes: SkillWrites::default(),
            list_limits: ListLimits::DEFAULT,
            skill_quota: Arc::new(WriteQuota::new(DEFAULT_QUOTA_BYTES)),
            write_lock: Arc::default(),
        }
    }

    /// Returns the files with another workspace and a runtime for the same skills. They share the
    /// write quotas of everything else.
    pub(crate) fn with_workspace(
        &self,
        workspace: Mount,
        runtime: SkillRuntime,
    ) -> Result<Self, MountError> {
        Ok(Self {
            runtime,
            mounts: self.mounts.with_workspace(workspace)?,
            ..self.clone()
        })
    }

    /// Rejects hidden and protected paths, and names that other programs execute or trust. Skill and
    /// draft rules are checked elsewhere: drafts may be inside a protected path. A write target is
    /// not reached through symlinks, so its path needs no canonicalization.
    pub(crate) fn check_writable(&self, resolved: &ResolvedPath) -> Result<(), ToolError> {
        // Checked in every mount: a file that a hook, shell or CI executes would run outside of the
        // sandbox.
        if let Some(name) = protected_component(&resolved.parts) {
            let display_path = &resolved.display;
            let message = format!(
                "cannot write '{display_path}': `{name}` is protected, since it is executed automatically or contains secrets"
            );
            return Err(ToolErrorCode::PermissionDenied
                .error_at(display_path, message)
                .with_hint("ask your user to change it"));
        }
        self.check_visible(resolved, &resolved.host_path)?;
        if resolved.skill.is_none() && self.protected_dirs().overlaps(&resolved.host_path) {
            return Err(ToolErrorCode::PermissionDenied
                .error_at(
                    &resolved.display,
                    format!(
                        "cannot write '{}': protected by the operator",
                        resolved.display
                    ),
                )
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
}

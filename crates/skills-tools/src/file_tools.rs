//! The tools for files: one virtual file system of the workspace, the skills and the mounts of a
//! host.

pub(crate) mod create;
pub(crate) mod ls;
mod place;
pub(crate) mod read;
#[cfg(test)]
mod tests;
pub(crate) mod write;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use skills_runtime::SkillRuntime;

use crate::files::guard;
use crate::files::list::Bounds;
use crate::looks::Looks;
use crate::mount::{DEFAULT_QUOTA_BYTES, MountTable, Mounted, Quota};
use crate::{Code, ToolError};

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

/// Whether files that look like keys and secrets are read: `.env*`, `*.pem`, `id_rsa*`, `.netrc`
/// and the like.
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
    pub(crate) looks: Arc<Looks>,
    table: MountTable,
    /// Where new skills are made, when the host has a place for them.
    drafts: Option<PathBuf>,
    /// What of the host no tool writes, by canonical paths.
    kept: Vec<PathBuf>,
    skill_writes: SkillWrites,
    key_files: KeyFiles,
    bounds: Bounds,
    /// For all skills together.
    skill_quota: Arc<Quota>,
    /// One write at a time: what is compared is what is replaced.
    writing: Mutex<()>,
}

impl FileTools {
    /// Puts the tools together; drafts have no place, [`SkillWrites`] and [`KeyFiles`] are the
    /// defaults.
    pub(crate) fn new(runtime: SkillRuntime, table: MountTable) -> Self {
        Self {
            looks: Arc::new(Looks::new(runtime.clone())),
            runtime,
            table,
            drafts: None,
            kept: Vec::new(),
            skill_writes: SkillWrites::default(),
            key_files: KeyFiles::default(),
            bounds: Bounds::DEFAULT,
            skill_quota: Arc::new(Quota::new(DEFAULT_QUOTA_BYTES)),
            writing: Mutex::new(()),
        }
    }

    /// Names the directory of new skills. The runtime needs it as an untrusted root, else nobody
    /// sees them.
    pub(crate) fn drafts(mut self, directory: Option<PathBuf>) -> Self {
        self.drafts = directory;
        self
    }

    /// Names what no tool writes, by canonical paths.
    pub(crate) fn kept(mut self, paths: Vec<PathBuf>) -> Self {
        self.kept = paths;
        self
    }

    /// Refuses what the host hides and what is its own. A place to write is not reached through
    /// links, so its path is where it is. Whether a skill is written is said elsewhere, and drafts
    /// may lie among what programs do not write.
    pub(crate) fn is_writable(&self, place: &Place) -> Result<(), ToolError> {
        self.is_visible(place, &place.host)?;
        let is_kept =
            |kept: &PathBuf| place.host.starts_with(kept) || kept.starts_with(&place.host);
        if place.skill.is_none() && self.kept.iter().any(is_kept) {
            let error = ToolError::new(
                Code::PermissionDenied,
                format!("'{}' is the host's own and is not written", place.shown),
            );
            return Err(error.at(&place.shown).hint("write elsewhere"));
        }
        Ok(())
    }

    /// Says whether a file is not read because its names say that it may hold keys or secrets.
    pub(crate) fn is_withheld<S: AsRef<str>>(&self, parts: &[S]) -> bool {
        self.key_files == KeyFiles::Refused && guard::is_key(parts)
    }

    /// Refuses to go on when something else was put in the place of a mount: programs would see
    /// that.
    pub(crate) fn are_in_place(&self) -> Result<(), ToolError> {
        match self
            .table
            .all()
            .find(|mount| mount.path.canonicalize().ok().as_ref() != Some(&mount.path))
        {
            Some(mount) => Err(ToolError::new(
                Code::Conflict,
                format!("'{}' is not where it was when the tools began", mount.name),
            )),
            None => Ok(()),
        }
    }

    /// Says whether whoever watches has to look again because of something that was written
    /// anywhere: mounts may lie where skills do.
    pub(crate) fn reaches_skills(&self) -> bool {
        self.skill_writes == SkillWrites::All && self.looks.is_watched()
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

//! Directories that a program sees, and their virtual names.

use std::path::{Path, PathBuf};

use skills_runtime::policy::Access;
use skills_runtime::{Entry, ExecutionOptions};

use super::ProgramTools;
use crate::ToolError;
use crate::path_map::PathMap;

/// The directories that a program works on, with their virtual names.
pub(super) struct VisibleDirs {
    dirs: Vec<VisibleDir>,
}

struct VisibleDir {
    /// `/workspace`, `/skills/pdf`, `/data`.
    alias: String,
    host_path: PathBuf,
    /// `None` for directories that the program can access anyway.
    access: Option<Access>,
}

impl ProgramTools {
    /// Returns the workspace, the mounts, and the skill.
    ///
    /// # Errors
    /// Fails if the directory of a mount was replaced.
    pub(super) fn visible_dirs(&self, entry: Option<&Entry>) -> Result<VisibleDirs, ToolError> {
        // Sandboxes mount by path, and the path could lead elsewhere by now.
        self.files.check_mounts_unchanged()?;
        let skill = entry.map(|entry| VisibleDir {
            alias: format!("/skills/{}", entry.name()),
            host_path: entry.directory().to_owned(),
            // The runtime itself grants read access to the skill.
            access: None,
        });
        let mounts = self.files.mounts().map(|mount| VisibleDir {
            alias: format!("/{}", mount.name),
            host_path: mount.path.clone(),
            access: Some(mount.access),
        });
        Ok(VisibleDirs {
            dirs: skill.into_iter().chain(mounts).collect(),
        })
    }
}

impl VisibleDirs {
    /// Adds the directories and their aliases to the options of a run.
    pub(super) fn add_to(&self, options: &mut ExecutionOptions) {
        options.optional_mounts.extend(
            self.dirs
                .iter()
                .filter_map(|dir| Some((dir.host_path.clone(), dir.access?))),
        );
        options.path_aliases.extend(
            self.dirs
                .iter()
                .map(|dir| (PathBuf::from(&dir.alias), dir.host_path.clone())),
        );
    }

    /// Returns the mapping of host paths to virtual paths.
    pub(super) fn path_map(&self) -> PathMap {
        self.dirs.iter().fold(PathMap::default(), |map, dir| {
            map.add(&dir.host_path, &dir.alias)
        })
    }

    /// Returns the mapping of virtual paths to host paths.
    pub(super) fn host_path_map(&self) -> PathMap {
        self.dirs.iter().fold(PathMap::default(), |map, dir| {
            map.add(Path::new(&dir.alias), dir.host_path.to_string_lossy())
        })
    }

    /// Returns the virtual path of a directory.
    pub(super) fn display_name(&self, host: &Path) -> Option<&str> {
        self.dirs
            .iter()
            .find(|dir| dir.host_path == host)
            .map(|dir| dir.alias.as_str())
    }
}

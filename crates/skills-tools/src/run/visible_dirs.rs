//! Directories that a program sees, and their virtual names.

use std::path::{Path, PathBuf};

use skills_runtime::policy::Access;
use skills_runtime::{Entry, ExecutionOptions};

use crate::ToolError;
use crate::path_map::PathMap;
use crate::virtual_files::VirtualFiles;

/// The directories that a program works on, with their virtual names.
pub(crate) struct VisibleDirs {
    dirs: Vec<VisibleDir>,
}

struct VisibleDir {
    /// `/workspace`, `/skills/pdf`, `/data`.
    alias: String,
    host_path: PathBuf,
    kind: DirKind,
}

enum DirKind {
    /// The skill that the program belongs to, which it can read anyway.
    OwnSkill,
    /// A further skill, of which it gets a copy.
    NamedSkill,
    /// The workspace or a mount.
    Mount(Access),
}

impl VisibleDirs {
    /// Returns the workspace, the mounts, the skill of the program, and the skills that its command
    /// names.
    ///
    /// # Errors
    /// Fails if the directory of a mount was replaced.
    pub(crate) fn new<'a>(
        files: &VirtualFiles,
        entry: Option<&Entry>,
        named: impl IntoIterator<Item = &'a Entry>,
    ) -> Result<Self, ToolError> {
        // Sandboxes mount by path, and the path could lead elsewhere by now.
        files.check_mounts_unchanged()?;
        let of_skill = |entry: &Entry, kind| VisibleDir {
            alias: format!("/skills/{}", entry.name()),
            host_path: entry.directory().to_owned(),
            kind,
        };
        let own = entry.map(|entry| of_skill(entry, DirKind::OwnSkill));
        let named = named
            .into_iter()
            .map(|entry| of_skill(entry, DirKind::NamedSkill));
        let mounts = files.mounts.all_mounts().map(|mount| VisibleDir {
            alias: format!("/{}", mount.name),
            host_path: mount.path.clone(),
            kind: DirKind::Mount(mount.access),
        });
        Ok(Self {
            dirs: own.into_iter().chain(named).chain(mounts).collect(),
        })
    }

    /// Adds the directories and their aliases to the options of a run.
    pub(crate) fn add_to(&self, options: &mut ExecutionOptions) {
        for dir in &self.dirs {
            match dir.kind {
                DirKind::OwnSkill => {}
                DirKind::NamedSkill => options.readable_skills.push(dir.host_path.clone()),
                DirKind::Mount(access) => {
                    let mount = (dir.host_path.clone(), access);
                    options.optional_mounts.push(mount);
                }
            }
        }
        options.path_aliases.extend(
            self.dirs
                .iter()
                .map(|dir| (PathBuf::from(&dir.alias), dir.host_path.clone())),
        );
    }

    /// Returns the mapping of host paths to virtual paths.
    pub(crate) fn path_map(&self) -> PathMap {
        self.dirs.iter().fold(PathMap::default(), |map, dir| {
            map.add(&dir.host_path, &dir.alias)
        })
    }

    /// Returns the mapping of virtual paths to host paths.
    pub(crate) fn host_path_map(&self) -> PathMap {
        self.dirs.iter().fold(PathMap::default(), |map, dir| {
            map.add(Path::new(&dir.alias), dir.host_path.to_string_lossy())
        })
    }

    /// Returns the innermost directory that contains a path of the host.
    pub(crate) fn enclosing(&self, path: &Path) -> Option<&Path> {
        let directories = self.dirs.iter().map(|dir| dir.host_path.as_path());
        directories
            .filter(|directory| path.starts_with(directory))
            .max_by_key(|directory| directory.components().count())
    }

    #[cfg(test)]
    pub(crate) fn of_mount(alias: &str, path: &Path, access: Access) -> Self {
        Self {
            dirs: vec![VisibleDir {
                alias: alias.to_owned(),
                host_path: path.to_owned(),
                kind: DirKind::Mount(access),
            }],
        }
    }

    /// Returns the virtual path of a directory.
    pub(crate) fn display_name(&self, host: &Path) -> Option<&str> {
        self.dirs
            .iter()
            .find(|dir| dir.host_path == host)
            .map(|dir| dir.alias.as_str())
    }
}

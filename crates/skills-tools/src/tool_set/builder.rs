//! Puts the tools of a host together.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_runtime::policy::innermost_protected_name;
use skills_runtime::{Root, SkillRuntime};

use super::{Inner, ToolSet};
use crate::catalog_tools::CatalogTools;
use crate::file_tools::FileTools;
use crate::hidden_dirs::canonicalize_existing;
use crate::mount::{Access, MountTable};
use crate::overrides::OverrideStore;
use crate::publication::Publisher;
use crate::registry::{RegistryOptions, ScriptScanner};
use crate::run::{ProgramTools, SessionDirectories};
use crate::{KeyFileAccess, Mount, MountError, SkillWrites};

/// Puts a [`ToolSet`] together.
///
/// Defaults: all tools, no workspace, no mounts, no place for new skills, changes of administrators
/// kept in memory, new scripts are tools, a missing variable is told and hinders nothing, keys and
/// secrets are not read, drafts alone are written.
#[must_use]
pub struct ToolSetBuilder {
    runtime: SkillRuntime,
    workspace: Option<Mount>,
    mounts: Vec<Mount>,
    drafts_dir: Option<PathBuf>,
    protected_paths: Vec<PathBuf>,
    skill_writes: SkillWrites,
    key_file_access: KeyFileAccess,
    overrides: OverrideStore,
    registry_options: RegistryOptions,
    groups: Vec<ToolGroup>,
}

/// Groups of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolGroup {
    /// `skills_ls`, `skills_read`, `skills_write`, `skills_create`, `skills_run`, `skills_bash`.
    Workspace,
    /// `run_skill_script`.
    ScriptExecutor,
    /// `search_skills`, `load_skill`, `read_skill_resource`: for models without access to files.
    Catalog,
    /// A tool for each script of a skill.
    ScriptTools,
}

/// Whether scripts that nobody said anything of are tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum DefaultScriptState {
    /// They are.
    #[default]
    Enabled,
    /// They are when an administrator turns them on.
    Disabled,
}

/// What becomes of the scripts of a skill whose `primaryEnv` has no value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum MissingEnv {
    /// They are tools, and the host is told.
    #[default]
    Warn,
    /// They are no tools, and the host is told.
    Skip,
}

/// Why tools cannot be put together.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ToolSetBuildError(#[from] Repr);

#[derive(Debug, thiserror::Error)]
enum Repr {
    #[error(transparent)]
    Mount(#[from] MountError),
    #[error("the drafts of skills ({}) have to be a root of the runtime that is not trusted, or what a model makes runs unseen", path.display())]
    DraftsTrusted { path: PathBuf },
    #[error("the drafts of skills ({}) and the trusted root {} lie in each other, so that drafts would be used unseen", path.display(), root.display())]
    DraftsInRoot { path: PathBuf, root: PathBuf },
    #[error(
        "the mount {mount:?} may be written, and it and the trusted root {} lie in each other, so that skills in use could be changed; keep them \
         apart, make the mount read-only, or let skills be written", root.display()
    )]
    RootInMount { mount: String, root: PathBuf },
    #[error("the drafts of skills ({}) and the mount {mount:?} lie in each other, so that one would get around the rules of the other", path.display())]
    DraftsInMount { path: PathBuf, mount: String },
    #[error(
        "the mount {mount:?} holds {}, where private copies of skills lie: choose a narrower directory, or set TMPDIR to a directory elsewhere",
        scratch.display()
    )]
    ScratchInMount { mount: String, scratch: PathBuf },
}

impl ToolSetBuilder {
    pub(super) fn new(runtime: SkillRuntime) -> Self {
        Self {
            runtime,
            workspace: None,
            mounts: Vec::new(),
            drafts_dir: None,
            protected_paths: Vec::new(),
            skill_writes: SkillWrites::default(),
            key_file_access: KeyFileAccess::default(),
            overrides: OverrideStore::in_memory(),
            registry_options: RegistryOptions {
                default_script_state: DefaultScriptState::default(),
                missing_env: MissingEnv::default(),
            },
            groups: vec![
                ToolGroup::Workspace,
                ToolGroup::ScriptExecutor,
                ToolGroup::Catalog,
                ToolGroup::ScriptTools,
            ],
        }
    }

    /// Chooses the groups of tools, in their order, each once.
    pub fn tool_groups(mut self, boxes: impl IntoIterator<Item = ToolGroup>) -> Self {
        self.groups = Vec::new();
        for toolbox in boxes {
            if !self.groups.contains(&toolbox) {
                self.groups.push(toolbox);
            }
        }
        self
    }

    /// Sets the workspace; whatever its name is, it is called `workspace`. Programs write there
    /// where rules allow that besides.
    pub fn workspace(mut self, mount: Mount) -> Self {
        self.workspace = Some(mount);
        self
    }

    /// Adds a directory.
    pub fn mount(mut self, mount: Mount) -> Self {
        self.mounts.push(mount);
        self
    }

    /// Sets where new skills are made. It is made with the first of them, and has to be a root of
    /// the runtime that is not trusted, so that new skills are seen and nothing of them runs until
    /// a person moves them to another root. It lies in no mount.
    pub fn drafts_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.drafts_dir = Some(directory.into());
        self
    }

    /// Names files and directories of the host's own, such as its rules and records, that no tool
    /// writes wherever they are mounted. What programs may write is the policy's to say.
    pub fn protect(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.protected_paths.extend(paths);
        self
    }

    /// Chooses which skills a model may write into.
    pub fn skill_writes(mut self, skill_writes: SkillWrites) -> Self {
        self.skill_writes = skill_writes;
        self
    }

    /// Chooses whether files that look like keys and secrets are read.
    pub fn key_file_access(mut self, key_files: KeyFileAccess) -> Self {
        self.key_file_access = key_files;
        self
    }

    /// Chooses where changes of administrators are kept.
    pub fn overrides(mut self, overrides: OverrideStore) -> Self {
        self.overrides = overrides;
        self
    }

    /// Chooses whether scripts that nobody said anything of are tools.
    pub fn default_script_state(mut self, new_scripts: DefaultScriptState) -> Self {
        self.registry_options.default_script_state = new_scripts;
        self
    }

    /// Chooses what becomes of the scripts of a skill whose `primaryEnv` has no value.
    pub fn missing_env(mut self, missing_env: MissingEnv) -> Self {
        self.registry_options.missing_env = missing_env;
        self
    }

    /// Finishes: opens the mounts.
    ///
    /// # Errors
    /// When a mount cannot be had under its name; when a mount that may be written and a trusted
    /// root lie in each other, unless skills may be written; when the place for new skills is no
    /// untrusted root, or lies in or around a mount or a trusted root; when a mount holds the
    /// runtime's scratch directory.
    pub fn build(self) -> Result<ToolSet, ToolSetBuildError> {
        let table = MountTable::new(self.workspace, self.mounts).map_err(Repr::from)?;
        let trusted = canonical_roots(&self.runtime, Root::is_trusted);
        if let Some(drafts) = self.drafts_dir.as_deref().map(canonicalize_existing) {
            check_drafts_not_mounted(&drafts, &table)?;
            check_drafts_root(
                &drafts,
                &trusted,
                &canonical_roots(&self.runtime, |root| !root.is_trusted()),
            )?;
        }
        if self.skill_writes != SkillWrites::All {
            check_trusted_roots_not_writable(&trusted, &table)?;
        }
        check_scratch_not_mounted(
            &canonicalize_existing(self.runtime.scratch_directory()),
            &table,
        )?;
        let files = FileTools::new(self.runtime.clone(), table).drafts_dir(self.drafts_dir);
        let files = Arc::new(
            files
                .protected_paths(
                    self.protected_paths
                        .iter()
                        .map(|path| canonicalize_existing(path))
                        .collect(),
                )
                .skill_writes(self.skill_writes)
                .key_file_access(self.key_file_access),
        );
        let overrides = Arc::new(self.overrides);
        let programs = Arc::new(ProgramTools {
            runtime: self.runtime.clone(),
            files: Arc::clone(&files),
            overrides: Arc::clone(&overrides),
            default_script_state: self.registry_options.default_script_state,
            sessions: SessionDirectories::default(),
        });
        let scripts = Arc::new(ScriptScanner::new(
            self.runtime.clone(),
            Arc::clone(&files.catalog_cache),
            self.registry_options,
        ));
        let knowledge = CatalogTools {
            runtime: self.runtime.clone(),
            files: Arc::clone(&files),
        };
        let library = Publisher::new(self.runtime.clone(), Arc::clone(&files));
        let (runtime, terms, boxes) = (self.runtime, self.registry_options, self.groups);
        Ok(ToolSet {
            inner: Arc::new(Inner {
                runtime,
                files,
                catalog_tools: knowledge,
                publisher: library,
                program_tools: programs,
                script_scanner: scripts,
                overrides,
                registry_options: terms,
                groups: boxes,
            }),
        })
    }
}

/// Whoever could write drafts as plain files would get around what is asked of a `SKILL.md`.
fn check_drafts_not_mounted(drafts: &Path, table: &MountTable) -> Result<(), Repr> {
    let overlaps = |path: &Path| path.starts_with(drafts) || drafts.starts_with(path);
    match table.all_mounts().find(|mount| overlaps(&mount.path)) {
        Some(mount) => Err(Repr::DraftsInMount {
            path: drafts.to_owned(),
            mount: mount.name.clone(),
        }),
        None => Ok(()),
    }
}

/// The roots of a runtime, by where they really lie.
fn canonical_roots(runtime: &SkillRuntime, is_wanted: impl Fn(&Root) -> bool) -> Vec<PathBuf> {
    runtime
        .discovery()
        .roots()
        .iter()
        .filter(|root| is_wanted(root))
        .map(|root| canonicalize_existing(root.path()))
        .collect()
}

/// Refuses drafts that would be skills like others.
fn check_drafts_root(
    drafts: &Path,
    trusted: &[PathBuf],
    untrusted: &[PathBuf],
) -> Result<(), Repr> {
    if let Some(root) = trusted
        .iter()
        .find(|root| root.starts_with(drafts) || drafts.starts_with(root))
    {
        return Err(Repr::DraftsInRoot {
            path: drafts.to_owned(),
            root: root.clone(),
        });
    }
    if untrusted.iter().any(|root| root == drafts) {
        Ok(())
    } else {
        Err(Repr::DraftsTrusted {
            path: drafts.to_owned(),
        })
    }
}

/// Refuses a mount through which skills in use could be written. What lies at or below a protected
/// name (`.claude`, `.agents`, …) is not written anyway, neither by tools nor by programs.
fn check_trusted_roots_not_writable(trusted: &[PathBuf], table: &MountTable) -> Result<(), Repr> {
    for mount in table
        .all_mounts()
        .filter(|mount| mount.access == Access::ReadWrite)
    {
        let is_protected = |root: &Path| innermost_protected_name(root, &mount.path).is_some();
        let overlaps = |root: &&PathBuf| {
            root.starts_with(&mount.path) && !is_protected(root) || mount.path.starts_with(root)
        };
        if let Some(root) = trusted.iter().find(overlaps) {
            return Err(Repr::RootInMount {
                mount: mount.name.clone(),
                root: root.clone(),
            });
        }
    }
    Ok(())
}

/// Refuses a mount around the scratch directory: through it the private copies that run could be
/// changed, or those of others be read.
fn check_scratch_not_mounted(scratch: &Path, table: &MountTable) -> Result<(), Repr> {
    match table
        .all_mounts()
        .find(|mount| scratch.starts_with(&mount.path))
    {
        Some(mount) => Err(Repr::ScratchInMount {
            mount: mount.name.clone(),
            scratch: scratch.to_owned(),
        }),
        None => Ok(()),
    }
}

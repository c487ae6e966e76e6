//! Builder for tool sets.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_runtime::{Remedy, Root, SkillRuntime};

use super::ToolSet;
use super::active_skills::ActiveSkills;
use super::inner::Inner;
use crate::folded_paths::canonicalize_existing;
use crate::mount::{Access, MountTable};
use crate::overrides::OverrideStore;
use crate::publication::Publisher;
use crate::registry::ScriptScanner;
use crate::run::{HookMode, ProgramOptions, ProgramRunner, Remedies, SessionDirectories};
use crate::virtual_files::VirtualFiles;
use crate::{DefaultScriptState, Mount, MountError, SkillWrites, ToolGroup};

/// Configures and builds a [`ToolSet`].
///
/// By default, the tools are [`ToolGroup::DEFAULT`], there is no workspace, mount or drafts directory,
/// overrides are held in memory, new scripts are tools, and only drafts can be written.
///
/// ```
/// use serde_json::json;
/// use skills_tools::runtime::discovery::Trust;
/// use skills_tools::runtime::{Root, Scope, SkillRuntime};
/// use skills_tools::{CallContext, ToolGroup, ToolSet};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// let (skills, drafts) = (directory.path().join("skills"), directory.path().join("drafts"));
/// # std::fs::create_dir(&skills)?;
/// let runtime = SkillRuntime::builder()
///     .root(Root::new(&skills, Scope::User))
///     .root(Root::new(&drafts, Scope::User).trust(Trust::Untrusted))
///     .build();
/// let tools = ToolSet::builder(runtime)
///     .tool_groups(ToolGroup::ALL)
///     .drafts_dir(&drafts)
///     .build()?;
/// let context = CallContext::default();
/// let draft = json!({"name": "greet", "description": "Says hello.", "instructions": "Hello!"});
/// let created = tools.call("skills_create", draft, &context).await?;
/// assert_eq!(created.structured["status"], "created");
/// // A draft is not used as a skill ...
/// let name = json!({"name": "greet"});
/// assert!(tools.call("load_skill", name.clone(), &context).await?.is_error);
/// // ... until a user accepts it, which moves it to a trusted root.
/// std::fs::rename(drafts.join("greet"), skills.join("greet"))?;
/// assert!(!tools.call("load_skill", name, &context).await?.is_error);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct ToolSetBuilder {
    runtime: SkillRuntime,
    workspace: Option<Mount>,
    mounts: Vec<Mount>,
    drafts_dir: Option<PathBuf>,
    protected_paths: Vec<PathBuf>,
    skill_writes: SkillWrites,
    overrides: OverrideStore,
    default_script_state: DefaultScriptState,
    groups: Vec<ToolGroup>,
    program_options: ProgramOptions,
    remedies: Remedies,
    hooks: HookMode,
}

/// Error of building a tool set.
///
/// The configuration would bypass a restriction (overlapping mounts, roots or drafts directories),
/// or a mount cannot be opened. The message contains host paths and is meant for the operator.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ToolSetBuildError(#[from] Repr);

#[derive(Debug, thiserror::Error)]
pub(super) enum Repr {
    #[error(transparent)]
    Mount(#[from] MountError),
    #[error("invalid drafts directory {}: expected an untrusted root of the runtime, so that drafts do not run", path.display())]
    DraftsTrusted { path: PathBuf },
    #[error("drafts directory {} and trusted root {} overlap, so that drafts would be trusted", path.display(), root.display())]
    DraftsInRoot { path: PathBuf, root: PathBuf },
    #[error(
        "writable mount `{mount}` is in the trusted root {}, so that active skills could be changed; use another directory, \
         make the mount read-only, or allow writing skills", root.display()
    )]
    RootInMount { mount: String, root: PathBuf },
    #[error("mount `{mount}` is in the drafts directory {}, so that writes would bypass the validation of drafts", path.display())]
    DraftsInMount { path: PathBuf, mount: String },
    #[error(
        "mount `{mount}` contains {}, the directory with private copies of skills; mount a subdirectory, or set TMPDIR to another directory",
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
            overrides: OverrideStore::default(),
            default_script_state: DefaultScriptState::default(),
            groups: ToolGroup::DEFAULT.to_vec(),
            program_options: ProgramOptions::default(),
            remedies: Remedies::default(),
            hooks: HookMode::default(),
        }
    }

    /// Selects the groups of tools, in the order of their listing. Tools of other groups are neither
    /// listed nor callable.
    pub fn tool_groups(mut self, groups: impl IntoIterator<Item = ToolGroup>) -> Self {
        self.groups = groups.into_iter().collect();
        self
    }

    /// Sets the workspace; its name is always `workspace`, whatever name the mount has. Relative
    /// paths of a model are below it, and programs see it at `/workspace`. Programs can write to it
    /// only if policy allows that, too.
    pub fn workspace(mut self, mount: Mount) -> Self {
        self.workspace = Some(mount);
        self
    }

    /// Adds a mount. Names must be unique, and directories must not overlap; [`build`](Self::build)
    /// checks both.
    pub fn mount(mut self, mount: Mount) -> Self {
        self.mounts.push(mount);
        self
    }

    /// Sets the directory for drafts, which is created with the first draft. It must be an
    /// untrusted root of the runtime, so that drafts are listed but do not run until a user moves
    /// them to another root. It must not contain a mount.
    pub fn drafts_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.drafts_dir = Some(directory.into());
        self
    }

    /// Sets paths that no tool may write, such as rules and audit logs, even if they are inside a
    /// mount. Access of programs is up to the policy.
    pub fn protect(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.protected_paths.extend(paths);
        self
    }

    /// Selects the skills that a model may write to; by default, drafts only.
    pub fn skill_writes(mut self, skill_writes: SkillWrites) -> Self {
        self.skill_writes = skill_writes;
        self
    }

    /// Sets the store of the tool overrides; by default, they are held in memory. Overrides apply
    /// to script tools, to `run_skill_script` and to scripts that `skills_run` starts.
    pub fn overrides(mut self, overrides: OverrideStore) -> Self {
        self.overrides = overrides;
        self
    }

    /// Selects whether scripts without an operator override are tools and can be run; by default,
    /// they are and can.
    pub fn default_script_state(mut self, state: DefaultScriptState) -> Self {
        self.default_script_state = state;
        self
    }

    /// Sets limits, paths and working directory of the programs that the tools start.
    pub fn program_options(mut self, options: ProgramOptions) -> Self {
        self.program_options = options;
        self
    }

    /// Sets how results tell a model what its user can change so that a failed call works, such as
    /// an option of the host application. The function returns it in the imperative, such as
    /// ``add `--allow spawn:git` to the server`` or ``ask your user to add …``, and `None` if there
    /// is nothing to do.
    /// By default, results name only the rule that would allow an operation.
    pub fn remedies(
        mut self,
        describe: impl Fn(&Remedy) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.remedies = Remedies::new(describe);
        self
    }

    /// Selects whether hooks of skills run before and after tool calls; by default, they do not.
    /// They use the approver of the runtime, never that of the call.
    pub fn hooks(mut self, mode: HookMode) -> Self {
        self.hooks = mode;
        self
    }

    /// Opens the mounts and builds the tool set. Does not scan for skills. Performs blocking I/O.
    ///
    /// # Errors
    /// Fails if a mount is invalid; if a writable mount is in a trusted root, unless skills may be
    /// written; if the drafts directory is not an untrusted root, contains a mount, or overlaps a
    /// trusted root; and if a mount contains the scratch directory of the runtime. Roots and drafts
    /// in a mount are read-only.
    pub fn build(mut self) -> Result<ToolSet, ToolSetBuildError> {
        let table = MountTable::new(self.workspace.take(), std::mem::take(&mut self.mounts))
            .map_err(Repr::from)?;
        let files = VirtualFiles {
            groups: self.groups,
            drafts_dir: self.drafts_dir,
            protected_paths: self.protected_paths,
            skill_writes: self.skill_writes,
            ..VirtualFiles::new(self.runtime.clone(), table)
        };
        check_directories(&files)?;
        let programs = ProgramRunner {
            files: Arc::new(files),
            overrides: Arc::new(self.overrides),
            default_script_state: self.default_script_state,
            sessions: Arc::<SessionDirectories>::default(),
            options: self.program_options,
            remedies: self.remedies,
        };
        Ok(ToolSet {
            inner: Arc::new(Inner {
                publisher: Publisher::new(Arc::clone(&programs.files)),
                programs,
                script_scanner: Arc::new(ScriptScanner::new(self.runtime.library().clone())),
                hooks: self.hooks,
                active_skills: Arc::<ActiveSkills>::default(),
                kept_outputs: Arc::default(),
            }),
        })
    }
}

/// Rejects a configuration with which writes would bypass a restriction.
pub(super) fn check_directories(files: &VirtualFiles) -> Result<(), ToolSetBuildError> {
    let runtime = &files.runtime;
    let trusted = canonical_roots(runtime, Root::is_trusted);
    // Checked once here, since the configuration of a tool set cannot change later.
    if let Some(drafts) = files.drafts_dir.as_deref().map(canonicalize_existing) {
        let untrusted = canonical_roots(runtime, |root| !root.is_trusted());
        check_drafts_not_mounted(&drafts, files)?;
        check_drafts_root(&drafts, &trusted, &untrusted)?;
    }
    if files.skill_writes != SkillWrites::All {
        check_trusted_roots_not_writable(&trusted, files)?;
    }
    for directory in runtime.executor().copy_directories() {
        check_scratch_not_mounted(&canonicalize_existing(directory), files)?;
    }
    Ok(())
}

/// Rejects mounts in the drafts directory: writing drafts as plain files would bypass the validation
/// of `SKILL.md`. A drafts directory in a mount is protected instead.
fn check_drafts_not_mounted(drafts: &Path, files: &VirtualFiles) -> Result<(), Repr> {
    match files
        .mounts
        .all_mounts()
        .find(|mount| mount.path.starts_with(drafts))
    {
        Some(mount) => Err(Repr::DraftsInMount {
            path: drafts.to_owned(),
            mount: mount.name.clone(),
        }),
        None => Ok(()),
    }
}

fn canonical_roots(runtime: &SkillRuntime, is_wanted: impl Fn(&Root) -> bool) -> Vec<PathBuf> {
    runtime
        .library()
        .discovery()
        .roots()
        .iter()
        .filter(|root| is_wanted(root))
        .map(|root| canonicalize_existing(root.path()))
        .collect()
}

/// Rejects a drafts directory whose skills would be trusted.
fn check_drafts_root(
    drafts: &Path,
    trusted: &[PathBuf],
    untrusted: &[PathBuf],
) -> Result<(), Repr> {
    // Both directions: a trusted root inside the drafts directory would make new drafts trusted,
    // too.
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

/// Rejects a writable mount in a trusted root, through which active skills could be written. A root
/// in a mount is protected instead; programs cannot write to roots anyway.
fn check_trusted_roots_not_writable(trusted: &[PathBuf], files: &VirtualFiles) -> Result<(), Repr> {
    for mount in files
        .mounts
        .all_mounts()
        .filter(|mount| mount.access == Access::ReadWrite)
    {
        if let Some(root) = trusted.iter().find(|root| mount.path.starts_with(root)) {
            return Err(Repr::RootInMount {
                mount: mount.name.clone(),
                root: root.clone(),
            });
        }
    }
    Ok(())
}

/// Rejects a mount that contains the scratch directory: private copies that run could be changed,
/// or those of others be read.
fn check_scratch_not_mounted(scratch: &Path, files: &VirtualFiles) -> Result<(), Repr> {
    match files
        .mounts
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

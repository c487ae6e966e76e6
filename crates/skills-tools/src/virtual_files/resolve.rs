//! Resolution of virtual paths to skills, mounts and directories.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use skills_runtime::discovery::{InactiveEntry, InactiveReason, Lookup};
use skills_runtime::{Entry, is_link_of_keys};

use super::{SkillWrites, VirtualFiles};
use crate::files::sensitive::{is_key_file, may_hold_key_by_content};
use crate::files::{io_error, join_parts, open};
use crate::folded_paths::FoldedPaths;
use crate::mount::{Access, OpenMount, WriteQuota};
use crate::nearest_name::{is_near, nearest_file_name};
use crate::virtual_path::{Anchor, VirtualPath, escape_for_display, invalid_part_reason};
use crate::{ToolError, ToolErrorCode};

/// Maximum number of names that are compared with a missing one.
const MAX_COMPARED_NAMES: usize = 1_000;

/// The object that a virtual path refers to.
pub(crate) enum PathTarget {
    /// The list of skills.
    SkillList,
    /// A path below a directory.
    Path(Box<ResolvedPath>),
}

/// A path below a directory. It need not exist.
pub(crate) struct ResolvedPath {
    /// The directory that the path cannot leave.
    pub(crate) base_dir: Arc<Dir>,
    /// Plain names below `base_dir`.
    pub(crate) parts: Vec<String>,
    pub(crate) access: Access,
    /// The path as it is shown to a model.
    pub(crate) display: String,
    /// The host path, for sandboxes; never shown to a model. Symlinks below `base_dir` are not
    /// resolved.
    pub(crate) host_path: PathBuf,
    /// The skill that contains the path.
    pub(crate) skill: Option<ContainingSkill>,
    pub(crate) quota: Arc<WriteQuota>,
}

/// The skill that contains a path.
pub(crate) struct ContainingSkill {
    pub(crate) entry: Entry,
    /// The file name of its `SKILL.md`, as it is on disk.
    pub(crate) file_name: String,
}

impl VirtualFiles {
    /// Resolves a path to a file or directory.
    ///
    /// # Errors
    /// As [`locate`](Self::locate), and `is_a_directory` for the list of skills.
    pub(crate) fn resolve(&self, path: &VirtualPath) -> Result<ResolvedPath, ToolError> {
        match self.locate(path)? {
            PathTarget::Path(resolved) => Ok(*resolved),
            PathTarget::SkillList => Err(ToolErrorCode::IsADirectory
                .error_at(
                    "/skills",
                    "cannot use '/skills' as a path: it is the list of skills",
                )
                .with_hint("list the skills with skills_ls, then use `/skills/NAME`")),
        }
    }

    /// Resolves a path to a file, a directory or the list of skills.
    ///
    /// # Errors
    /// `path_outside_mounts` if no mount contains the path, and `skill_not_found`.
    pub(crate) fn locate(&self, path: &VirtualPath) -> Result<PathTarget, ToolError> {
        let parts = path.parts();
        let outside_mounts = |reason| Err(self.outside_mounts_error(path, reason));
        let anchor = path.anchor();
        if anchor == Anchor::Skills {
            return match parts.split_first() {
                None => Ok(PathTarget::SkillList),
                Some((name, rest)) => self.resolve_in_skill(name, rest).map(PathTarget::from_path),
            };
        }
        // Host paths first: a mount that exposes its host path is more specific than a name that
        // is equal to its first component.
        if anchor == Anchor::Absolute
            && let Some((mount, rest)) = self.mounts.find_by_host_path(parts)
        {
            return Ok(PathTarget::from_path(resolve_in_mount(mount, rest)));
        }
        // Programs see the mount `data` at `/data`, so `/data/x` is accepted, too.
        if anchor != Anchor::Workspace
            && let Some((name, rest)) = parts.split_first()
            && let Some(mount) = self.mounts.find_by_name(name)
        {
            return Ok(PathTarget::from_path(resolve_in_mount(mount, rest)));
        }
        match self.mounts.workspace() {
            _ if anchor == Anchor::Absolute => {
                outside_mounts("not in the workspace, a skill or a mount")
            }
            Some(mount) => Ok(PathTarget::from_path(resolve_in_mount(mount, parts))),
            // Without a workspace, the list of skills is the only root there is.
            None if parts.is_empty() => Ok(PathTarget::SkillList),
            None => outside_mounts("there is no workspace"),
        }
    }

    fn resolve_in_skill(&self, name: &str, rest: &[String]) -> Result<ResolvedPath, ToolError> {
        let (entry, is_draft) = self.find_skill(name)?;
        let cannot_open = |cause: &dyn Display| {
            ToolErrorCode::SkillNotFound.error_at(
                format!("/skills/{name}"),
                format!("cannot open the files of skill `{name}`: {cause}"),
            )
        };
        // Opened again for each call: the directory may have been replaced since the scan, and a
        // locked skill may have changed.
        let files = entry.open().map_err(|error| cannot_open(&error))?;
        let directory = files.directory().try_clone();
        let directory = directory.map_err(|error| cannot_open(&error))?;
        // Decided for each path, since a skill can be accepted at any time and is read-only from
        // then on.
        let may_write = match self.skill_writes {
            SkillWrites::Never => false,
            SkillWrites::Drafts => is_draft,
            // A write to its temporary copy would be lost.
            SkillWrites::All => entry.has_directory(),
        };
        Ok(ResolvedPath {
            base_dir: Arc::new(directory),
            parts: rest.to_vec(),
            access: if may_write {
                Access::ReadWrite
            } else {
                Access::ReadOnly
            },
            display: join_display(&format!("/skills/{name}"), rest),
            host_path: join_parts(entry.directory(), rest),
            skill: Some(ContainingSkill {
                file_name: files.file_name().to_owned(),
                entry,
            }),
            quota: Arc::clone(&self.skill_quota),
        })
    }

    /// Finds a skill by exact name, and returns whether it is a draft.
    pub(crate) fn find_skill(&self, name: &str) -> Result<(Entry, bool), ToolError> {
        self.runtime.library().current_catalog();
        self.find_cached_skill(name)
    }

    /// Finds a skill in the catalog of the last scan.
    pub(crate) fn find_cached_skill(&self, name: &str) -> Result<(Entry, bool), ToolError> {
        let (catalog, escaped_name) = (self.runtime.library().catalog(), escape_for_display(name));
        let error = |message: String| {
            ToolErrorCode::SkillNotFound.error_at(format!("/skills/{escaped_name}"), message)
        };
        match catalog.find_by_name(name) {
            Lookup::Found(entry) => Ok((entry.clone(), false)),
            Lookup::Inactive(inactive) if self.is_draft(inactive.entry(), inactive.reason()) => {
                Ok((inactive.entry().clone(), true))
            }
            Lookup::Inactive(inactive) => {
                let reason = inactive.reason().code();
                Err(
                    error(format!("skill `{escaped_name}` is inactive: {reason}"))
                        .with_hint(inactive_hint(inactive)),
                )
            }
            // Neither is chosen: a new skill must not receive reads and runs that were meant for
            // the other one.
            Lookup::Ambiguous(entries) => Err(error(format!(
                "skill name `{escaped_name}` is ambiguous: {} skills have it",
                entries.len()
            ))
            .with_hint("ask your user to rename or disable all but one")),
            Lookup::Unknown(nearest) => {
                let near = nearest
                    .into_iter()
                    .filter(|known| is_near(name, known) || is_beginning(name, known));
                let hint = match near.collect::<Vec<_>>().as_slice() {
                    [] => "list the skills: call skills_ls with path `/skills`".to_owned(),
                    names => format!("did you mean `{}`?", names.join("`, `")),
                };
                Err(error(format!("skill `{escaped_name}` not found")).with_hint(hint))
            }
        }
    }

    /// Finds an active skill in the catalog of the last scan. A draft does not run and is not used.
    pub(crate) fn find_active(&self, name: &str) -> Option<Entry> {
        let (entry, is_draft) = self.find_cached_skill(name).ok()?;
        (!is_draft).then_some(entry)
    }

    /// Returns true if an inactive skill is a draft.
    pub(crate) fn is_draft(&self, entry: &Entry, reason: &InactiveReason) -> bool {
        // Entries have canonical paths. The directory may not exist yet, and then nothing is a
        // draft.
        let Some(Ok(drafts)) = self.drafts_dir.as_ref().map(|drafts| drafts.canonicalize()) else {
            return false;
        };
        // Only direct children: a nested skill was not created by `skills_create`.
        *reason == InactiveReason::Untrusted && entry.directory().parent() == Some(drafts.as_path())
    }

    fn outside_mounts_error(&self, path: &VirtualPath, problem: &str) -> ToolError {
        // The names that exist help a model to correct the path.
        let names: Vec<String> = self
            .mounts
            .names()
            .iter()
            .map(|name| format!("`/{name}`"))
            .collect();
        let message = format!("invalid path '{path}': {problem}");
        ToolErrorCode::PathOutsideMounts
            .error_at(path.to_string(), message)
            .with_hint(format!("start the path with one of: {}", names.join(", ")))
    }

    /// Opens a path as a directory, and returns its canonical path below
    /// [`base_dir`](ResolvedPath::base_dir).
    ///
    /// # Errors
    /// As [`ResolvedPath::open_directory`], and `permission_denied` for a hidden directory.
    pub(crate) fn open_directory(
        &self,
        resolved: &ResolvedPath,
    ) -> Result<(Dir, Vec<OsString>), ToolError> {
        // Once as written and once after resolving symlinks, since either can be hidden.
        self.check_visible(resolved, &resolved.host_path)?;
        let (directory, canonical) = resolved.open_directory(&self.hidden_dirs())?;
        self.check_visible(resolved, &resolved.canonical_host_path(&canonical))?;
        Ok((directory, canonical))
    }

    /// Rejects a path whose canonical path is hidden.
    pub(crate) fn check_visible(
        &self,
        resolved: &ResolvedPath,
        canonical: &Path,
    ) -> Result<(), ToolError> {
        if self.hidden_dirs().contains(canonical) {
            let message = format!(
                "cannot access '{}': hidden by the operator",
                resolved.display
            );
            return Err(ToolErrorCode::PermissionDenied.error_at(&resolved.display, message));
        }
        Ok(())
    }

    /// Returns the hidden directories.
    pub(crate) fn hidden_dirs(&self) -> FoldedPaths {
        FoldedPaths::resolve(self.runtime.executor().hidden_directories())
    }

    /// Canonicalizes an existing path. Rejects hidden paths and key files, by the name in the path
    /// and by the name of a symlink's target.
    pub(crate) fn canonicalize(&self, resolved: &ResolvedPath) -> Result<Vec<OsString>, ToolError> {
        self.check_visible(resolved, &resolved.host_path)?;
        let canonical = open::canonicalize(&resolved.base_dir, &resolved.parts)
            .map_err(|error| resolved.io_error(&error, &self.hidden_dirs()))?;
        self.check_visible(resolved, &resolved.canonical_host_path(&canonical))?;
        let names: Vec<_> = canonical
            .iter()
            .map(|name| name.to_string_lossy())
            .collect();
        // Both names count: a link with a harmless name must not expose a key.
        if is_key_file(&names)
            || is_key_file(&resolved.parts)
            || resolved.is_link_of_keys(&canonical)
            || resolved.may_hold_key_by_content(&canonical)
        {
            return Err(ToolErrorCode::PermissionDenied
                .error_at(
                    &resolved.display,
                    format!(
                        "cannot read '{}': it may contain keys or secrets",
                        resolved.display
                    ),
                )
                .with_hint("ask the user for the information you need from it"));
        }
        Ok(canonical)
    }
}

impl PathTarget {
    fn from_path(resolved: ResolvedPath) -> Self {
        Self::Path(Box::new(resolved))
    }
}

impl ResolvedPath {
    /// Returns true if a file has another name by which it may hold keys.
    fn is_link_of_keys(&self, canonical: &[OsString]) -> bool {
        let file = self.canonical_host_path(canonical);
        has_links(&file) && is_link_of_keys(&self.base_path(), &file)
    }

    /// Returns true if a file may hold a key by its content, and its name or that of a link to it can
    /// be one of a key.
    fn may_hold_key_by_content(&self, canonical: &[OsString]) -> bool {
        let file = self.canonical_host_path(canonical);
        let linked = self.parts.last().map(OsStr::new);
        let names = [linked, canonical.last().map(OsString::as_os_str)];
        let mut names = names.into_iter().flatten();
        names.any(|name| may_hold_key_by_content(name, &file))
    }

    /// Returns the host path of [`base_dir`](Self::base_dir).
    pub(crate) fn base_path(&self) -> PathBuf {
        self.host_path
            .ancestors()
            // `host_path` is the base plus the parts, so removing them gives the base.
            .nth(self.parts.len())
            .map_or_else(|| self.host_path.clone(), PathBuf::from)
    }

    /// Returns the host path of canonical names below [`base_dir`](Self::base_dir).
    fn canonical_host_path(&self, canonical: &[OsString]) -> PathBuf {
        join_parts(&self.base_path(), canonical)
    }

    /// Returns [`base_dir`](Self::base_dir) as it is shown to a model.
    pub(crate) fn base_display(&self) -> &str {
        let parts = join_display("", &self.parts);
        self.display.strip_suffix(&parts).unwrap_or(&self.display)
    }

    /// Returns the error of an operation on this path. If it does not exist, the hint names the path
    /// that was probably meant, which is not one of the `hidden` directories.
    fn io_error(&self, error: &std::io::Error, hidden: &FoldedPaths) -> ToolError {
        let tool_error = io_error(error, &self.display);
        if tool_error.code != ToolErrorCode::NotFound {
            return tool_error;
        }
        match self.nearest_path(hidden) {
            Some(nearest) => tool_error.with_hint(format!("did you mean `{nearest}`?")),
            None => tool_error,
        }
    }

    /// Returns the path with its first missing component replaced by the name in the same directory
    /// that was probably meant. A path through a symlink has none: its target could be hidden.
    fn nearest_path(&self, hidden: &FoldedPaths) -> Option<String> {
        let mut directory = self.base_dir.try_clone().ok()?;
        let mut host_path = self.base_path();
        for (index, part) in self.parts.iter().enumerate() {
            if directory.symlink_metadata(part).is_ok() {
                directory = directory.open_dir_nofollow(part).ok()?;
                host_path.push(part);
                continue;
            }
            let names: Vec<String> = directory
                .entries()
                .ok()?
                .take(MAX_COMPARED_NAMES)
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                // Names that a listing does not show are not suggested either.
                .filter(|name| !name.starts_with('.') && invalid_part_reason(name).is_none())
                .filter(|name| !hidden.contains(&host_path.join(name)))
                .collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let nearest = nearest_file_name(part, &names)?;
            let is_last = index + 1 == self.parts.len();
            if !is_last && !directory.metadata(nearest).ok()?.is_dir() {
                return None;
            }
            let mut parts = self.parts.clone();
            nearest.clone_into(&mut parts[index]);
            return Some(join_display(self.base_display(), &parts));
        }
        None
    }

    /// Opens the path as a directory, and returns its canonical path below
    /// [`base_dir`](Self::base_dir).
    ///
    /// # Errors
    /// Fails if it does not exist, is not a directory, or a symlink leaves `base_dir`.
    pub(super) fn open_directory(
        &self,
        hidden: &FoldedPaths,
    ) -> Result<(Dir, Vec<OsString>), ToolError> {
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotADirectory => ToolErrorCode::NotADirectory.error_at(
                &self.display,
                format!("'{}' is not a directory", self.display),
            ),
            _ => self.io_error(&error, hidden),
        };
        let canonical = open::canonicalize(&self.base_dir, &self.parts).map_err(failed)?;
        Ok((
            open::open_directory(&self.base_dir, &canonical).map_err(failed)?,
            canonical,
        ))
    }
}

fn resolve_in_mount(mount: &OpenMount, parts: &[String]) -> ResolvedPath {
    ResolvedPath {
        base_dir: Arc::clone(&mount.directory),
        parts: parts.to_vec(),
        access: mount.access,
        display: join_display(&format!("/{}", mount.name), parts),
        host_path: join_parts(&mount.path, parts),
        skill: None,
        quota: Arc::clone(&mount.quota),
    }
}

fn join_display(start: &str, parts: &[String]) -> String {
    parts
        .iter()
        .fold(start.to_owned(), |path, part| format!("{path}/{part}"))
}

/// Returns true if the first words of a skill's name are the other name.
fn is_beginning(name: &str, known: &str) -> bool {
    let rest = known.strip_prefix(name).filter(|_| name.len() >= 3);
    rest.is_some_and(|rest| rest.starts_with(['-', '_']))
}

/// Returns what the user of a model can do about an inactive skill, or what the model can do.
fn inactive_hint(inactive: &InactiveEntry) -> &'static str {
    if inactive.is_of_untrusted_project() {
        "ask your user to trust the project with `skills trust --project`"
    } else {
        "list the available skills: call skills_ls with path `/skills`"
    }
}

/// Returns true for a file with several names.
#[cfg(unix)]
fn has_links(file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    file.symlink_metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.nlink() > 1)
}

#[cfg(not(unix))]
fn has_links(_file: &Path) -> bool {
    false
}

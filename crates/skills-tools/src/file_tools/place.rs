//! What a virtual path means here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use skills_runtime::Entry;
use skills_runtime::discovery::{InactiveReason, Lookup};

use super::{FileTools, SkillWrites};
use crate::files::{failure, open};
use crate::hidden::Hidden;
use crate::mount::{Access, Mounted, Quota};
use crate::path::{Anchor, VirtualPath, shown};
use crate::{Code, ToolError};

/// What a virtual path means.
pub(crate) enum Target {
    /// The list of skills.
    Catalogue,
    /// A place in a directory.
    Place(Box<Place>),
}

/// A place in a directory; whether something is there is another question.
pub(crate) struct Place {
    /// The directory that the path cannot leave.
    pub(crate) top: Arc<Dir>,
    /// Plain names below it.
    pub(crate) parts: Vec<String>,
    pub(crate) access: Access,
    /// The path that a model sees.
    pub(crate) shown: String,
    /// The path on this machine, for sandboxes; no model sees it. Below it symlinks were not
    /// followed yet.
    pub(crate) host: PathBuf,
    /// The skill that it lies in.
    pub(crate) skill: Option<SkillPlace>,
    pub(crate) quota: Arc<Quota>,
}

/// The skill that a place lies in.
pub(crate) struct SkillPlace {
    pub(crate) entry: Entry,
    /// How its `SKILL.md` is spelled.
    pub(crate) file_name: String,
}

impl FileTools {
    /// Finds the place that a path means.
    ///
    /// # Errors
    /// As [`locate`](Self::locate), and `is_a_directory` for the list of skills.
    pub(crate) fn resolve(&self, path: &VirtualPath) -> Result<Place, ToolError> {
        match self.locate(path)? {
            Target::Place(place) => Ok(*place),
            Target::Catalogue => {
                let error = ToolError::new(
                    Code::IsADirectory,
                    "'skills' is the list of skills, not a directory of files",
                );
                Err(error
                    .at("skills")
                    .hint("list it with skills_ls, then use skills/NAME"))
            }
        }
    }

    /// Finds what a path means.
    ///
    /// # Errors
    /// `path_outside_mounts` when no mount has it, and `skill_not_found`.
    pub(crate) fn locate(&self, path: &VirtualPath) -> Result<Target, ToolError> {
        let parts = path.parts();
        match (path.anchor(), parts.split_first()) {
            (Anchor::Skills, None) => Ok(Target::Catalogue),
            (Anchor::Skills, Some((name, rest))) => self.in_skill(name, rest).map(Target::of),
            (Anchor::Absolute, _) if self.table.mirrored(parts).is_some() => self
                .table
                .mirrored(parts)
                .map(|(mount, rest)| Target::of(in_mount(mount, rest)))
                .ok_or_else(|| self.outside(path, "is gone")),
            // `/data/x` is what programs know the mount `data` by.
            (Anchor::Absolute | Anchor::Relative, Some((name, rest)))
                if self.table.named(name).is_some() =>
            {
                self.table
                    .named(name)
                    .map(|mount| Target::of(in_mount(mount, rest)))
                    .ok_or_else(|| self.outside(path, "is gone"))
            }
            (Anchor::Absolute, _) => {
                Err(self.outside(path, "lies in no directory that the tools see"))
            }
            (Anchor::Workspace | Anchor::Relative, _) => match self.table.workspace() {
                Some(mount) => Ok(Target::of(in_mount(mount, parts))),
                None if parts.is_empty() => Ok(Target::Catalogue),
                None => Err(self.outside(path, "would lie in the workspace, and there is none")),
            },
        }
    }

    fn in_skill(&self, name: &str, rest: &[String]) -> Result<Place, ToolError> {
        let (entry, is_draft) = self.skill(name)?;
        let gone = || {
            ToolError::new(
                Code::SkillNotFound,
                format!("the files of skill '{name}' cannot be opened"),
            )
            .at(format!("skills/{name}"))
        };
        let files = entry.open().map_err(|_| gone())?;
        let top = files.directory().try_clone().map_err(|_| gone())?;
        let may_write = match self.skill_writes {
            SkillWrites::Never => false,
            SkillWrites::Drafts => is_draft,
            SkillWrites::All => true,
        };
        Ok(Place {
            top: Arc::new(top),
            parts: rest.to_vec(),
            access: if may_write {
                Access::ReadWrite
            } else {
                Access::ReadOnly
            },
            shown: joined(&format!("skills/{name}"), rest),
            host: rest
                .iter()
                .fold(entry.directory().to_owned(), |path, part| path.join(part)),
            skill: Some(SkillPlace {
                file_name: files.file_name().to_owned(),
                entry,
            }),
            quota: Arc::clone(&self.skill_quota),
        })
    }

    /// Finds a skill by its name alone, and whether it is a draft.
    pub(crate) fn skill(&self, name: &str) -> Result<(Entry, bool), ToolError> {
        self.looks.catalog();
        self.known_skill(name)
    }

    /// Finds a skill in the catalogue of the last look.
    pub(crate) fn known_skill(&self, name: &str) -> Result<(Entry, bool), ToolError> {
        let (catalog, told) = (self.runtime.catalog(), shown(name));
        let error = |message: String| {
            ToolError::new(Code::SkillNotFound, message).at(format!("skills/{told}"))
        };
        match catalog.named(name) {
            Lookup::Found(entry) => Ok((entry.clone(), false)),
            Lookup::Inactive(inactive) if self.is_draft(inactive.entry(), inactive.reason()) => {
                Ok((inactive.entry().clone(), true))
            }
            Lookup::Inactive(inactive) => {
                let reason = inactive.reason().code();
                Err(error(format!("skill '{told}' is not used here: {reason}"))
                    .hint("list the skills that are with skills_ls of `skills`"))
            }
            Lookup::Ambiguous(entries) => Err(error(format!(
                "{} skills have the name '{told}'",
                entries.len()
            ))
            .hint("a person has to rename or disable all but one")),
            Lookup::Unknown(nearest) => {
                let hint = match nearest.as_slice() {
                    [] => "list the skills with skills_ls of `skills`".to_owned(),
                    names => format!("did you mean {}?", names.join(", ")),
                };
                Err(error(format!("skill '{told}' not found")).hint(hint))
            }
        }
    }

    /// Whether a skill that is not used is a draft.
    pub(crate) fn is_draft(&self, entry: &Entry, reason: &InactiveReason) -> bool {
        let Some(Ok(drafts)) = self.drafts.as_ref().map(|drafts| drafts.canonicalize()) else {
            return false;
        };
        *reason == InactiveReason::Untrusted && entry.directory().parent() == Some(drafts.as_path())
    }

    fn outside(&self, path: &VirtualPath, problem: &str) -> ToolError {
        let names: Vec<String> = self
            .table
            .names()
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        let error = ToolError::new(Code::PathOutsideMounts, format!("'{path}' {problem}"));
        error
            .at(path.to_string())
            .hint(format!("paths begin with one of {}", names.join(", ")))
    }

    /// Opens a place as a directory, and says where it really is below its [`top`](Place::top).
    ///
    /// # Errors
    /// As [`Place::directory`], and `permission_denied` in a hidden directory.
    pub(crate) fn directory(&self, place: &Place) -> Result<(Dir, Vec<OsString>), ToolError> {
        self.is_visible(place, &place.host)?;
        let (directory, real) = place.directory()?;
        self.is_visible(place, &place.real_host(&real))?;
        Ok((directory, real))
    }

    /// Refuses a place that really lies in a directory that the host hides.
    pub(super) fn is_visible(&self, place: &Place, real: &Path) -> Result<(), ToolError> {
        if self.hidden().holds(real) {
            let message = format!(
                "'{}' is hidden: the host keeps its own state there",
                place.shown
            );
            return Err(ToolError::new(Code::PermissionDenied, message).at(&place.shown));
        }
        Ok(())
    }

    /// Returns what the host hides.
    pub(crate) fn hidden(&self) -> Hidden {
        Hidden::of(self.runtime.hidden())
    }

    /// Finds where an existing path really is, and refuses what the host hides and what holds keys,
    /// by its own name or that of where a link leads.
    pub(super) fn real(&self, place: &Place) -> Result<Vec<OsString>, ToolError> {
        self.is_visible(place, &place.host)?;
        let real =
            open::real(&place.top, &place.parts).map_err(|error| failure(&error, &place.shown))?;
        self.is_visible(place, &place.real_host(&real))?;
        let names: Vec<_> = real.iter().map(|name| name.to_string_lossy()).collect();
        if self.is_withheld(&names) || self.is_withheld(&place.parts) {
            let error = ToolError::new(
                Code::PermissionDenied,
                format!("'{}' may hold keys or secrets and is not read", place.shown),
            );
            return Err(error
                .at(&place.shown)
                .hint("ask the user for what you need of it"));
        }
        Ok(real)
    }
}

impl Target {
    fn of(place: Place) -> Self {
        Self::Place(Box::new(place))
    }
}

impl Place {
    /// Returns the path of [`top`](Self::top) on this machine.
    pub(crate) fn base(&self) -> PathBuf {
        self.host
            .ancestors()
            .nth(self.parts.len())
            .map_or_else(|| self.host.clone(), PathBuf::from)
    }

    /// Returns the path on this machine of what really lies at these names below
    /// [`top`](Self::top).
    fn real_host(&self, real: &[OsString]) -> PathBuf {
        real.iter().fold(self.base(), |path, part| path.join(part))
    }

    /// Opens the place as a directory, and says where it really is below [`top`](Self::top).
    ///
    /// # Errors
    /// When it is not there, is none, or a link on the way leads out.
    pub(crate) fn directory(&self) -> Result<(Dir, Vec<OsString>), ToolError> {
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotADirectory => ToolError::new(
                Code::NotADirectory,
                format!("'{}' is not a directory", self.shown),
            )
            .at(&self.shown),
            _ => failure(&error, &self.shown),
        };
        let real = open::real(&self.top, &self.parts).map_err(failed)?;
        Ok((open::directory(&self.top, &real).map_err(failed)?, real))
    }
}

fn in_mount(mount: &Mounted, parts: &[String]) -> Place {
    Place {
        top: Arc::clone(&mount.directory),
        parts: parts.to_vec(),
        access: mount.access,
        shown: joined(&mount.name, parts),
        host: parts
            .iter()
            .fold(mount.path.clone(), |path, part| path.join(part)),
        skill: None,
        quota: Arc::clone(&mount.quota),
    }
}

fn joined(start: &str, parts: &[String]) -> String {
    parts
        .iter()
        .fold(start.to_owned(), |path, part| format!("{path}/{part}"))
}

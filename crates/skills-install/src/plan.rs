//! What a command would change, before anything is written.

use std::path::{Path, PathBuf};

use crate::capabilities::Difference;
use crate::error::InstallError;
use crate::installed::Installed;
use crate::{LockedSkill, SourceSpec, TrustChange};

/// Which version wins if an installed skill was edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LocalEdits {
    /// Neither: the command fails.
    #[default]
    Refuse,
    /// That of the source: the edits are lost.
    Theirs,
    /// The edited one: the skill is not changed.
    Ours,
}

/// What happens to one skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// It is installed for the first time.
    Add,
    /// It is replaced.
    Update,
    /// Its files are those of the lock file again: they were missing or edited.
    Restore,
    /// Its content is the same; at most its entry in the lock file changes.
    Keep,
    /// It was edited and stays as it is.
    KeepEdited,
}

/// A planned change of one skill.
#[derive(Debug)]
pub struct SkillChange {
    pub(crate) name: String,
    pub(crate) action: Action,
    pub(crate) difference: Difference,
    pub(crate) trust_changes: Vec<TrustChange>,
    pub(crate) locked: LockedSkill,
    pub(crate) staged: PathBuf,
    pub(crate) files: Vec<String>,
    /// What is at its place, and was shown as replaced.
    pub(crate) installed: Installed,
    pub(crate) moved_from: Option<SourceSpec>,
    pub(crate) description: String,
}

/// The changes of one command. Nothing of it is in use until [`Store::apply`](crate::Store::apply).
#[derive(Debug, Default)]
#[must_use = "a plan changes nothing"]
pub struct Plan {
    pub(crate) changes: Vec<SkillChange>,
    pub(crate) failures: Vec<UpdateFailure>,
}

/// Skills of a plan that are not changed, because their source could not be used.
#[derive(Debug)]
pub struct UpdateFailure {
    pub(crate) names: Vec<String>,
    pub(crate) error: InstallError,
}

impl UpdateFailure {
    /// Returns the names of the skills, sorted; of a skill that is not installed, its directory in the
    /// source, since it may have no name.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the cause.
    #[must_use]
    pub fn error(&self) -> &InstallError {
        &self.error
    }
}

impl SkillChange {
    /// Returns the name of the skill and of its directory.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description of the skill. It is text of the source: escape it for display.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns what happens to it.
    #[must_use]
    pub fn action(&self) -> Action {
        self.action
    }

    /// Returns what the new version changes.
    #[must_use]
    pub fn difference(&self) -> &Difference {
        &self.difference
    }

    /// Returns why a person must agree, other than what the skill asks for.
    #[must_use]
    pub fn trust_changes(&self) -> &[TrustChange] {
        &self.trust_changes
    }

    /// Returns the source in the lock file, if the skill is kept and its entry gets another one, such
    /// as a branch instead of a commit: later updates then follow that one.
    #[must_use]
    pub fn moved_from(&self) -> Option<&SourceSpec> {
        self.moved_from.as_ref()
    }

    /// Returns the new entry of the lock file.
    #[must_use]
    pub fn locked(&self) -> &LockedSkill {
        &self.locked
    }

    /// Returns the directory with the new files, which exists until the plan is applied or the
    /// store is closed.
    #[must_use]
    pub fn staged_directory(&self) -> &Path {
        &self.staged
    }

    /// Returns the paths of the new files in the staged directory, sorted, with `/` as separator.
    /// Symlinks are not among them.
    #[must_use]
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Returns true if a person must agree: the skill may do more than before, or what it is trusted
    /// by changed.
    #[must_use]
    pub fn needs_person(&self) -> bool {
        match self.action {
            Action::Update => self.difference.grows() || !self.trust_changes.is_empty(),
            Action::Add | Action::Restore | Action::Keep | Action::KeepEdited => {
                !self.trust_changes.is_empty()
            }
        }
    }
}

impl Plan {
    /// Returns the changes, sorted by name.
    #[must_use]
    pub fn changes(&self) -> &[SkillChange] {
        &self.changes
    }

    /// Returns the skills of the source, or of the lock file, that cannot be used.
    #[must_use]
    pub fn failures(&self) -> &[UpdateFailure] {
        &self.failures
    }

    /// Returns true if no skill is added or replaced, and none gets another source.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.iter().all(|change| match change.action {
            Action::Keep | Action::KeepEdited => change.moved_from.is_none(),
            Action::Add | Action::Update | Action::Restore => false,
        })
    }

    /// Adds a change, unless another source has a skill of the same name.
    pub(crate) fn insert(&mut self, change: Result<SkillChange, UpdateFailure>) {
        let change = match change {
            Ok(change) => change,
            Err(failure) => return self.failures.push(failure),
        };
        let name = change.name();
        let other = self.changes.iter().find(|other| other.name() == name);
        match other {
            None => self.changes.push(change),
            Some(other) => {
                let paths = [other, &change].map(|change| change.locked().source().to_string());
                let error = InstallError::same_name(name, paths.into());
                self.failures.push(UpdateFailure {
                    names: vec![name.to_owned()],
                    error,
                });
            }
        }
    }
}

/// Returns what happens to a skill, given what is at its place and its entry in the lock file.
pub(crate) fn action(
    installed: &Installed,
    old: Option<&LockedSkill>,
    new: &LockedSkill,
    edits: LocalEdits,
) -> Result<Action, InstallError> {
    let Some(old) = old else {
        return match edits {
            _ if *installed == Installed::Missing => Ok(Action::Add),
            // The files of another installer, or of a repository that has no lock file.
            _ if installed.is(new) => Ok(Action::Keep),
            LocalEdits::Theirs => Ok(Action::Update),
            LocalEdits::Ours => Ok(Action::KeepEdited),
            LocalEdits::Refuse => Err(InstallError::conflict(
                &new.name,
                "something that is not in the lock file has this name, with other content",
                "pass `--theirs` to replace it, or `--ours` to keep it",
            )),
        };
    };
    let replace = if old.content == new.content && old.executable == new.executable {
        Action::Restore
    } else {
        Action::Update
    };
    match edits {
        _ if *installed == Installed::Missing => Ok(replace),
        _ if installed.is(new) => Ok(Action::Keep),
        _ if installed.is(old) => Ok(replace),
        LocalEdits::Theirs => Ok(replace),
        LocalEdits::Ours => Ok(Action::KeepEdited),
        LocalEdits::Refuse => Err(InstallError::conflict(
            &new.name,
            "it was edited since it was installed",
            "pass `--theirs` to lose the edits, or `--ours` to keep them",
        )),
    }
}

//! What a command would change, before anything is written.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skills_discovery::{DigestCache, SkillFiles, fold_case, parallel_map};
use skills_packages::compare_npm_versions;
use skills_signature::is_same_signer;

use crate::capabilities::{Capabilities, Difference, ToolWords};
use crate::error::{InstallError, Repr};
use crate::find_skills::Wanted;
use crate::installed::Installed;
use crate::staged_skill::StagedSkill;
use crate::{Fetcher, LockFile, LockedSkill, Source, SourceSpec, Store};

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

/// Why a person must agree, whatever the skill asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustChange {
    /// The skill comes from another source than before.
    #[error("source changed from `{from}` to `{to}`")]
    Source {
        /// The identity of the source in the lock file, or of the last one of a removed skill.
        from: String,
        /// The identity of the new source.
        to: String,
    },
    /// The skill has another signer than before, or none.
    #[error("signer changed from `{from}` to `{to}`")]
    Signer {
        /// The signer in the lock file, or the last one of a removed skill.
        from: String,
        /// The new signer.
        to: String,
    },
    /// The new version was made before the installed one.
    #[error("the new version is older than the installed one")]
    Downgrade,
    /// The same tag or archive has other content than before.
    #[error("`{0}` has other content than before")]
    Replaced(String),
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
    name: String,
    action: Action,
    difference: Difference,
    pub(crate) trust_changes: Vec<TrustChange>,
    pub(crate) locked: LockedSkill,
    staged: PathBuf,
    files: Vec<String>,
    /// What is at its place, and was shown as replaced.
    installed: Installed,
    moved_from: Option<SourceSpec>,
}

/// The changes of one command. Nothing of it is in use until [`Store::apply`].
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
    /// Returns the names of the skills, sorted.
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
    pub fn staged_directory(&self) -> &std::path::Path {
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

    /// Returns the skills that [`Store::plan_update_all`] could not check. Other plans have none:
    /// their first error is returned instead.
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
}

impl Store {
    /// Fetches a source and plans to install its skills: those with the given names, or all if there
    /// are none. `words` translates entries of `allowed-tools` to words of policies.
    ///
    /// # Errors
    /// Fails if the source cannot be fetched, a skill is not valid or unsafe, or something else is at
    /// its place.
    pub fn plan_add(
        &mut self,
        fetcher: &Fetcher,
        spec: &SourceSpec,
        names: &[String],
        edits: LocalEdits,
        words: ToolWords<'_>,
    ) -> Result<Plan, InstallError> {
        let scratch = self.scratch()?;
        let fetcher = self.fetcher_for(fetcher, spec);
        let fetched = fetcher.fetch(spec, Wanted::Names(names), words, &scratch)?;
        let changes = self.plan_staged(&fetched.skills, edits, words).into_iter();
        let mut changes: Vec<SkillChange> = changes.collect::<Result<_, _>>()?;
        changes.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Plan {
            changes,
            failures: Vec::new(),
        })
    }

    /// Performs a plan: all of it or nothing.
    ///
    /// # Errors
    /// Fails if files cannot be written, or an installed skill changed since the plan was made.
    pub fn apply(&mut self, plan: Plan) -> Result<(), InstallError> {
        let replaces = |action| matches!(action, Action::Add | Action::Update | Action::Restore);
        let replaced: Vec<&SkillChange> = plan
            .changes
            .iter()
            .filter(|change| replaces(change.action))
            .collect();
        let checked = parallel_map(&replaced, |change| self.check_unchanged(change));
        checked.into_iter().collect::<Result<(), _>>()?;
        let mut lock_file = self.lock_file().clone();
        let mut install = Vec::new();
        for change in plan.changes {
            if change.action == Action::KeepEdited {
                continue;
            }
            if replaces(change.action) {
                install.push((change.name, change.staged));
            }
            lock_file.insert(change.locked);
        }
        if install.is_empty() && lock_file == *self.lock_file() {
            return Ok(());
        }
        self.change(lock_file, &install, &[])
    }

    /// Fails if the files of a change, or those that it replaces, are not those that were planned.
    fn check_unchanged(&self, change: &SkillChange) -> Result<(), InstallError> {
        // Edits that were made while a person was asked are not lost.
        if self.installed(&change.name) != change.installed {
            return Err(conflict(
                &change.name,
                "the installed files changed after they were compared",
                "run the command again",
            ));
        }
        // What was shown is what is installed.
        let files = SkillFiles::open_directory(&change.staged);
        let digest = files.and_then(|files| files.digest(&mut DigestCache::default()));
        if digest.ok() != Some(change.locked.content) {
            return Err(conflict(
                &change.name,
                "its files changed after they were checked",
                "run the command again",
            ));
        }
        Ok(())
    }

    /// Removes locked skills and their entries: all of them or none.
    ///
    /// # Errors
    /// Fails if one is not locked, or was edited and `edits` is not [`LocalEdits::Theirs`].
    pub fn remove(&mut self, names: &[String], edits: LocalEdits) -> Result<(), InstallError> {
        let mut lock_file: LockFile = self.lock_file().clone();
        for name in names {
            let locked = self.locked(name)?;
            let installed = self.installed(name);
            let is_edited = installed != Installed::Missing && !installed.is(locked);
            if is_edited && edits != LocalEdits::Theirs {
                return Err(conflict(
                    name,
                    "it was edited since it was installed",
                    "pass `--theirs` to lose the edits",
                ));
            }
            lock_file.remove(name);
        }
        self.change(lock_file, &[], names)
    }

    pub(crate) fn locked(&self, name: &str) -> Result<&LockedSkill, InstallError> {
        let locked = self.lock_file().skills().get(name);
        locked.ok_or_else(|| Repr::NotLocked(name.to_owned()).into())
    }

    pub(crate) fn installed(&self, name: &str) -> Installed {
        Installed::read(&self.root().join(name))
    }

    /// Compares staged skills with those that are installed, on several threads.
    pub(crate) fn plan_staged(
        &self,
        skills: &[StagedSkill],
        edits: LocalEdits,
        words: ToolWords<'_>,
    ) -> Vec<Result<SkillChange, InstallError>> {
        let entries = FoldedNames::new(self.entry_names());
        parallel_map(skills, |skill| {
            if let Some(other) = entries.confusable(&skill.name) {
                let problem = format!("some file systems confuse it with `{other}`");
                let help = "rename or remove the other one";
                return Err(conflict(&skill.name, &problem, help));
            }
            self.plan_skill(skill, edits, words)
        })
    }

    fn plan_skill(
        &self,
        skill: &StagedSkill,
        edits: LocalEdits,
        words: ToolWords<'_>,
    ) -> Result<SkillChange, InstallError> {
        let name = skill.name.clone();
        let (files, bytes) = skill.capabilities.size();
        let locked = LockedSkill {
            name: name.clone(),
            source: self.recorded_source(skill.source.clone()),
            revision: skill.revision.clone(),
            committed: skill.committed,
            tag: skill.is_tag,
            content: skill.content,
            files,
            bytes,
            executable: skill.capabilities.executables(),
            license: skill.capabilities.license().map(str::to_owned),
            asks: skill.capabilities.asks().map(str::to_owned).collect(),
            signer: skill.signer.clone(),
        };
        let old = self.lock_file().skills().get(&name);
        let at_place = self.installed(&name);
        let action = action(&at_place, old, &locked, edits)?;
        let invalid = |source| Repr::Invalid {
            path: name.clone(),
            source,
        };
        let new_files = SkillFiles::open_directory(&skill.directory).map_err(invalid)?;
        // An edited or broken installation is compared as far as it can be read.
        let installed = SkillFiles::open_directory(&self.root().join(&name)).ok();
        let installed = installed
            .filter(|_| old.is_some() || action == Action::Update)
            .and_then(|files| Some((Capabilities::read(&files, words).ok()?, files)));
        let installed = installed
            .as_ref()
            .map(|(capabilities, files)| (capabilities, files));
        Ok(SkillChange {
            difference: Difference::new(installed, &skill.capabilities, &new_files),
            // What stays as it is has the source and signer that it had.
            trust_changes: match old {
                _ if action == Action::KeepEdited => Vec::new(),
                Some(old) => trust_changes(old, &locked, self.root()),
                None => {
                    let source = self.identity_of(&locked);
                    self.known().trust_changes(&locked, source)
                }
            },
            moved_from: old
                .filter(|old| action == Action::Keep && old.source != locked.source)
                // It is a changed source, and its text may contain a password.
                .filter(|old| !matches!(old.source.source(), Source::Unusable { .. }))
                .map(|old| old.source.clone()),
            name,
            action,
            locked,
            staged: skill.directory.clone(),
            files: skill.capabilities.paths(),
            installed: at_place,
        })
    }
}

/// Names of directory entries, by their form that some file systems compare.
struct FoldedNames(BTreeMap<String, Vec<String>>);

impl FoldedNames {
    fn new(names: impl Iterator<Item = String>) -> Self {
        let mut folded: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for name in names {
            folded.entry(fold_case(&name)).or_default().push(name);
        }
        Self(folded)
    }

    /// Returns the entry whose name some file systems confuse with `name`, other than itself.
    fn confusable(&self, name: &str) -> Option<&String> {
        let entries = self.0.get(&fold_case(name))?;
        entries.iter().find(|other| *other != name)
    }
}

fn action(
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
            LocalEdits::Refuse => Err(conflict(
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
        LocalEdits::Refuse => Err(conflict(
            &new.name,
            "it was edited since it was installed",
            "pass `--theirs` to lose the edits, or `--ours` to keep them",
        )),
    }
}

fn trust_changes(old: &LockedSkill, new: &LockedSkill, root: &Path) -> Vec<TrustChange> {
    let mut changes = Vec::new();
    let [from, to] = [old, new].map(|locked| locked.source.clone().resolved_at(root).identity());
    let is_same_source = from == to;
    if !is_same_source {
        changes.push(TrustChange::Source { from, to });
    }
    if !is_same_signer(&old.signer, &new.signer) {
        changes.push(TrustChange::Signer {
            from: old.signer.clone(),
            to: new.signer.clone(),
        });
    }
    if is_same_source {
        let is_older = match (old.committed, new.committed) {
            (Some(before), Some(now)) => now < before,
            _ => false,
        };
        let packages = [old, new].map(package_of);
        if let [Some((from, _)), Some((to, _))] = packages
            && from != to
        {
            let [from, to] = [from, to].map(|name| format!("npm package {name}"));
            changes.push(TrustChange::Source { from, to });
        }
        if is_older || is_older_package(packages) {
            changes.push(TrustChange::Downgrade);
        }
        // A tag and an archive name one version; only a branch moves.
        let is_same_version = old.source.reference() == new.source.reference();
        if is_same_version
            && is_replaced(old, new)
            && let Some(version) = fixed_version(old, new)
        {
            changes.push(TrustChange::Replaced(version));
        }
    }
    changes
}

/// Returns the name and the version of the npm package that a skill came from.
fn package_of(locked: &LockedSkill) -> Option<(&str, &str)> {
    let package = locked.revision.as_deref()?.strip_prefix("npm:")?;
    package.rsplit_once('@')
}

/// Returns true if the second version of a package is older than the first one.
fn is_older_package(packages: [Option<(&str, &str)>; 2]) -> bool {
    let [Some((_, before)), Some((_, now))] = packages else {
        return false;
    };
    compare_npm_versions(now, before).is_some_and(Ordering::is_lt)
}

/// Returns true if one version of a source has another revision than before, or other content if the
/// revision is the number of the version.
fn is_replaced(old: &LockedSkill, new: &LockedSkill) -> bool {
    match new.source.source() {
        Source::ClawHub { .. } | Source::Packages(_) => {
            old.revision == new.revision && old.content != new.content
        }
        _ => old.revision != new.revision,
    }
}

/// Returns the version of a source if it is meant to have one content for ever: an archive, a tag of
/// a repository, a tag of a registry that looks like the number of a version, and every version of
/// ClawHub and of a package.
fn fixed_version(old: &LockedSkill, new: &LockedSkill) -> Option<String> {
    let reference = new.source.reference();
    match new.source.source() {
        Source::ArchiveFile(_) | Source::ArchiveUrl(_) => Some(new.source.to_string()),
        // A branch with the name of the tag replaces it, too.
        Source::Git(_) => reference.filter(|_| old.tag || new.tag).map(str::to_owned),
        Source::OciLayout(_) | Source::OciRegistry(_) => {
            let number = reference?.trim_start_matches('v');
            let is_number =
                number.starts_with(|c: char| c.is_ascii_digit()) && number.contains('.');
            is_number.then(|| number.to_owned())
        }
        Source::ClawHub { .. } | Source::Packages(_) => new.revision.clone(),
        _ => None,
    }
}

fn conflict(name: &str, problem: &str, help: &'static str) -> InstallError {
    Repr::Conflict {
        name: name.to_owned(),
        problem: problem.to_owned(),
        help,
    }
    .into()
}

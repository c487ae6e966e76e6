//! Plans to install, update and restore skills, with one fetch for each source.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use skills_discovery::{SkillFiles, fold_case, parallel_map};

use crate::capabilities::{Capabilities, Difference, ToolWords};
use crate::error::{InstallError, Repr};
use crate::find_skills::Wanted;
use crate::plan::{SkillChange, UpdateFailure, action};
use crate::staged_skill::StagedSkill;
use crate::trust_change::trust_changes;
use crate::{Action, Fetcher, LocalEdits, LockedSkill, Plan, SourceSpec, Store, TreePath};

/// Locked skills of one version of one source.
struct Group {
    spec: SourceSpec,
    /// Names, and directories of the source.
    skills: Vec<(String, TreePath)>,
    /// The same directories.
    directories: HashSet<TreePath>,
}

impl Group {
    /// Returns true if a directory is in the one of another skill.
    fn is_nested(&self, path: &TreePath) -> bool {
        let mut above = path.parent();
        while let Some(directory) = above {
            if self.directories.contains(&directory) {
                return true;
            }
            above = directory.parent();
        }
        false
    }
}

/// Where a skill is in its source.
#[derive(Debug, Clone, Copy)]
enum Position {
    /// At the directory of the source, as in the lock file.
    At,
    /// At or below that directory.
    Below,
}

impl Store {
    /// Fetches a source and plans to install its skills: those with the given names, or all if there
    /// are none. `words` translates entries of `allowed-tools` to words of policies.
    ///
    /// Without names, a skill that is not valid or unsafe is one of the
    /// [`failures`](Plan::failures) of the plan, by its directory in the source, and the others are
    /// planned nevertheless. At most 16 skills may have an entry that is never installed.
    ///
    /// # Errors
    /// Fails if the source cannot be fetched, a skill with one of the names or the only skill of the
    /// source is not valid or unsafe, or something else is at its place.
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
        let failures = fetched.rejected.into_iter();
        let mut failures: Vec<UpdateFailure> = failures
            .map(|(names, error)| UpdateFailure { names, error })
            .collect();
        failures.sort_by(|a, b| a.names.cmp(&b.names));
        Ok(Plan { changes, failures })
    }

    /// Fetches the sources of locked skills again and plans to replace them: those with the given
    /// names, or all if there are none. Each source is fetched once for all of its skills, except those in
    /// the directory of another one.
    ///
    /// A source that cannot be fetched, and a skill that cannot be replaced, is one of the
    /// [`failures`](Plan::failures) of the plan; the others are planned nevertheless.
    ///
    /// # Errors
    /// Fails if a skill is not locked, or files cannot be written.
    pub fn plan_update_all(
        &mut self,
        fetcher: &Fetcher,
        names: &[String],
        edits: LocalEdits,
        words: ToolWords<'_>,
    ) -> Result<Plan, InstallError> {
        let sources = self.sources(names)?;
        self.plan_skills(fetcher, sources, Position::At, edits, words)
    }

    /// Fetches the locked versions of skills and plans to install them where they are missing, or
    /// have other content: those with the given names, or all if there are none.
    ///
    /// A source that no longer has the locked content is one of the
    /// [`failures`](Plan::failures). Entries of the lock file stay as they are.
    ///
    /// # Errors
    /// As [`plan_update_all`](Self::plan_update_all).
    pub fn plan_restore(
        &mut self,
        fetcher: &Fetcher,
        names: &[String],
        edits: LocalEdits,
        words: ToolWords<'_>,
    ) -> Result<Plan, InstallError> {
        let mut sources = Vec::new();
        for (name, _) in self.sources(names)? {
            let locked = self.locked(&name)?;
            if !self.installed(&name).is(locked) {
                let source = locked.pinned_source().resolved_at(self.root());
                sources.push((name, source));
            }
        }
        let mut plan = self.plan_skills(fetcher, sources, Position::At, edits, words)?;
        let changes = std::mem::take(&mut plan.changes);
        for mut change in changes {
            match self.lock_file().skills().get(change.name()) {
                Some(locked)
                    if locked.content() == change.locked.content()
                        && locked.executable == change.locked.executable =>
                {
                    change.locked = locked.clone();
                    // The same version from the same source.
                    change.trust_changes.clear();
                    plan.changes.push(change);
                }
                _ => plan.failures.push(UpdateFailure {
                    error: Repr::NotLockedContent(change.name().to_owned()).into(),
                    names: vec![change.name().to_owned()],
                }),
            }
        }
        Ok(plan)
    }

    /// Fetches sources and plans to install the named skill of each, with one fetch for all skills
    /// of one version of one source. Skills are at or below the path of their source; if there are
    /// several, the directory has the name. A skill of another name is not installed. One in the
    /// directory of another one is fetched separately.
    ///
    /// A source that cannot be fetched, and a skill that cannot be installed, is one of the
    /// [`failures`](Plan::failures) of the plan; the others are planned nevertheless.
    ///
    /// # Errors
    /// Fails if files cannot be written.
    pub fn plan_sources(
        &mut self,
        fetcher: &Fetcher,
        sources: Vec<(String, SourceSpec)>,
        edits: LocalEdits,
        words: ToolWords<'_>,
    ) -> Result<Plan, InstallError> {
        self.plan_skills(fetcher, sources, Position::Below, edits, words)
    }

    fn plan_skills(
        &mut self,
        fetcher: &Fetcher,
        sources: Vec<(String, SourceSpec)>,
        position: Position,
        edits: LocalEdits,
        words: ToolWords<'_>,
    ) -> Result<Plan, InstallError> {
        let groups = groups(sources);
        let scratch = self.scratch()?;
        let mut plan = Plan::default();
        for (index, group) in groups.into_iter().enumerate() {
            let scratch = scratch.join(index.to_string());
            std::fs::create_dir(&scratch)
                .map_err(|error| InstallError::io("create", &scratch, error))?;
            match self.plan_group(fetcher, &group, position, edits, words, &scratch) {
                Ok(changes) => changes.into_iter().for_each(|change| plan.insert(change)),
                Err(error) => plan.failures.push(UpdateFailure {
                    names: group.skills.into_iter().map(|(name, _)| name).collect(),
                    error,
                }),
            }
        }
        plan.changes.sort_by(|a, b| a.name().cmp(b.name()));
        plan.failures.sort_by(|a, b| a.names.cmp(&b.names));
        Ok(plan)
    }

    /// Returns the sources of the named skills, or of all if there are none.
    fn sources(&self, names: &[String]) -> Result<Vec<(String, SourceSpec)>, InstallError> {
        let all: Vec<String> = self.lock_file().skills().keys().cloned().collect();
        let names = if names.is_empty() { &all } else { names };
        let source = |name: &String| {
            let source = self.locked(name)?.source().clone();
            Ok((name.clone(), source.resolved_at(self.root())))
        };
        names.iter().map(source).collect()
    }

    fn plan_group(
        &self,
        fetcher: &Fetcher,
        group: &Group,
        position: Position,
        edits: LocalEdits,
        words: ToolWords<'_>,
        scratch: &Path,
    ) -> Result<Vec<Result<SkillChange, UpdateFailure>>, InstallError> {
        let wanted = match position {
            Position::At => Wanted::At(&group.skills),
            Position::Below => Wanted::Below(&group.skills),
        };
        let fetcher = self.fetcher_for(fetcher, &group.spec);
        let fetched = fetcher.fetch(&group.spec, wanted, words, scratch)?;
        let rejected = fetched
            .rejected
            .into_iter()
            .map(|(names, error)| Err(UpdateFailure { names, error }));
        let changes = self.plan_staged(&fetched.skills, edits, words);
        let changes = changes.into_iter().zip(&fetched.skills);
        let changes = changes.map(|(change, skill)| {
            let names = vec![skill.name.clone()];
            change.map_err(|error| UpdateFailure { names, error })
        });
        Ok(changes.chain(rejected).collect())
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
                return Err(InstallError::conflict(&skill.name, &problem, help));
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
        let invalid = |source| InstallError::invalid(name.clone(), source);
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
                .filter(|old| !old.source.is_unusable())
                .map(|old| old.source.clone()),
            description: skill.capabilities.description().to_owned(),
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

    /// Returns another entry with a name that some file systems confuse with `name`.
    fn confusable(&self, name: &str) -> Option<&String> {
        let entries = self.0.get(&fold_case(name))?;
        entries.iter().find(|other| *other != name)
    }
}

/// Groups skills by their source and version. A skill in the directory of another one is in another
/// group: as files of a skill it is staged with it.
fn groups(mut sources: Vec<(String, SourceSpec)>) -> Vec<Group> {
    // Directories come before those in them.
    sources.sort_by(|(_, a), (_, b)| a.path().cmp(b.path()));
    let mut groups: Vec<Group> = Vec::new();
    for (name, source) in sources {
        let path = source.path().clone();
        let spec = source.with_path(TreePath::root());
        let fitting = groups
            .iter_mut()
            .find(|group| group.spec == spec && !group.is_nested(&path));
        let skill = (name, path.clone());
        match fitting {
            Some(group) if group.skills.contains(&skill) => {}
            Some(group) => {
                group.skills.push(skill);
                group.directories.insert(path);
            }
            None => groups.push(Group {
                spec,
                skills: vec![skill],
                directories: HashSet::from([path]),
            }),
        }
    }
    groups.iter_mut().for_each(|group| group.skills.sort());
    groups
}

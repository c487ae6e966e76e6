//! Plans to update many skills, with one fetch for each source.

use std::collections::HashSet;
use std::path::Path;

use crate::capabilities::ToolWords;
use crate::error::{InstallError, Repr};
use crate::find_skills::Wanted;
use crate::plan::{SkillChange, UpdateFailure};
use crate::{Fetcher, LocalEdits, Plan, SourceSpec, Store, TreePath};

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

impl Plan {
    /// Adds a change, unless another source has a skill of the same name.
    fn insert(&mut self, change: Result<SkillChange, UpdateFailure>) {
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
                let error = Repr::SameName {
                    name: name.to_owned(),
                    paths: paths.into(),
                };
                self.failures.push(UpdateFailure {
                    names: vec![name.to_owned()],
                    error: error.into(),
                });
            }
        }
    }
}

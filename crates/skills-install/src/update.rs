//! Plans to update many skills, with one fetch for each source.

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
}

impl Store {
    /// Fetches the sources of locked skills again and plans to replace them: those with the given
    /// names, or all if there are none. Each source is fetched once for all of its skills.
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
        let groups = self.groups(names)?;
        let scratch = self.scratch()?;
        let mut plan = Plan::default();
        for (index, group) in groups.into_iter().enumerate() {
            let scratch = scratch.join(index.to_string());
            std::fs::create_dir(&scratch)
                .map_err(|error| InstallError::io("create", &scratch, error))?;
            match self.plan_group(fetcher, &group, edits, words, &scratch) {
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

    /// Returns the named skills by their source and version.
    fn groups(&self, names: &[String]) -> Result<Vec<Group>, InstallError> {
        let all: Vec<String> = self.lock_file().skills().keys().cloned().collect();
        let names = if names.is_empty() { &all } else { names };
        let mut groups: Vec<Group> = Vec::new();
        for name in names {
            let source = self.locked(name)?.source().clone().resolved_at(self.root());
            let skill = (name.clone(), source.path().clone());
            let spec = source.with_path(TreePath::root());
            match groups.iter_mut().find(|group| group.spec == spec) {
                Some(group) if group.skills.contains(&skill) => {}
                Some(group) => group.skills.push(skill),
                None => groups.push(Group {
                    spec,
                    skills: vec![skill],
                }),
            }
        }
        groups.iter_mut().for_each(|group| group.skills.sort());
        Ok(groups)
    }

    fn plan_group(
        &self,
        fetcher: &Fetcher,
        group: &Group,
        edits: LocalEdits,
        words: ToolWords<'_>,
        scratch: &Path,
    ) -> Result<Vec<Result<SkillChange, UpdateFailure>>, InstallError> {
        let directories = group.skills.iter().map(|(_, directory)| directory.clone());
        let directories: Vec<TreePath> = directories.collect();
        let fetched = fetcher.fetch(
            &group.spec,
            Wanted::Directories(&directories),
            words,
            scratch,
        )?;
        let rejected = fetched.rejected.into_iter().map(|(directory, error)| {
            let skills = group.skills.iter();
            let names = skills.filter(|(_, path)| *path == directory);
            let names = names.map(|(name, _)| name.clone()).collect();
            Err(UpdateFailure { names, error })
        });
        let changes = fetched.skills.into_iter().map(|skill| {
            let names = vec![skill.name.clone()];
            self.plan_skill(skill, edits, words)
                .map_err(|error| UpdateFailure { names, error })
        });
        Ok(changes.chain(rejected).collect())
    }
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

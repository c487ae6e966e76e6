//! The programs that a run may start, and what would allow another one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use skills_policy::SpawnGrant;
use skills_process::ProgramFinder;
use skills_sandbox::{Job, RefusedOperation};
use skills_seccomp::OWN_PROGRAMS;

use super::never_allowed;
use super::program::ObservedProgram;
use crate::layer::execute_files_of_copy;
use crate::path_rule::{PathAccess, PathRule};
use crate::plan::{Plan, any_program_rules};
use crate::rootfs_plan::RootFsPlan;

/// The programs that a run may start.
pub(crate) struct GrantedPrograms {
    spawn: SpawnGrant,
    /// Canonical paths at or below which Landlock lets programs start.
    executable: BTreeSet<PathBuf>,
    /// The paths at or below which it lets them start if any program is granted.
    of_any: Vec<PathRule>,
    finder: ProgramFinder,
}

impl GrantedPrograms {
    pub(crate) fn new(plan: &Plan, job: &Job, finder: &ProgramFinder) -> Self {
        let finder = finder.with_interpreters(job.interpreters()).into_owned();
        let rules = plan.paths().iter();
        let executable = rules.filter(|rule| rule.access == PathAccess::Execute);
        let mut of_any = any_program_rules(job.grants(), &finder);
        if let (Some(_), Some(own)) = (
            plan.rootfs.as_ref().and_then(RootFsPlan::layer),
            job.grants().files().first(),
        ) {
            // If they are too many, a run that may start any program has no layer.
            let _ = execute_files_of_copy(own, &mut of_any);
        }
        Self {
            spawn: plan.spawn.clone(),
            executable: canonical_paths(executable).collect(),
            of_any,
            finder,
        }
    }

    /// Returns what is refused of starting a program; `None` if it starts, or if its file is not
    /// known and its name is granted.
    ///
    /// The operation is one that a rule would allow: a name is only for the program that a grant of this
    /// name starts, which need not be the file that was tried.
    pub(super) fn refused(&self, program: &ObservedProgram) -> Option<RefusedOperation> {
        let is_name_granted = self.spawn.allows_program(&program.name);
        let by_name = || RefusedOperation::StartProgram {
            name: program.name.clone(),
        };
        let Some(target) = &program.target else {
            let is_known = self.finder.find_program(&program.name).is_some();
            let refused = if is_known {
                by_name()
            } else {
                RefusedOperation::StartProcess
            };
            return (!is_name_granted).then_some(refused);
        };
        if is_below(target, &self.executable) {
            None
        } else if !is_name_granted && self.is_found(&program.name, target) {
            Some(by_name())
        } else if self.spawn != SpawnGrant::Any && self.starts_with_any(target) {
            Some(RefusedOperation::StartProcess)
        } else {
            Some(never_allowed(&OWN_PROGRAMS))
        }
    }

    /// Returns true if a grant of the name lets this file start.
    fn is_found(&self, name: &str, target: &Path) -> bool {
        let found = self.finder.find_program(name);
        found.is_some_and(|found| is_below(target, &found.executable_paths))
    }

    /// Returns true if a grant of any program lets this file start.
    fn starts_with_any(&self, target: &Path) -> bool {
        canonical_paths(self.of_any.iter()).any(|path| target.starts_with(path))
    }
}

fn is_below<'a>(target: &Path, paths: impl IntoIterator<Item = &'a PathBuf>) -> bool {
    paths.into_iter().any(|path| target.starts_with(path))
}

fn canonical_paths<'a>(rules: impl Iterator<Item = &'a PathRule>) -> impl Iterator<Item = PathBuf> {
    rules.filter_map(|rule| rule.path.canonicalize().ok())
}

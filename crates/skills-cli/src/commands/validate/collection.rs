//! Finds the skills of a collection and checks them in parallel.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use skills_runtime::discovery::{
    Discovery, HiddenDirectories, NestedSkills, SkillFileSymlinks, SkillFiles, SkipReason, Skipped,
    parallel_map,
};
use skills_runtime::{Catalog, Entry, Root, Scope};

use super::finding::Finding;
use crate::context::Context;
use crate::skill_path::SkillPath;

/// What a path of the command line is.
pub(super) enum Target {
    Skill(SkillPath),
    /// A path that does not exist, with the message about it.
    Missing {
        path: PathBuf,
        message: String,
    },
}

impl Target {
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }
}

/// The skills to check.
pub(super) struct Targets {
    pub(super) list: Vec<Target>,
    /// Whether a path is a collection, so that only skills with findings are of interest.
    pub(super) has_collection: bool,
    /// What the scan of collections did not search, as messages.
    pub(super) notes: Vec<String>,
}

/// Returns the skills that paths refer to, those of collections ordered by path.
pub(super) fn expand(paths: &[PathBuf], context: &Context) -> Targets {
    let mut targets = Targets {
        list: Vec::new(),
        has_collection: false,
        notes: Vec::new(),
    };
    for path in paths {
        match SkillPath::from_path(path) {
            Ok(skill) if is_collection(skill.directory()) => {
                add_collection(skill.directory(), context, &mut targets);
            }
            Ok(skill) => targets.list.push(Target::Skill(skill)),
            // A missing path does not end the check of the others.
            Err(error) => targets.list.push(Target::Missing {
                path: path.clone(),
                message: format!("{error:#}"),
            }),
        }
    }
    targets
}

/// Returns true if a directory is not a skill, so that it may have skills below it.
fn is_collection(directory: &Path) -> bool {
    directory.is_dir() && SkillFiles::open_directory(directory).is_err()
}

fn add_collection(directory: &Path, context: &Context, targets: &mut Targets) {
    let catalog = scan_collection(directory, context);
    let directories = skill_directories(&catalog);
    let limits = catalog.skipped().iter().filter(|skipped| is_limit(skipped));
    let deep = catalog
        .unread_skills()
        .iter()
        .filter(|skipped| is_deep(skipped));
    targets
        .notes
        .extend(limits.chain(deep).map(Skipped::to_string));
    if directories.is_empty() {
        // The message about a directory without a skill.
        targets
            .list
            .extend(SkillPath::from_path(directory).map(Target::Skill));
    }
    targets.has_collection |= !directories.is_empty();
    // Paths as the user wrote them: annotations are relative to the working directory.
    let canonical = directory.canonicalize().unwrap_or_default();
    for found in directories {
        let shown = match found.strip_prefix(&canonical) {
            Ok(below) => directory.join(below),
            Err(_) => found,
        };
        targets
            .list
            .extend(SkillPath::from_path(&shown).map(Target::Skill));
    }
}

/// Finds the skills below a directory, also nested and hidden ones.
fn scan_collection(directory: &Path, context: &Context) -> Catalog {
    let root = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let root = Root::new(root, Scope::Custom)
        .nested(NestedSkills::Search)
        .hidden(HiddenDirectories::Search)
        .skill_file_symlinks(SkillFileSymlinks::WithinRoot)
        .limits(context.with_given_limits(crate::context::given_root_limits()));
    Discovery::new([root]).scan()
}

/// Returns the directories of all skills, also of those that cannot be read, sorted.
fn skill_directories(catalog: &Catalog) -> BTreeSet<PathBuf> {
    let unread = catalog.skipped().iter().filter_map(|skipped| {
        let path = skipped.path();
        match skipped.reason() {
            SkipReason::Unreadable(_) if path.extension().is_some() => path.parent(),
            SkipReason::InvalidName => Some(path),
            _ => None,
        }
    });
    let read = catalog.all_entries().map(Entry::directory);
    read.chain(unread).map(Path::to_owned).collect()
}

fn is_limit(skipped: &Skipped) -> bool {
    matches!(
        skipped.reason(),
        SkipReason::TooManyDirectories { .. } | SkipReason::TooManyEntries { .. }
    )
}

fn is_deep(skipped: &Skipped) -> bool {
    matches!(skipped.reason(), SkipReason::TooDeep { .. })
}

/// Checks all skills on several threads; the results have the order of the targets. A missing path
/// has no findings.
pub(super) fn check_parallel(
    targets: &Targets,
    check: impl Fn(&SkillPath) -> Vec<Finding> + Sync,
) -> Vec<Vec<Finding>> {
    parallel_map(&targets.list, |target| match target {
        Target::Skill(skill) => check(skill),
        Target::Missing { .. } => Vec::new(),
    })
}

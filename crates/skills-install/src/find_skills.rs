//! Finds the wanted skills among the files of a source.

use std::collections::{BTreeMap, HashSet};

use crate::error::{InstallError, Repr};
use crate::{SourceSpec, TreePath};

/// Which skills of a source are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted<'a> {
    /// Those with these names, below the directory of the source; all if there are none.
    Names(&'a [String]),
    /// Those with these names, each exactly at its directory.
    At(&'a [(String, TreePath)]),
    /// Those with these names, each somewhere at or below its directory.
    Below(&'a [(String, TreePath)]),
}

/// Skills of a source that are not used, and why.
pub(crate) type Rejected = Vec<(Vec<String>, InstallError)>;

/// Returns the directories of skills that are each exactly at a place (`is_exact`), or at or below
/// it, with the names that the skill of each must have.
pub(crate) fn find_at_places(
    files: &[TreePath],
    spec: &SourceSpec,
    skills: &[(String, TreePath)],
    is_exact: bool,
    rejected: &mut Rejected,
) -> BTreeMap<TreePath, Vec<String>> {
    let mut found: BTreeMap<TreePath, Vec<String>> = BTreeMap::new();
    for (name, directory) in skills {
        let spec = spec.clone().with_path(directory.clone());
        let path = if is_exact {
            find_at(files, &spec)
        } else {
            find_below(files, &spec, name)
        };
        match path {
            Ok(path) => found.entry(path).or_default().push(name.clone()),
            Err(error) => rejected.push((vec![name.clone()], error)),
        }
    }
    found
}

/// Returns the directory of a source if a skill is exactly there. One that has moved is another
/// skill.
fn find_at(files: &[TreePath], spec: &SourceSpec) -> Result<TreePath, InstallError> {
    let is_here = |file: &TreePath| file.parent().as_ref() == Some(spec.path());
    if files.iter().any(is_here) {
        return Ok(spec.path().clone());
    }
    Err(no_skill(spec, None, std::iter::empty()))
}

/// Returns the directory of the only skill, or of the one in a directory with that name.
fn find_below(files: &[TreePath], spec: &SourceSpec, name: &str) -> Result<TreePath, InstallError> {
    let mut tops = top_skills(files, spec.path());
    let names: Vec<String> = tops.iter().map(directory_name).collect();
    if tops.len() > 1 {
        tops.retain(|directory| directory_name(directory) == name);
    }
    if tops.len() > 1 {
        return Err(same_name(name, &tops));
    }
    let name = name.to_owned();
    tops.pop()
        .ok_or_else(|| no_skill(spec, Some(&name), names.into_iter()))
}

/// Returns the directories of the skills of a source: those that probably have one of the given
/// names, and the others. Without names all are wanted.
pub(crate) fn find_named(
    files: &[TreePath],
    spec: &SourceSpec,
    names: &[String],
) -> Result<(Vec<TreePath>, Vec<TreePath>), InstallError> {
    let all = top_skills(files, spec.path());
    if all.is_empty() {
        return Err(no_skill(spec, names.first(), std::iter::empty()));
    }
    let is_likely = |path: &TreePath| names.is_empty() || is_named(path, names);
    Ok(all.into_iter().partition(is_likely))
}

/// Returns true if the directory of a skill has one of these names. The root of a source has none,
/// and may be any of them.
fn is_named(directory: &TreePath, names: &[String]) -> bool {
    directory.is_root() || names.contains(&directory_name(directory))
}

/// Returns the directories of the skills at or below a directory that are not part of another one.
fn top_skills(files: &[TreePath], path: &TreePath) -> Vec<TreePath> {
    let directories: Vec<TreePath> = files.iter().filter_map(TreePath::parent).collect();
    let start = start_directory(&directories, path);
    let below: Vec<&TreePath> = directories
        .iter()
        .filter(|directory| directory.strip_prefix(&start).is_some())
        .collect();
    // A `SKILL.md` below a skill is mostly an example.
    let all: HashSet<&str> = below.iter().map(|directory| directory.as_str()).collect();
    let tops = below.iter().filter(|directory| {
        let mut above = directory.ancestors().skip(1);
        !above.any(|above| all.contains(above))
    });
    let is_hidden = |directory: &TreePath| directory.names().any(|name| name.starts_with('.'));
    let (hidden, visible): (Vec<TreePath>, Vec<TreePath>) = tops
        .map(|directory| (*directory).clone())
        .partition(|directory| {
            directory
                .strip_prefix(&start)
                .is_some_and(|below| is_hidden(&below))
        });
    // Copies for clients are in hidden directories.
    if visible.is_empty() { hidden } else { visible }
}

/// Returns the last name of a directory; empty for the root of a source.
fn directory_name(directory: &TreePath) -> String {
    directory.file_name().unwrap_or_default().to_owned()
}

fn same_name(name: &str, paths: &[TreePath]) -> InstallError {
    InstallError::same_name(name, paths.iter().map(ToString::to_string).collect())
}

/// Returns the directory to search. Archives of repositories have one directory above all others,
/// which other programs do not write.
fn start_directory(directories: &[TreePath], path: &TreePath) -> TreePath {
    let has_skills = |path: &TreePath| {
        directories
            .iter()
            .any(|directory| directory.strip_prefix(path).is_some())
    };
    if has_skills(path) {
        return path.clone();
    }
    let first = directories
        .first()
        .and_then(|directory| directory.names().next());
    let below = first.and_then(|first| TreePath::new(first).ok()?.join(path.as_str()).ok());
    below
        .filter(|below| has_skills(below))
        .unwrap_or_else(|| path.clone())
}

pub(crate) fn no_skill(
    spec: &SourceSpec,
    name: Option<&String>,
    available: impl Iterator<Item = String>,
) -> InstallError {
    const MAX_SHOWN: usize = 20;
    Repr::NoSkill {
        from: spec.to_string(),
        name: name.cloned(),
        available: available.take(MAX_SHOWN).collect(),
        submodules: Vec::new(),
    }
    .into()
}

//! Finds the wanted skills among the files of a source.

use std::collections::{BTreeMap, HashSet};

use crate::error::{InstallError, Repr};
use crate::{SourceSpec, TreePath};

/// Which skills of a source are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted<'a> {
    /// Those with these names, below the directory of the source; all if there are none.
    Names(&'a [String]),
    /// Those at these directories of the source.
    Directories(&'a [TreePath]),
}

/// Returns the directories of the wanted skills by name.
pub(crate) fn find_wanted(
    files: &[TreePath],
    spec: &SourceSpec,
    wanted: Wanted<'_>,
    rejected: &mut Vec<(TreePath, InstallError)>,
) -> Result<BTreeMap<String, TreePath>, InstallError> {
    let directories = match wanted {
        Wanted::Names(names) => return find_skills(files, spec, names),
        Wanted::Directories(directories) => directories,
    };
    let mut found: BTreeMap<String, TreePath> = BTreeMap::new();
    for directory in directories {
        let skills = match find_skills(files, &spec.clone().with_path(directory.clone()), &[]) {
            Ok(skills) => skills,
            Err(error) => {
                rejected.push((directory.clone(), error));
                continue;
            }
        };
        for (name, path) in skills {
            if let Some(other) = found.insert(name.clone(), path.clone())
                && other != path
            {
                let paths = vec![other.to_string(), path.to_string()];
                return Err(Repr::SameName { name, paths }.into());
            }
        }
    }
    Ok(found)
}

/// Returns the directories of the wanted skills by name, where the name is that of the directory;
/// empty for a skill that is the root of its source.
fn find_skills(
    files: &[TreePath],
    spec: &SourceSpec,
    names: &[String],
) -> Result<BTreeMap<String, TreePath>, InstallError> {
    let directories: Vec<TreePath> = files.iter().filter_map(TreePath::parent).collect();
    let start = start_directory(&directories, spec.path());
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
    let (hidden, visible): (Vec<&TreePath>, Vec<&TreePath>) =
        tops.copied().partition(|directory| {
            directory
                .strip_prefix(&start)
                .is_some_and(|below| is_hidden(&below))
        });
    // Copies for clients are in hidden directories.
    let tops = if visible.is_empty() { hidden } else { visible };
    let mut found: BTreeMap<String, Vec<TreePath>> = BTreeMap::new();
    for directory in tops {
        let name = directory.file_name().unwrap_or_default().to_owned();
        found.entry(name).or_default().push(directory.clone());
    }
    let is_wanted = |name: &str| {
        names.is_empty() || name.is_empty() || names.iter().any(|wanted| wanted == name)
    };
    for name in names {
        if !found.contains_key(name) && !found.contains_key("") {
            return Err(no_skill(spec, Some(name), found.into_keys()));
        }
    }
    let mut wanted = BTreeMap::new();
    for (name, mut paths) in found {
        if !is_wanted(&name) {
            continue;
        }
        match (paths.pop(), paths.is_empty()) {
            (Some(path), true) => wanted.insert(name, path),
            (path, _) => {
                paths.extend(path);
                let paths = paths.iter().map(ToString::to_string).collect();
                return Err(Repr::SameName { name, paths }.into());
            }
        };
    }
    if wanted.is_empty() {
        return Err(no_skill(spec, None, std::iter::empty()));
    }
    Ok(wanted)
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

fn no_skill(
    spec: &SourceSpec,
    name: Option<&String>,
    available: impl Iterator<Item = String>,
) -> InstallError {
    const MAX_SHOWN: usize = 20;
    Repr::NoSkill {
        from: spec.to_string(),
        name: name.cloned(),
        available: available.take(MAX_SHOWN).collect(),
    }
    .into()
}

//! Resolves a path to the program behind it.

use std::path::{Path, PathBuf};

use super::bounded_read::SkipReason;
use super::prefix::{Prefix, is_system, remove_nested};
use super::resolved_program::ResolvedProgram;
use super::symlinks::follow_symlinks;
use super::{shim, venv};

/// Shims may point to shims, up to this depth.
const MAX_SHIMS: usize = 4;

/// Finds the program behind a path, without what depends on the kind of script that it was found
/// for; `None` if nothing exists there.
pub(super) fn resolve(found: &Path) -> Option<Result<ResolvedProgram, SkipReason>> {
    let mut links = match follow_symlinks(found)? {
        Ok(links) => links,
        Err(reason) => return Some(Err(reason)),
    };
    for _ in 0..MAX_SHIMS {
        match follow_shim(&links) {
            Ok(Some(next)) => links = next,
            Ok(None) => return Some(describe(&links)),
            Err(reason) => return Some(Err(reason)),
        }
    }
    Some(Err("too many nested shims".to_owned()))
}

/// Resolves one shim; `None` if the path is not a shim.
fn follow_shim(path: &[PathBuf]) -> Result<Option<Vec<PathBuf>>, SkipReason> {
    let Some(target) = shim::resolve_shim(path)? else {
        return Ok(None);
    };
    let nothing = || {
        Err(format!(
            "points to {}, which does not exist",
            target.display()
        ))
    };
    follow_symlinks(&target).unwrap_or_else(nothing).map(Some)
}

fn describe(links: &[PathBuf]) -> Result<ResolvedProgram, SkipReason> {
    let (Some(found), Some(executable)) = (links.first(), links.last()) else {
        return Err("target does not exist".to_owned());
    };
    let prefix = executable
        .parent()
        .map(Prefix::for_bin_directory)
        .unwrap_or_default();
    let (environment_of, environment) = find_environment(links)?.unzip();
    let readable = [prefix.readable, environment.unwrap_or_default()].concat();
    let readable = remove_nested(readable);
    let is_granted = |link: &&PathBuf| {
        is_system(link) || readable.iter().any(|granted| link.starts_with(granted))
    };
    // A name in granted paths is preferred, since programs find their own files from it.
    let name = environment_of
        .or_else(|| links.iter().find(is_granted))
        .unwrap_or(found);
    let conda = prefix.conda.iter();
    Ok(ResolvedProgram {
        kind: None,
        argv0: name.clone(),
        executable: executable.clone(),
        leading_args: Vec::new(),
        executable_paths: [executable.clone()]
            .into_iter()
            .chain(prefix.executable)
            .collect(),
        environment: conda
            .map(|conda| {
                (
                    "CONDA_PREFIX".to_owned(),
                    conda.to_string_lossy().into_owned(),
                )
            })
            .collect(),
        readable,
    })
}

/// Finds the virtual environment of a program: the link in it, and what it reads.
fn find_environment(links: &[PathBuf]) -> Result<Option<(&PathBuf, Vec<PathBuf>)>, SkipReason> {
    // In the order of the links: the name that is called decides, before what it points to.
    for link in links {
        if let Some(environment) = venv::readable_paths(link)? {
            return Ok(Some((link, environment)));
        }
    }
    Ok(None)
}

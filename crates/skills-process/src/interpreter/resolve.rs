//! Resolves a path to the program behind it.

use std::path::{Path, PathBuf};

use super::SkipReason;
use super::prefix::{Prefix, is_system, remove_nested};
use super::symlinks::follow_symlinks;
use super::tracked_fs::TrackedFs;
use super::{shim, venv};

/// Shims may point to shims, up to this depth.
const MAX_SHIMS: usize = 4;

/// A program without the parts that depend on the request.
#[derive(Debug, Clone)]
pub(super) struct ResolvedPath {
    pub(super) argv0: PathBuf,
    pub(super) executable: PathBuf,
    pub(super) readable: Vec<PathBuf>,
    pub(super) executable_paths: Vec<PathBuf>,
    pub(super) environment: Vec<(String, String)>,
    /// The kernel runs it with another program (shebang).
    pub(super) is_script: bool,
}

/// Finds the program behind a path; `None` if nothing exists there.
pub(super) fn resolve(
    found: &Path,
    disk: &mut TrackedFs,
) -> Option<Result<ResolvedPath, SkipReason>> {
    let mut links = match follow_symlinks(found, disk)? {
        Ok(links) => links,
        Err(reason) => return Some(Err(reason)),
    };
    for _ in 0..MAX_SHIMS {
        match follow_shim(&links, disk) {
            Ok(Some(next)) => links = next,
            Ok(None) => return Some(describe(&links, disk)),
            Err(reason) => return Some(Err(reason)),
        }
    }
    Some(Err("too many nested shims".to_owned()))
}

/// Resolves one shim; `None` if the path is not a shim.
fn follow_shim(path: &[PathBuf], disk: &mut TrackedFs) -> Result<Option<Vec<PathBuf>>, SkipReason> {
    let Some(target) = shim::resolve_shim(path, disk)? else {
        return Ok(None);
    };
    let nothing = || {
        Err(format!(
            "points to {}, which does not exist",
            target.display()
        ))
    };
    follow_symlinks(&target, disk)
        .unwrap_or_else(nothing)
        .map(Some)
}

fn describe(links: &[PathBuf], disk: &mut TrackedFs) -> Result<ResolvedPath, SkipReason> {
    let (Some(found), Some(executable)) = (links.first(), links.last()) else {
        return Err("target does not exist".to_owned());
    };
    let prefix = executable
        .parent()
        .map(|bin| Prefix::for_bin_directory(bin, disk))
        .unwrap_or_default();
    let mut readable = prefix.readable;
    let mut environment_of = None;
    // In the order of the links: the name that is called decides, before what it points to.
    for link in links {
        if let Some(environment) = venv::readable_paths(link, disk)? {
            readable.extend(environment);
            environment_of = Some(link);
            break;
        }
    }
    let readable = remove_nested(readable);
    let is_granted = |link: &&PathBuf| {
        is_system(link) || readable.iter().any(|granted| link.starts_with(granted))
    };
    // A name in granted paths is preferred, since programs find their own files from it.
    let name = environment_of
        .or_else(|| links.iter().find(is_granted))
        .unwrap_or(found);
    Ok(ResolvedPath {
        argv0: name.clone(),
        executable: executable.clone(),
        executable_paths: [executable.clone()]
            .into_iter()
            .chain(prefix.executable)
            .collect(),
        environment: prefix
            .conda
            .iter()
            .map(|conda| {
                (
                    "CONDA_PREFIX".to_owned(),
                    conda.to_string_lossy().into_owned(),
                )
            })
            .collect(),
        is_script: disk.is_script(executable),
        readable,
    })
}

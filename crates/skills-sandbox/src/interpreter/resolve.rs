//! From a path to the program behind it.

use std::path::{Path, PathBuf};

use super::SkipReason;
use super::prefix::{Prefix, is_system, remove_nested};
use super::symlinks::follow_symlinks;
use super::tracked_fs::TrackedFs;
use super::{shim, venv};

/// Shims may lead to shims, but not for ever.
const MAX_SHIMS: usize = 4;

/// A program without what depends on the question.
#[derive(Debug, Clone)]
pub(super) struct ResolvedPath {
    pub(super) argv0: PathBuf,
    pub(super) executable: PathBuf,
    pub(super) readable: Vec<PathBuf>,
    pub(super) executable_paths: Vec<PathBuf>,
    pub(super) environment: Vec<(String, String)>,
    /// The kernel runs it by another program.
    pub(super) is_script: bool,
}

/// Finds the program behind a path; `None` when nothing is there.
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
    Some(Err("its shims lead to shims".to_owned()))
}

/// Goes one shim further; `None` when this is no shim.
fn follow_shim(path: &[PathBuf], disk: &mut TrackedFs) -> Result<Option<Vec<PathBuf>>, SkipReason> {
    let Some(target) = shim::resolve_shim(path, disk)? else {
        return Ok(None);
    };
    let nothing = || {
        Err(format!(
            "it stands for {}, which is not there",
            target.display()
        ))
    };
    follow_symlinks(&target, disk)
        .unwrap_or_else(nothing)
        .map(Some)
}

fn describe(links: &[PathBuf], disk: &mut TrackedFs) -> Result<ResolvedPath, SkipReason> {
    let (Some(found), Some(executable)) = (links.first(), links.last()) else {
        return Err("it leads nowhere".to_owned());
    };
    let prefix = executable
        .parent()
        .map(|bin| Prefix::for_bin_directory(bin, disk))
        .unwrap_or_default();
    let mut readable = prefix.readable;
    let mut environment_of = None;
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

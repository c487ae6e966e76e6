//! The programs of the host that a run may start.

use std::path::{Path, PathBuf};

use skills_policy::SpawnGrant;

use super::system;
use crate::executable_set::{Executable, ExecutableSet};
use crate::parameter::is_printable;

/// Returns the programs that the grants name and the host has. One that is missing cannot start
/// anyway: a rule may name programs for skills of other hosts.
pub(super) fn granted_programs<'a>(
    spawn: &SpawnGrant,
    executables: &'a ExecutableSet,
) -> Vec<&'a Executable> {
    program_names(spawn)
        .filter_map(|name| executables.get(name))
        .collect()
}

/// Returns the names of the programs that may be started.
fn program_names(spawn: &SpawnGrant) -> impl Iterator<Item = &String> {
    let names = match spawn {
        SpawnGrant::Programs(names) => Some(names),
        SpawnGrant::None | SpawnGrant::Any => None,
    };
    names.into_iter().flatten()
}

/// Returns the paths by which interpreter and programs are called if these are not the system's:
/// symlinks, which callers follow.
pub(super) fn invoked_paths(
    executables: &ExecutableSet,
    spawn: &SpawnGrant,
    programs: &[&Executable],
) -> Vec<PathBuf> {
    let interpreter = executables.interpreter();
    let own_files = [interpreter.argv0().to_owned()]
        .into_iter()
        .filter(|name| name != interpreter.path());
    let granted = program_names(spawn)
        .flat_map(|name| executables.path_candidates(name))
        .filter(|path| is_printable(path));
    let code = programs
        .iter()
        .flat_map(|program| program.code_paths())
        .map(Path::to_owned);
    own_files
        .chain(granted)
        .chain(code)
        // Those of the system are readable already.
        .filter(|path| !system::is_system_path(path))
        .collect()
}

//! `--frozen`: the skills must be those of their lock files.

use std::collections::BTreeSet;
use std::path::Path;

use skills_install::LockFile;
use skills_runtime::discovery::{InactiveReason, LOCK_FILE};
use skills_runtime::{Catalog, Root};

use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;

/// Fails if a skill has other content than its lock file requires, is missing, or is not named by
/// the lock file beside it.
pub(crate) fn check_frozen(context: &Context) -> anyhow::Result<()> {
    let runtime = context.unrecorded_builder()?.build();
    let (catalog, roots) = (runtime.library().catalog(), context.roots()?);
    let inactive = catalog.inactive().iter();
    let mut problems: Vec<String> = inactive
        .filter(|inactive| {
            matches!(
                inactive.reason(),
                InactiveReason::Changed { .. } | InactiveReason::LockUnreadable { .. }
            )
        })
        .map(|inactive| {
            format!(
                "`{}` is {}",
                inactive.entry().name(),
                inactive.reason().code()
            )
        })
        .collect();
    let parents = catalog
        .all_entries()
        .filter_map(|entry| entry.directory().parent());
    let directories: BTreeSet<&Path> = roots.iter().map(Root::path).chain(parents).collect();
    for directory in directories {
        problems.extend(compare_names(&catalog, directory)?);
    }
    if problems.is_empty() {
        return Ok(());
    }
    let message = format!(
        "skills differ from their lock file: {}",
        problems.join(", ")
    );
    Err(CommandError::new("frozen", Exit::Denied, message)
        .with_help("`skills verify` lists them, and `skills add --frozen` restores what the lock file lists")
        .into())
}

/// Returns the skills of one directory that are only in its lock file, or only on disk.
fn compare_names(catalog: &Catalog, directory: &Path) -> anyhow::Result<Vec<String>> {
    if directory.join(LOCK_FILE).symlink_metadata().is_err() {
        return Ok(Vec::new());
    }
    let lock = LockFile::read(directory).map_err(super::failed)?;
    let is_missing = |name: &&String| directory.join(name).symlink_metadata().is_err();
    let missing = lock.skills().keys().filter(is_missing);
    let present = catalog
        .all_entries()
        .filter(|entry| entry.directory().parent() == Some(directory))
        .filter_map(|entry| entry.directory().file_name()?.to_str());
    let unlocked = present.filter(|name| !lock.skills().contains_key(*name));
    Ok(missing
        .map(|name| format!("`{name}` is missing"))
        .chain(unlocked.map(|name| format!("`{name}` is not in the lock file")))
        .collect())
}

/// Rejects a command that changes lock files.
pub(crate) fn reject_frozen(context: &Context) -> anyhow::Result<()> {
    if !context.options.frozen {
        return Ok(());
    }
    let message = "this command changes `skills.lock`, which `--frozen` forbids";
    Err(CommandError::new("frozen", Exit::Denied, message)
        .with_help("run it without `--frozen`")
        .into())
}

//! Files of the skills that a session has loaded, by the names that their instructions use.

use std::path::PathBuf;

use skills_runtime::Entry;

use crate::virtual_files::VirtualFiles;
use crate::virtual_path::VirtualPath;

/// Maximum number of skills that are searched, the latest first.
const MAX_SKILLS: usize = 8;

/// Returns the virtual path of the file that a relative path means in one of these skills: its path
/// there, or the name of exactly one of its files. Case does not matter.
pub(crate) fn find_in_loaded(
    files: &VirtualFiles,
    loaded: &[PathBuf],
    path: &str,
) -> Option<String> {
    let catalog = files.runtime.library().catalog();
    let path = path.strip_prefix("./").unwrap_or(path);
    loaded.iter().rev().take(MAX_SKILLS).find_map(|directory| {
        let entry = catalog.entries().iter();
        let entry = entry.clone().find(|entry| entry.directory() == directory)?;
        // It may have been changed since it was loaded.
        let is_shown = files.runtime.library().is_model_invocable(entry);
        is_shown.then(|| find_in_skill(entry, path)).flatten()
    })
}

fn find_in_skill(entry: &Entry, path: &str) -> Option<String> {
    // Bounded, and without hidden files and symlinks that leave the skill.
    let listing = entry.open().ok()?.list("").ok()?;
    let paths = || listing.resources.iter().map(|file| file.path.as_str());
    let exact = paths().find(|known| known.eq_ignore_ascii_case(path));
    let mut named = paths().filter(|known| {
        let name = known.rsplit_once('/').map_or(*known, |(_, name)| name);
        name.eq_ignore_ascii_case(path)
    });
    let found = exact.or_else(|| named.next().filter(|_| named.next().is_none()))?;
    // Names of a skill can be anything; a path that no tool accepts does not help.
    let shown = VirtualPath::in_skill(entry.name().as_str(), found).ok()?;
    (!found.contains('`')).then(|| shown.to_string())
}

//! Lists the cache directory and selects what to delete.

use rustix::fs::FileType;

use super::directory::Directory;
use super::error::CodeCacheError;
use super::key::{CacheKey, LOCK_SUFFIX, MODULE_SUFFIX, TEMPORARY_SUFFIX, module_file_name};
use super::lock::remove_unless_locked;
use super::usage::CacheUsage;

/// A file named like a module, ordered by eviction: least recently used first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CacheFile {
    /// The time of last use with limited precision: seconds and nanoseconds.
    last_used: (i64, i64),
    name: String,
    bytes: u64,
}

/// The files of a cache.
struct Listing {
    modules: Vec<CacheFile>,
    /// Temporary files and locks, of running and dead processes.
    transient: Vec<String>,
}

pub(super) fn usage(directory: &Directory) -> Result<CacheUsage, CodeCacheError> {
    Ok(total_usage(&list(directory)?.modules))
}

/// Deletes all modules and leftovers; continues after a failure and returns the first one.
pub(super) fn clear(directory: &Directory) -> Result<CacheUsage, CodeCacheError> {
    let listing = list(directory)?;
    let removed = listing
        .modules
        .iter()
        .map(|artifact| directory.remove(&artifact.name));
    let swept = listing
        .transient
        .iter()
        .map(|name| remove_unless_locked(directory, name));
    // Everything is tried before the first failure is returned.
    let outcomes: Vec<_> = removed.chain(swept).collect();
    outcomes.into_iter().collect::<Result<(), _>>()?;
    Ok(total_usage(&listing.modules))
}

/// Evicts least recently used modules until the rest fits, but never the module of `kept`, and
/// deletes the leftovers of dead processes.
pub(super) fn evict(
    directory: &Directory,
    kept: &CacheKey,
    max_bytes: u64,
) -> Result<(), CodeCacheError> {
    let listing = list(directory)?;
    // They take space, too, but do not count for the limit.
    for name in &listing.transient {
        remove_unless_locked(directory, name)?;
    }
    for artifact in select_evictions(listing.modules, &module_file_name(kept), max_bytes) {
        directory.remove(&artifact.name)?;
    }
    Ok(())
}

/// Selects the modules to evict.
fn select_evictions(mut artifacts: Vec<CacheFile>, kept: &str, max_bytes: u64) -> Vec<CacheFile> {
    let mut total = total_usage(&artifacts).bytes;
    // It was stored a moment ago and is needed now.
    artifacts.retain(|artifact| artifact.name != kept);
    artifacts.sort_unstable();
    artifacts.retain(|artifact| {
        let is_evicted = total > max_bytes;
        total -= if is_evicted { artifact.bytes } else { 0 };
        is_evicted
    });
    artifacts
}

fn total_usage(artifacts: &[CacheFile]) -> CacheUsage {
    let bytes = artifacts
        .iter()
        .fold(0_u64, |sum, artifact| sum.saturating_add(artifact.bytes));
    CacheUsage {
        modules: artifacts.len() as u64,
        bytes,
    }
}

#[expect(
    clippy::unnecessary_cast,
    reason = "the widths of these fields differ between systems"
)]
fn list(directory: &Directory) -> Result<Listing, CodeCacheError> {
    let mut listing = Listing {
        modules: Vec::new(),
        transient: Vec::new(),
    };
    // Names may disappear while they are examined, since other processes evict, too.
    for name in directory.names()? {
        if is_cache_file_name(&name, LOCK_SUFFIX, 64)
            || is_cache_file_name(&name, TEMPORARY_SUFFIX, 16)
        {
            listing.transient.push(name);
        } else if is_cache_file_name(&name, MODULE_SUFFIX, 64)
            && let Some(stat) = directory.stat(&name)?
            && FileType::from_raw_mode(stat.st_mode) != FileType::Directory
        {
            let used = (stat.st_mtime as i64, stat.st_mtime_nsec as i64);
            listing.modules.push(CacheFile {
                last_used: used,
                name,
                bytes: u64::try_from(stat.st_size).unwrap_or_default(),
            });
        }
    }
    Ok(listing)
}

/// Only files with these names are deleted, so that a directory with other content does not lose
/// any of it.
fn is_cache_file_name(name: &str, suffix: &str, digits: usize) -> bool {
    let stem = name.strip_suffix(suffix);
    stem.is_some_and(|stem| {
        stem.len() == digits
            && stem
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sizes_by_age: &[u64], kept: usize, max_bytes: u64, gone: &[usize]) {
        let artifact = |(index, bytes): (usize, &u64)| CacheFile {
            last_used: (index as i64, 0),
            name: index.to_string(),
            bytes: *bytes,
        };
        let mut artifacts: Vec<_> = sizes_by_age.iter().enumerate().map(artifact).collect();
        artifacts.reverse();
        let leaving: Vec<_> = select_evictions(artifacts, &kept.to_string(), max_bytes)
            .into_iter()
            .map(|artifact| artifact.name)
            .collect();
        assert_eq!(
            leaving,
            gone.iter().map(ToString::to_string).collect::<Vec<_>>()
        );
    }

    #[test]
    fn the_least_recently_used_are_evicted_until_the_rest_fits() {
        check(&[10, 10, 10, 10], 3, 40, &[]);
        check(&[10, 10, 10, 10], 3, 39, &[0]);
        check(&[10, 10, 10, 10], 3, 25, &[0, 1]);
        check(&[30, 1, 1, 10], 3, 15, &[0]);
        check(&[], 0, 0, &[]);
    }

    #[test]
    fn a_module_that_was_just_stored_stays() {
        check(&[10, 10, 10], 0, 10, &[1, 2]);
        check(&[20, 10], 0, 10, &[1]);
    }

    #[test]
    fn other_files_are_not_cache_files() {
        let digits = "0123456789abcdef".repeat(4);
        assert!(is_cache_file_name(
            &format!("{digits}.lock"),
            LOCK_SUFFIX,
            64
        ));
        for name in [
            "Cargo.lock",
            ".lock",
            &format!("{digits}.locked"),
            &format!("g{}.lock", &digits[1..]),
            &format!("0{digits}.lock"),
        ] {
            assert!(!is_cache_file_name(name, LOCK_SUFFIX, 64), "{name}");
        }
    }
}

//! What is in the directory, and what has to go.

use rustix::fs::FileType;

use super::Usage;
use super::directory::Directory;
use super::error::CacheError;
use super::key::Key;
use super::lock::remove_unless_locked;

const ARTIFACT_SUFFIX: &str = ".artifact";
const LOCK_SUFFIX: &str = ".lock";
pub(super) const TEMPORARY_SUFFIX: &str = ".part";

pub(super) fn artifact_name(key: &Key) -> String {
    format!("{key}{ARTIFACT_SUFFIX}")
}

pub(super) fn lock_name(key: &Key) -> String {
    format!("{key}{LOCK_SUFFIX}")
}

/// A file that looks like an artifact; the order is that in which they go.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Artifact {
    /// The time of last use, as far as it is kept: seconds and nanoseconds.
    used: (i64, i64),
    name: String,
    bytes: u64,
}

/// The files of a cache.
struct Listing {
    artifacts: Vec<Artifact>,
    /// Files of running and of dead processes.
    working: Vec<String>,
}

pub(super) fn usage(directory: &Directory) -> Result<Usage, CacheError> {
    Ok(sum(&list(directory)?.artifacts))
}

/// Deletes all artifacts and leftovers; goes on after a failure and returns the first one.
pub(super) fn clear(directory: &Directory) -> Result<Usage, CacheError> {
    let listing = list(directory)?;
    let removed = listing
        .artifacts
        .iter()
        .map(|artifact| directory.remove(&artifact.name));
    let swept = listing
        .working
        .iter()
        .map(|name| remove_unless_locked(directory, name));
    let outcomes: Vec<_> = removed.chain(swept).collect();
    outcomes.into_iter().collect::<Result<(), _>>()?;
    Ok(sum(&listing.artifacts))
}

/// Deletes what was used longest ago until the rest fits, but never the artifact of `kept`, and
/// what dead processes left behind.
pub(super) fn sweep(directory: &Directory, kept: &Key, max_bytes: u64) -> Result<(), CacheError> {
    let listing = list(directory)?;
    for name in &listing.working {
        remove_unless_locked(directory, name)?;
    }
    for artifact in leaving(listing.artifacts, &artifact_name(kept), max_bytes) {
        directory.remove(&artifact.name)?;
    }
    Ok(())
}

/// Chooses what has to go.
fn leaving(mut artifacts: Vec<Artifact>, kept: &str, max_bytes: u64) -> Vec<Artifact> {
    let mut total = sum(&artifacts).bytes;
    artifacts.retain(|artifact| artifact.name != kept);
    artifacts.sort_unstable();
    artifacts.retain(|artifact| {
        let goes = total > max_bytes;
        total -= if goes { artifact.bytes } else { 0 };
        goes
    });
    artifacts
}

fn sum(artifacts: &[Artifact]) -> Usage {
    let bytes = artifacts
        .iter()
        .fold(0_u64, |sum, artifact| sum.saturating_add(artifact.bytes));
    Usage {
        artifacts: artifacts.len() as u64,
        bytes,
    }
}

#[expect(
    clippy::unnecessary_cast,
    reason = "the widths of these fields differ from system to system"
)]
fn list(directory: &Directory) -> Result<Listing, CacheError> {
    let mut listing = Listing {
        artifacts: Vec::new(),
        working: Vec::new(),
    };
    for name in directory.names()? {
        if is_ours(&name, LOCK_SUFFIX, 64) || is_ours(&name, TEMPORARY_SUFFIX, 16) {
            listing.working.push(name);
        } else if is_ours(&name, ARTIFACT_SUFFIX, 64)
            && let Some(stat) = directory.stat(&name)?
            && FileType::from_raw_mode(stat.st_mode) != FileType::Directory
        {
            let used = (stat.st_mtime as i64, stat.st_mtime_nsec as i64);
            listing.artifacts.push(Artifact {
                used,
                name,
                bytes: u64::try_from(stat.st_size).unwrap_or_default(),
            });
        }
    }
    Ok(listing)
}

/// Whoever names a directory that holds other things loses none of them.
fn is_ours(name: &str, suffix: &str, digits: usize) -> bool {
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
        let artifact = |(index, bytes): (usize, &u64)| Artifact {
            used: (index as i64, 0),
            name: index.to_string(),
            bytes: *bytes,
        };
        let mut artifacts: Vec<_> = sizes_by_age.iter().enumerate().map(artifact).collect();
        artifacts.reverse();
        let leaving: Vec<_> = leaving(artifacts, &kept.to_string(), max_bytes)
            .into_iter()
            .map(|artifact| artifact.name)
            .collect();
        assert_eq!(
            leaving,
            gone.iter().map(ToString::to_string).collect::<Vec<_>>()
        );
    }

    #[test]
    fn the_oldest_go_until_the_rest_fits() {
        check(&[10, 10, 10, 10], 3, 40, &[]);
        check(&[10, 10, 10, 10], 3, 39, &[0]);
        check(&[10, 10, 10, 10], 3, 25, &[0, 1]);
        check(&[30, 1, 1, 10], 3, 15, &[0]);
        check(&[], 0, 0, &[]);
    }

    #[test]
    fn what_was_just_stored_stays() {
        check(&[10, 10, 10], 0, 10, &[1, 2]);
        check(&[20, 10], 0, 10, &[1]);
    }

    #[test]
    fn other_files_are_not_ours() {
        let digits = "0123456789abcdef".repeat(4);
        assert!(is_ours(&format!("{digits}.lock"), LOCK_SUFFIX, 64));
        for name in [
            "Cargo.lock",
            ".lock",
            &format!("{digits}.locked"),
            &format!("g{}.lock", &digits[1..]),
            &format!("0{digits}.lock"),
        ] {
            assert!(!is_ours(name, LOCK_SUFFIX, 64), "{name}");
        }
    }
}

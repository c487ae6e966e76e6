//! Versions of npm packages and their ranges.

use std::cmp::Ordering;

use nodejs_semver::{Range, Version};

use super::catch_panic;

/// Maximum length of a range, in bytes. The library limits that of a version.
const MAX_RANGE_BYTES: usize = 1_024;

/// Returns true if a version is in a range. A text that is not a range, such as the tag `latest`,
/// accepts every version. Nothing is in a range of more than 1,024 bytes or with characters that are
/// not ASCII.
///
/// ```
/// use skills_packages::npm_range_allows;
///
/// assert!(npm_range_allows("^1.2", "1.9.0"));
/// assert!(npm_range_allows("latest", "1.9.0"));
/// assert!(!npm_range_allows("^2", "1.9.0"));
/// ```
#[must_use]
pub fn npm_range_allows(range: &str, version: &str) -> bool {
    let is_plain = range.len() <= MAX_RANGE_BYTES && range.is_ascii();
    let Some(version) = parse(version).filter(|_| is_plain) else {
        return false;
    };
    let is_allowed = || Range::parse(range).map_or(true, |range| version.satisfies(&range));
    catch_panic(is_allowed).unwrap_or(false)
}

/// Compares two versions by their precedence, which ignores what follows `+`; `None` if one of the
/// texts is not a version.
#[must_use]
pub fn compare_npm_versions(left: &str, right: &str) -> Option<Ordering> {
    Some(parse(left)?.cmp(&parse(right)?))
}

fn parse(version: &str) -> Option<Version> {
    let parse = || Version::parse(version).ok();
    version.is_ascii().then(|| catch_panic(parse))??
}

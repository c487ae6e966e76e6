//! Changes of what a skill is trusted by.

use std::cmp::Ordering;
use std::path::Path;

use skills_packages::compare_npm_versions;
use skills_signature::is_same_signer;

use crate::LockedSkill;
use crate::source::FixedVersions;

/// Why a person must agree, whatever the skill asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustChange {
    /// The skill comes from another source than before.
    #[error("source changed from `{from}` to `{to}`")]
    Source {
        /// The identity of the source in the lock file, or of the last one of a removed skill.
        from: String,
        /// The identity of the new source.
        to: String,
    },
    /// The skill has another signer than before, or none.
    #[error("signer changed from `{from}` to `{to}`")]
    Signer {
        /// The signer in the lock file, or the last one of a removed skill.
        from: String,
        /// The new signer.
        to: String,
    },
    /// The new version was made before the installed one.
    #[error("the new version is older than the installed one")]
    Downgrade,
    /// The same tag or archive has other content than before.
    #[error("`{0}` has other content than before")]
    Replaced(String),
}

/// Compares the new entry of a skill with the one in the lock file of `root`.
pub(crate) fn trust_changes(old: &LockedSkill, new: &LockedSkill, root: &Path) -> Vec<TrustChange> {
    let mut changes = Vec::new();
    let [from, to] = [old, new].map(|locked| locked.source.clone().resolved_at(root).identity());
    let is_same_source = from == to;
    if !is_same_source {
        changes.push(TrustChange::Source { from, to });
    }
    if !is_same_signer(&old.signer, &new.signer) {
        changes.push(TrustChange::Signer {
            from: old.signer.clone(),
            to: new.signer.clone(),
        });
    }
    if is_same_source {
        let is_older = match (old.committed, new.committed) {
            (Some(before), Some(now)) => now < before,
            _ => false,
        };
        let packages = [old, new].map(package_of);
        if let [Some((from, _)), Some((to, _))] = packages
            && from != to
        {
            let [from, to] = [from, to].map(|name| format!("npm package {name}"));
            changes.push(TrustChange::Source { from, to });
        }
        if is_older || is_older_package(packages) {
            changes.push(TrustChange::Downgrade);
        }
        // A tag and an archive name one version; only a branch moves.
        let is_same_version = old.source.reference() == new.source.reference();
        if is_same_version
            && is_replaced(old, new)
            && let Some(version) = fixed_version(old, new)
        {
            changes.push(TrustChange::Replaced(version));
        }
    }
    changes
}

/// Returns the name and the version of the npm package that a skill came from.
fn package_of(locked: &LockedSkill) -> Option<(&str, &str)> {
    let package = locked.revision.as_deref()?.strip_prefix("npm:")?;
    package.rsplit_once('@')
}

/// Returns true if the second version of a package is older than the first one.
fn is_older_package(packages: [Option<(&str, &str)>; 2]) -> bool {
    let [Some((_, before)), Some((_, now))] = packages else {
        return false;
    };
    compare_npm_versions(now, before).is_some_and(Ordering::is_lt)
}

/// Returns true if one version of a source has another revision than before, or other content if the
/// revision is the number of the version.
fn is_replaced(old: &LockedSkill, new: &LockedSkill) -> bool {
    if new.source.fixed_versions() == FixedVersions::Revisions {
        old.revision == new.revision && old.content != new.content
    } else {
        old.revision != new.revision
    }
}

/// Returns the version of a source if it is meant to have one content for ever.
fn fixed_version(old: &LockedSkill, new: &LockedSkill) -> Option<String> {
    let reference = new.source.reference();
    match new.source.fixed_versions() {
        FixedVersions::None => None,
        FixedVersions::All => Some(new.source.to_string()),
        // A branch with the name of the tag replaces it, too.
        FixedVersions::Tags => reference.filter(|_| old.tag || new.tag).map(str::to_owned),
        FixedVersions::Numbers => {
            let number = reference?.trim_start_matches('v');
            let is_number =
                number.starts_with(|c: char| c.is_ascii_digit()) && number.contains('.');
            is_number.then(|| number.to_owned())
        }
        FixedVersions::Revisions => new.revision.clone(),
    }
}

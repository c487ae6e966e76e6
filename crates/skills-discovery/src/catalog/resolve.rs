//! Decides which of the skills that were found are active.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;

use super::locked::Locks;
use crate::file_stamp::ScanStart;
use crate::locked_content::SharedDigests;
use crate::trusted_skills::{TrustedContents, trusted_content};
use crate::{
    ConfigRule, Discovery, Entry, EntryWarning, InactiveEntry, InactiveReason, Precedence, Root,
    Skipped, StampSet,
};

/// Splits skills into active and inactive ones. `entries` are grouped by root, in the order in
/// which the roots were scanned. Locked skills that are missing are added to `skipped`.
pub(super) fn resolve_active(
    entries: Vec<Entry>,
    discovery: &Discovery,
    lock_check: &LockCheck<'_>,
    source_reasons: &SourceReasons,
    stamps: &mut StampSet,
    skipped: &mut Vec<Skipped>,
) -> (Vec<Entry>, Vec<InactiveEntry>) {
    let mut inactive = Vec::new();
    let activation = Activation::new(discovery, source_reasons);
    let mut candidates = Vec::with_capacity(entries.len());
    let mut trusted_contents = Vec::with_capacity(entries.len());
    for mut entry in entries {
        let Some(reason) = activation.untrusted_reason(&entry) else {
            candidates.push(entry);
            trusted_contents.push(None);
            continue;
        };
        let LockCheck {
            digests,
            scan_start,
            ..
        } = *lock_check;
        match trusted_content(lock_check.trusted, &entry, digests, scan_start) {
            Some(content) => {
                candidates.push(entry);
                trusted_contents.push(Some(content));
            }
            None => {
                // That of an earlier scan, which differs now.
                entry.locked = None;
                inactive.push(InactiveEntry { entry, reason });
            }
        }
    }
    // Before anything that the files of a skill say can be a reason.
    let locks = Locks::read(&candidates, lock_check, stamps);
    let missing = locks.missing(&candidates, lock_check.roots, skipped);
    skipped.extend(missing);
    let changed = locks.check(
        &mut candidates,
        lock_check.digests,
        lock_check.scan_start,
        discovery.threads,
    );
    let checked = std::mem::take(&mut candidates).into_iter().zip(changed);
    for ((mut entry, changed), trusted) in checked.zip(trusted_contents) {
        // A lock file that lists it requires the same content: both were compared.
        entry.locked = entry.locked.take().or(trusted);
        match changed.or_else(|| activation.inactive_reason(&entry)) {
            Some(reason) => inactive.push(InactiveEntry { entry, reason }),
            None => candidates.push(entry),
        }
    }
    // Precedence comes last, so that a skill that is untrusted or disabled hides no other.
    let active = apply_precedence(candidates, discovery.precedence, &mut inactive);
    (active, inactive)
}

/// Why the content of a skill of a source is not trusted, if it is not, by directory.
pub(crate) type SourceReasons = HashMap<Arc<Path>, Option<InactiveReason>>;

/// What the check of lock files needs.
pub(super) struct LockCheck<'a> {
    pub(super) digests: &'a SharedDigests,
    pub(super) scan_start: ScanStart,
    /// The canonical paths of the trusted roots.
    pub(super) roots: &'a [PathBuf],
    /// The skills of untrusted roots that are trusted by their content.
    pub(super) trusted: &'a TrustedContents,
}

/// What decides, for each skill on its own, whether it is active.
struct Activation<'a> {
    source_reasons: &'a SourceReasons,
    untrusted_roots: Vec<&'a Path>,
    product: Option<&'a str>,
    rules: Vec<ConfigRule>,
}

impl<'a> Activation<'a> {
    fn new(discovery: &'a Discovery, source_reasons: &'a SourceReasons) -> Self {
        Self {
            source_reasons,
            untrusted_roots: discovery
                .roots
                .iter()
                .filter(|root| !root.is_trusted())
                .map(Root::path)
                .collect(),
            product: discovery.product.as_deref(),
            // The directories of entries are canonical.
            rules: discovery
                .rules
                .iter()
                .cloned()
                .map(ConfigRule::with_resolved_path)
                .collect(),
        }
    }

    /// Trust goes first: nothing that an untrusted skill says is reported as the reason.
    fn untrusted_reason(&self, entry: &Entry) -> Option<InactiveReason> {
        if !entry.has_directory() {
            let reason = self.source_reasons.get(entry.directory());
            return reason.map_or(Some(InactiveReason::Untrusted), Option::clone);
        }
        let is_untrusted = self.untrusted_roots.contains(&entry.root());
        is_untrusted.then_some(InactiveReason::Untrusted)
    }

    fn inactive_reason(&self, entry: &Entry) -> Option<InactiveReason> {
        if let Some(product) = self.product
            && let Some(policy) = entry.openai_metadata().map(|metadata| &metadata.policy)
            && !policy.allows_product(product)
        {
            return Some(InactiveReason::OtherProduct {
                products: policy.products.clone(),
            });
        }
        // The last rule that matches decides, also if it enables the skill.
        let rule = self
            .rules
            .iter()
            .rev()
            .find(|rule| rule.matches(entry))
            .filter(|rule| rule.disables())?;
        Some(InactiveReason::Disabled { rule: rule.clone() })
    }
}

/// Moves skills that are hidden by another one of the same name to `inactive`. Within one root, the
/// first by path wins.
fn apply_precedence(
    entries: Vec<Entry>,
    precedence: Precedence,
    inactive: &mut Vec<InactiveEntry>,
) -> Vec<Entry> {
    if precedence == Precedence::KeepAll {
        return entries;
    }
    let winners = winners_by_name(&entries, precedence);
    if winners.len() == entries.len() {
        return entries;
    }
    let winner_of: Vec<usize> = entries
        .iter()
        .map(|entry| winners[entry.name().as_str()])
        .collect();
    let directories: Vec<Arc<Path>> = entries
        .iter()
        .map(|entry| Arc::clone(&entry.location.directory))
        .collect();
    let mut active = Vec::with_capacity(winners.len());
    for (index, entry) in entries.into_iter().enumerate() {
        let winner = winner_of[index];
        if winner == index {
            active.push(entry);
        } else {
            inactive.push(InactiveEntry {
                entry,
                reason: InactiveReason::Shadowed {
                    winner: directories[winner].to_path_buf(),
                },
            });
        }
    }
    active
}

/// Returns the index of the skill that wins, for each name.
fn winners_by_name(entries: &[Entry], precedence: Precedence) -> HashMap<&str, usize> {
    let mut winners: HashMap<&str, usize> = HashMap::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let winner = winners.entry(entry.name().as_str()).or_insert(index);
        let current = &entries[*winner];
        let wins = if *current.root == *entry.root {
            // The walk is breadth-first, so its order is not the order of the paths. A copy in a
            // hidden directory is often that of another client.
            (is_hidden(entry), entry.directory()) < (is_hidden(current), current.directory())
        } else {
            precedence == Precedence::LastRoot
        };
        if wins {
            *winner = index;
        }
    }
    winners
}

/// Returns true if a directory on the path of a skill, below its root, is hidden.
fn is_hidden(entry: &Entry) -> bool {
    let below_root = entry
        .directory()
        .strip_prefix(&entry.root)
        .unwrap_or(entry.directory());
    below_root
        .components()
        .any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
}

/// Warnings by the index of the entry that they belong to.
type IndexedWarnings = Vec<(usize, EntryWarning)>;

/// Adds warnings about names that several skills share, or that differ only in case or Unicode
/// composition. `entries` are sorted by scope and name.
pub(super) fn add_name_warnings(entries: &mut [Entry]) {
    let mut warnings = IndexedWarnings::new();
    warn_duplicate_names(entries, &mut warnings);
    warn_confusable_names(entries, &mut warnings);
    for (index, warning) in warnings {
        entries[index].scan_warnings.push(warning);
    }
}

fn warn_duplicate_names(entries: &[Entry], warnings: &mut IndexedWarnings) {
    let mut last_by_name: HashMap<&str, usize> = HashMap::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        if let Some(previous) = last_by_name.insert(entry.name().as_str(), index) {
            for (index, other) in [(previous, index), (index, previous)] {
                let directory = entries[other].directory().to_owned();
                warnings.push((index, EntryWarning::DuplicateName { directory }));
            }
        }
    }
}

fn warn_confusable_names(entries: &[Entry], warnings: &mut IndexedWarnings) {
    // Two different names can only fold to the same one if at least one of them is not folded
    // already. That is rare, so the map is usually not needed.
    if entries.iter().all(|entry| is_folded(entry.name().as_str())) {
        return;
    }
    let mut last_by_folded: HashMap<String, usize> = HashMap::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let previous = last_by_folded.insert(fold(entry.name().as_str()), index);
        if let Some(previous) = previous.filter(|at| entries[*at].name() != entry.name()) {
            for (index, other) in [(previous, index), (index, previous)] {
                let other = entries[other].name().to_string();
                warnings.push((index, EntryWarning::ConfusableName { other }));
            }
        }
    }
}

/// Returns true if folding certainly leaves a name unchanged.
fn is_folded(name: &str) -> bool {
    name.is_ascii() && !name.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// Removes differences in case and in Unicode composition and compatibility forms.
fn fold(name: &str) -> String {
    if is_folded(name) {
        name.to_owned()
    } else {
        name.nfkc().collect::<String>().to_lowercase()
    }
}

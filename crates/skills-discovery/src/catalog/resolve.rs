//! Decides which of the skills that were found are used.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;

use crate::{
    ConfigRule, Discovery, Entry, EntryWarning, InactiveEntry, InactiveReason, Precedence,
};

/// Splits skills into those that are used and those that are not. `entries` come root by root.
pub(super) fn resolve_active(
    entries: Vec<Entry>,
    discovery: &Discovery,
) -> (Vec<Entry>, Vec<InactiveEntry>) {
    let all_trusted = discovery.roots.iter().all(crate::Root::is_trusted);
    if all_trusted && discovery.rules.is_empty() && discovery.product.is_none() {
        let mut inactive = Vec::new();
        return (
            apply_precedence(entries, discovery.precedence, &mut inactive),
            inactive,
        );
    }
    let rules: Vec<ConfigRule> = discovery
        .rules
        .iter()
        .cloned()
        .map(ConfigRule::with_resolved_path)
        .collect();
    let untrusted: Vec<&Path> = discovery
        .roots
        .iter()
        .filter(|root| !root.is_trusted())
        .map(crate::Root::path)
        .collect();
    let reason = |entry: &Entry| {
        if untrusted.contains(&entry.root()) {
            return Some(InactiveReason::Untrusted);
        }
        if let Some(product) = &discovery.product
            && let Some(policy) = entry.openai_metadata().map(|host| &host.policy)
            && !policy.allows_product(product)
        {
            return Some(InactiveReason::OtherProduct {
                products: policy.products.clone(),
            });
        }
        let rule = rules
            .iter()
            .rev()
            .find(|rule| rule.matches(entry))
            .filter(|rule| rule.disables())?;
        Some(InactiveReason::Disabled { rule: rule.clone() })
    };
    let (mut used, mut inactive) = (Vec::with_capacity(entries.len()), Vec::new());
    for entry in entries {
        match reason(&entry) {
            Some(reason) => inactive.push(InactiveEntry { entry, reason }),
            None => used.push(entry),
        }
    }
    let used = apply_precedence(used, discovery.precedence, &mut inactive);
    (used, inactive)
}

/// Lets the skill of the winning root hide the others of its name; within one root the first by
/// path wins.
fn apply_precedence(
    used: Vec<Entry>,
    precedence: Precedence,
    inactive: &mut Vec<InactiveEntry>,
) -> Vec<Entry> {
    if precedence == Precedence::KeepAll {
        return used;
    }
    // In one root the names mostly stand in the order of their directories, each once.
    if used.is_sorted_by(|a, b| a.name().as_str() < b.name().as_str()) {
        return used;
    }
    let mut winners: HashMap<&str, usize> = HashMap::with_capacity(used.len());
    for (index, entry) in used.iter().enumerate() {
        let winner = winners.entry(entry.name().as_str()).or_insert(index);
        let before = &used[*winner];
        let wins = if *before.root == *entry.root {
            entry.directory < before.directory
        } else {
            precedence == Precedence::LastRoot
        };
        if wins {
            *winner = index;
        }
    }
    if winners.len() == used.len() {
        return used;
    }
    let by: Vec<usize> = used
        .iter()
        .map(|entry| winners[entry.name().as_str()])
        .collect();
    let directories: Vec<Arc<Path>> = used
        .iter()
        .map(|entry| Arc::clone(&entry.directory))
        .collect();
    let mut kept = Vec::with_capacity(winners.len());
    for (index, entry) in used.into_iter().enumerate() {
        if by[index] == index {
            kept.push(entry);
        } else {
            inactive.push(InactiveEntry {
                entry,
                reason: InactiveReason::Shadowed {
                    winner: directories[by[index]].to_path_buf(),
                },
            });
        }
    }
    kept
}

/// Warns of names that several skills share, or that differ only in case or composition. Entries
/// are sorted.
pub(super) fn add_name_warnings(entries: &mut [Entry]) {
    let mut notes: Vec<(usize, EntryWarning)> = Vec::new();
    // Sorted by name within a scope, equal names are neighbours; only several scopes need a
    // look-up.
    if entries
        .windows(2)
        .all(|pair| pair[0].scope == pair[1].scope)
    {
        for index in 1..entries.len() {
            if entries[index - 1].name == entries[index].name {
                warn_duplicate_name(entries, index - 1, index, &mut notes);
            }
        }
    } else {
        let mut by_name: HashMap<&str, usize> = HashMap::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            if let Some(first) = by_name.insert(entry.name().as_str(), index) {
                warn_duplicate_name(entries, first, index, &mut notes);
            }
        }
    }
    // Two names can only be alike when one of them is not plain.
    let is_plain = |name: &str| name.is_ascii() && !name.bytes().any(|b| b.is_ascii_uppercase());
    if entries.iter().any(|entry| !is_plain(entry.name().as_str())) {
        let mut folded: HashMap<String, usize> = HashMap::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let name = entry.name().as_str();
            let key = if is_plain(name) {
                name.to_owned()
            } else {
                name.nfkc().collect::<String>().to_lowercase()
            };
            if let Some(first) = folded
                .insert(key, index)
                .filter(|first| entries[*first].name() != entry.name())
            {
                notes.push((
                    first,
                    EntryWarning::ConfusableName {
                        other: name.to_owned(),
                    },
                ));
                notes.push((
                    index,
                    EntryWarning::ConfusableName {
                        other: entries[first].name().to_string(),
                    },
                ));
            }
        }
    }
    for (index, warning) in notes {
        entries[index].scan_warnings.push(warning);
    }
}

fn warn_duplicate_name(
    entries: &[Entry],
    one: usize,
    other: usize,
    notes: &mut Vec<(usize, EntryWarning)>,
) {
    notes.push((
        one,
        EntryWarning::DuplicateName {
            directory: entries[other].directory().to_owned(),
        },
    ));
    notes.push((
        other,
        EntryWarning::DuplicateName {
            directory: entries[one].directory().to_owned(),
        },
    ));
}

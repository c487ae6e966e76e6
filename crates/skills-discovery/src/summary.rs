//! Counts of a catalog, by reason.

use std::fmt;

use crate::{Catalog, InactiveReason, SkipReason, Skipped};

/// How many skills a scan has read and how many it has not, by reason.
///
/// Made by [`Catalog::summary`]. The text of [`Display`](fmt::Display) is one line for users, such
/// as `2,323 read, 128 refused: 127 without frontmatter, 1 without a description`; it has neither
/// names nor paths, so that it can be shown to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogSummary {
    read: usize,
    inactive: Vec<(&'static str, usize)>,
    refused: Vec<(&'static str, usize)>,
    unread: Vec<(&'static str, usize)>,
}

impl CatalogSummary {
    pub(crate) fn new(catalog: &Catalog) -> Self {
        let skipped = catalog.skipped().iter();
        let (refused, others): (Vec<&Skipped>, Vec<&Skipped>) = skipped
            .filter(|skipped| !skipped.reason().is_expected())
            .partition(|skipped| is_refused(skipped.reason()));
        // A directory beyond the depth counts only if it has skills.
        let others = others
            .into_iter()
            .filter(|skipped| !matches!(skipped.reason(), SkipReason::TooDeep { .. }))
            .chain(catalog.unread_skills());
        let inactive = catalog.inactive().iter();
        Self {
            read: catalog.entries().len() + catalog.inactive().len(),
            inactive: count(inactive.map(|inactive| inactive_label(inactive.reason()))),
            refused: count(refused.into_iter().map(|skipped| label(skipped.reason()))),
            unread: count(others.map(|skipped| label(skipped.reason()))),
        }
    }

    /// Returns the number of skills that were read, active or not.
    #[must_use]
    pub fn read(&self) -> usize {
        self.read
    }

    /// Returns the number of skills that were read and are not in use.
    #[must_use]
    pub fn inactive(&self) -> usize {
        total(&self.inactive)
    }

    /// Returns the number of skill files that cannot be read as skills.
    #[must_use]
    pub fn refused(&self) -> usize {
        total(&self.refused)
    }

    /// Returns the number of skill files that were not read, and of limits that were reached.
    #[must_use]
    pub fn unread(&self) -> usize {
        total(&self.unread)
    }

    /// Returns the refused and unread skills as text; `None` if there are none.
    #[must_use]
    pub fn omissions(&self) -> Option<String> {
        let parts: Vec<String> = [("refused", &self.refused), ("not read", &self.unread)]
            .into_iter()
            .filter(|(_, counts)| !counts.is_empty())
            .map(|(name, counts)| Part { name, counts }.to_string())
            .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Returns true if every skill was read and is in use.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.inactive.is_empty() && self.refused.is_empty() && self.unread.is_empty()
    }
}

impl fmt::Display for CatalogSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} read", Thousands(self.read))?;
        for (name, counts) in [
            ("inactive", &self.inactive),
            ("refused", &self.refused),
            ("not read", &self.unread),
        ] {
            if !counts.is_empty() {
                write!(f, ", {}", Part { name, counts })?;
            }
        }
        Ok(())
    }
}

/// A number of skills with the reasons: `128 refused: 127 without frontmatter, 1 empty`.
struct Part<'a> {
    name: &'static str,
    counts: &'a [(&'static str, usize)],
}

impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: ", Thousands(total(self.counts)), self.name)?;
        for (index, (label, count)) in self.counts.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{} {label}", Thousands(*count))?;
        }
        Ok(())
    }
}

fn total(counts: &[(&'static str, usize)]) -> usize {
    counts.iter().map(|(_, count)| count).sum()
}

/// Counts labels, the most frequent first.
fn count(labels: impl Iterator<Item = &'static str>) -> Vec<(&'static str, usize)> {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    for label in labels {
        match counts.iter_mut().find(|(known, _)| *known == label) {
            Some((_, count)) => *count += 1,
            None => counts.push((label, 1)),
        }
    }
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    counts
}

/// Returns true if a skill file was found and rejected.
fn is_refused(reason: &SkipReason) -> bool {
    matches!(reason, SkipReason::Unreadable(_) | SkipReason::InvalidName)
}

fn inactive_label(reason: &InactiveReason) -> &'static str {
    match reason {
        InactiveReason::Untrusted => "in untrusted roots",
        InactiveReason::Changed { .. } => "changed since they were installed",
        InactiveReason::LockUnreadable { .. } => "beside an unreadable lock file",
        InactiveReason::Disabled { .. } => "disabled by a rule",
        InactiveReason::OtherProduct { .. } => "for other products",
        InactiveReason::Shadowed { .. } => "hidden by a skill of the same name",
    }
}

fn label(reason: &SkipReason) -> &'static str {
    match reason.code() {
        "frontmatter-missing" => "without frontmatter",
        "frontmatter-unclosed" => "without a closing `---`",
        "description-missing" => "without a description",
        "empty" => "empty",
        "yaml" | "yaml-key" | "yaml-budget" => "with invalid YAML",
        "frontmatter-not-mapping" => "without fields",
        "duplicate-key" => "with a field twice",
        "encoding" => "not UTF-8 text",
        "too-large" => "too large",
        "not-regular-file" => "not a file",
        "missing" | "io" => "not readable",
        "no-name" => "without a valid name",
        "locked-missing" => "locked, but missing",
        "name-rejected" => "with a name that the client rejects",
        "directory-limit" => "directory limit reached",
        "entry-limit" => "entry limit reached",
        "depth-limit" => "beyond the depth limit",
        "nested" => "below another skill",
        "in-hidden" => "in hidden directories",
        "case-clash" => "beside a `SKILL.md`",
        "outside-skill" => "linked out of the skill",
        "unprintable" => "with an unprintable name",
        "broken-symlink" => "behind a broken symlink",
        "symlink-leaves-root" | "symlink-too-broad" | "symlink-ignored" => {
            "behind a symlink that is not followed"
        }
        code => code,
    }
}

/// A number with commas between groups of three digits.
struct Thousands(usize);

impl fmt::Display for Thousands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

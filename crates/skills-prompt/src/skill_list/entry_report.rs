//! The inclusion and cost of one skill in a list.

/// The inclusion and cost of one skill, as returned by
/// [`SkillListRenderer::explain`](crate::SkillListRenderer::explain).
///
/// The costs of all entries add up to the cost of the list, apart from a table of root aliases and the
/// last line of an incomplete list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryReport {
    /// The name of the skill, as it is listed.
    pub name: String,
    /// The path of its `SKILL.md`.
    pub location: String,
    /// How much of its entry is shown.
    pub inclusion: Inclusion,
    /// The cost of its entry, in the unit of the budget; 0 without an entry.
    pub cost: usize,
}

/// How much of an entry is shown.
///
/// Lengths are in characters of the sanitized description: one line, without invisible characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Inclusion {
    /// The complete description.
    Full,
    /// A part of the description.
    Truncated {
        /// The number of characters that were granted; whole sentences may use fewer.
        shown_chars: usize,
        /// The number of characters of the description.
        total_chars: usize,
    },
    /// Name and path only.
    NameOnly,
    /// Its name only, in the last line of a ranked list.
    Named,
    /// Omitted because of the budget.
    Omitted,
    /// Not listed because of its listing mode.
    Unlisted(crate::ListingMode),
}

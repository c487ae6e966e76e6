//! What becomes of one skill in a list.

/// What becomes of one skill in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryReport {
    /// Its name.
    pub name: String,
    /// Its `SKILL.md`.
    pub location: String,
    /// How it stands in the list.
    pub inclusion: Inclusion,
    /// What its entry costs, in the unit of the budget; 0 when it has none.
    pub cost: usize,
}

/// How a skill stands in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Inclusion {
    /// With its whole description.
    Full,
    /// With a part of its description.
    Truncated {
        /// So many characters of the description were granted; whole sentences may use fewer.
        shown_chars: usize,
        /// So many it has.
        total_chars: usize,
    },
    /// With its name and path only.
    NameOnly,
    /// The budget left it out.
    Omitted,
    /// Its mode keeps it out of the list.
    Unlisted(crate::ListingMode),
}

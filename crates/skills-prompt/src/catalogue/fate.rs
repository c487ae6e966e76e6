//! What becomes of one skill in a list.

/// What becomes of one skill in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fate {
    /// Its name.
    pub name: String,
    /// Its `SKILL.md`.
    pub location: String,
    /// How it stands in the list.
    pub place: Place,
    /// What its entry costs, in the unit of the budget; 0 when it has none.
    pub cost: usize,
}

/// How a skill stands in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// With its whole description.
    Whole,
    /// With a part of its description.
    Shortened {
        /// So many characters of the description were granted; whole sentences may use fewer.
        characters: usize,
        /// So many it has.
        of: usize,
    },
    /// With its name and path only.
    Bare,
    /// The budget left it out.
    Omitted,
    /// Its mode keeps it out of the list.
    Unlisted(crate::Mode),
}

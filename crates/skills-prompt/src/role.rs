//! Who says something to a model.

/// Who says something to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// The host: the list of skills.
    Developer,
    /// The user, who chose a skill: its text.
    User,
}

impl Role {
    /// Returns the role as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Developer => "developer",
            Self::User => "user",
        }
    }
}

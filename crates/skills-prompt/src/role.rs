//! The role of a message.

/// The role in which a rendered text is sent to a model.
///
/// The crate knows no model API; a host application maps the role to the one of its API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// The developer of the host application: for the skills section.
    Developer,
    /// The user: for the text of a skill, which has no more authority than user input.
    User,
}

impl Role {
    /// Returns the role as one lowercase word, which is stable: `developer` or `user`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Developer => "developer",
            Self::User => "user",
        }
    }
}

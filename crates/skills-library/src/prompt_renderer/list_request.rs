//! A request for a list.

/// A request for which skills are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ListRequest<'a> {
    /// The request of the user, or what is known of the task.
    pub query: &'a str,
    /// The names of the skills that were used before, the most recent first. If there are none, those
    /// that the usage ledger knows as used in the last weeks, at most three.
    pub recent: &'a [&'a str],
    /// How the paths of skills are written.
    pub paths: ListPaths,
}

/// How a list writes the path of a `SKILL.md`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListPaths {
    /// The path of the file.
    #[default]
    Files,
    /// `/skills/NAME/SKILL.md`, for a reader that must not learn paths of the host, and reads the file
    /// by a tool that knows this path.
    Virtual,
}

//! How strong the walls are.

use std::fmt;

/// The walls around a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum IsolationLevel {
    /// A user, a file tree and a process table of its own, Landlock where there is one, seccomp.
    /// What is not granted does not exist inside.
    Namespaces,
    /// Landlock and a stricter seccomp filter. What is not granted can be seen, but not opened.
    Landlock,
    /// None: the host asked for it with [`IsolationMode::DangerouslyDisabled`].
    None,
}

impl fmt::Display for IsolationLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespaces => "isolated",
            Self::Landlock => "landlock",
            Self::None => "none",
        })
    }
}

/// What walls the host wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum IsolationMode {
    /// The strongest that this machine has, [`IsolationLevel::Namespaces`] or
    /// [`IsolationLevel::Landlock`]; without either nothing runs. The default.
    #[default]
    BestAvailable,
    /// [`IsolationLevel::Namespaces`], or nothing runs.
    Namespaces,
    /// [`IsolationLevel::Landlock`] even where more can be had, or nothing runs.
    LandlockOnly,
    /// No walls at all: scripts can do what the host can. The environment is still only the
    /// declared one, limits and the deadline hold, and the report says that nothing else does. For
    /// hosts that are confined themselves; no skill, rule or file can choose it.
    DangerouslyDisabled,
}

//! The isolation levels that a host offers, and the one that the embedding host requests.

use std::fmt;

/// The set of restrictions around a run. [`LinuxSandbox`](crate::LinuxSandbox) finds once per
/// process which levels the host supports, and [`IsolationMode`] selects one of them.
///
/// Reports contain the level as text:
///
/// ```
/// # #[cfg(target_os = "linux")] {
/// use skills_sandbox_linux::IsolationLevel;
///
/// assert_eq!(IsolationLevel::Namespaces.to_string(), "namespaces");
/// assert_eq!(IsolationLevel::Landlock.to_string(), "landlock");
/// assert_eq!(IsolationLevel::None.to_string(), "none");
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum IsolationLevel {
    /// A user, mount and process namespace for each run, Landlock where available, and seccomp.
    /// Paths that are not granted do not exist in the sandbox.
    Namespaces,
    /// Landlock and a stricter seccomp filter. Paths that are not granted are visible, but cannot
    /// be opened.
    Landlock,
    /// No restrictions, because the embedding host requested
    /// [`IsolationMode::DangerouslyDisabled`].
    None,
}

impl fmt::Display for IsolationLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
            Self::None => "none",
        })
    }
}

/// The isolation that the embedding host requests. It is set with
/// [`LinuxSandbox::isolation_mode`](crate::LinuxSandbox::isolation_mode); no skill, rule or file
/// can change it.
///
/// ```
/// # #[cfg(target_os = "linux")] {
/// use skills_sandbox_linux::IsolationMode;
///
/// assert_eq!(IsolationMode::default(), IsolationMode::BestAvailable);
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum IsolationMode {
    /// The strongest level that this host supports, [`IsolationLevel::Namespaces`] or
    /// [`IsolationLevel::Landlock`]. If it supports neither, nothing runs. The default.
    #[default]
    BestAvailable,
    /// [`IsolationLevel::Namespaces`]; if the host does not support it, nothing runs.
    Namespaces,
    /// [`IsolationLevel::Landlock`], also on hosts that support namespaces; if the host does not
    /// support it, nothing runs.
    LandlockOnly,
    /// No restrictions: scripts run with the privileges of the host process. The environment still
    /// contains only declared variables, resource limits and the deadline still apply, and the
    /// report says that nothing else is enforced. For hosts that are confined themselves.
    DangerouslyDisabled,
}

/// What a run assumes of the host: the strongest that is not known to be unsupported.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Assumption {
    pub(crate) isolation: IsolationLevel,
    pub(crate) mount_proc: bool,
    pub(crate) own_network: bool,
}

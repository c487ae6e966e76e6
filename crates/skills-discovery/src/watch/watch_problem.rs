//! Why the directories of a watcher cannot be watched.

/// What an operator can do on Linux, where the limits are settings.
const MORE_WATCHES: &str = if cfg!(target_os = "linux") {
    "\nhelp: raise `fs.inotify.max_user_watches`, or use smaller roots"
} else {
    ""
};
const MORE_WATCHERS: &str = if cfg!(target_os = "linux") {
    "\nhelp: raise `fs.inotify.max_user_instances`"
} else {
    ""
};

/// Why changes are found by scans at intervals only, although the options allow events.
///
/// The text is one sentence for an operator. A second line, if there is one, begins with `help:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum WatchProblem {
    /// The system has repeatedly dropped events, because there were more than it stores.
    #[error("cannot watch the skill directories: more files change than the system reports")]
    TooManyChanges,
    /// There are more directories than the system, or the limit of 200,000, allows to watch.
    #[error("cannot watch the skill directories: there are too many{MORE_WATCHES}")]
    TooManyDirectories,
    /// Some directories cannot be watched, such as those that may be searched but not listed.
    #[error("cannot watch some skill directories: the system does not permit it")]
    SomeDirectories,
    /// The system has no events, or no free resources for them.
    #[error("cannot watch the skill directories: the system starts no watcher{MORE_WATCHERS}")]
    NoEvents,
}

//! Watching of skills, so that calls do not need to scan for them.

use std::io;
use std::sync::Arc;

use skills_runtime::discovery::{CatalogChange, RootWatcher, WatchOptions};

use crate::ToolSet;

impl ToolSet {
    /// Watches the skills, and calls `changed` on a thread of its own when the catalog or a file in
    /// a skill's `scripts/` has changed, so that the [definitions](Self::definitions) may differ.
    /// Changes within the debounce interval of the [default options](WatchOptions) cause one call.
    ///
    /// While the handle is alive and events are reported, calls and definitions scan only if an
    /// event was reported since the last scan, or if that scan is older than one second. No
    /// platform reports everything, such as edits through another hard link, changes on other
    /// machines, or renames of a directory above a root: calls see those within a second, and
    /// `changed` is called when a periodic scan finds them, every 30 s. With more than 2,000 skills
    /// calls see them only after that scan, too. A directory that was removed and created again is
    /// watched again once its removal was reported or a scan finds the new one.
    ///
    /// Changes that the tools make themselves are visible immediately. If the platform does not
    /// report events for everything that is watched, each call scans as without a watcher, and
    /// `changed` is called when a scan every two seconds finds a change; if scans take long, they
    /// are rarer. Files are always read when they are needed, and permissions are decided for the
    /// content that runs.
    ///
    /// Scripts are compared once the [definitions](Self::definitions) were made: before, nobody can
    /// have outdated ones.
    ///
    /// Performs blocking I/O for an initial scan, unless there was one.
    ///
    /// # Errors
    /// Fails if the system does not start the thread.
    pub fn watch(&self, changed: impl FnMut() + Send + 'static) -> io::Result<RootWatcher> {
        self.watch_with(WatchOptions::default(), changed)
    }

    /// Watches the skills with other intervals than [`watch`](Self::watch).
    ///
    /// # Errors
    /// Fails if the system does not start the thread.
    pub fn watch_with(
        &self,
        options: WatchOptions,
        mut changed: impl FnMut() + Send + 'static,
    ) -> io::Result<RootWatcher> {
        let scanner = self
            .has_script_tools()
            .then(|| Arc::clone(&self.inner.script_scanner));
        let runtime = self.inner.runtime.clone();
        // Before the watcher starts, so that a change during its start is a difference.
        let mut previous = scanner
            .as_ref()
            .filter(|scanner| scanner.first().is_some())
            .map(|scanner| scanner.index(&runtime.library().refresh()));
        let on_scan = move |change: Option<CatalogChange>| {
            let scripts_changed = scanner.as_ref().is_some_and(|scanner| {
                let Some(known) = previous.take().or_else(|| scanner.first()) else {
                    return false;
                };
                let now = scanner.index(&runtime.library().catalog());
                let differs = known.differs_from(&now);
                previous = Some(now);
                differs
            });
            if change.is_some() || scripts_changed {
                changed();
            }
        };
        self.inner.runtime.library().watch(options, on_scan)
    }
}

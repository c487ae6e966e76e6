//! Keeps the catalog current while the watcher is alive.

use skills_discovery::{ScanEvent, WatchOptions};

use crate::SkillRuntime;

/// Keeps the catalog of a runtime current until it is dropped.
///
/// Created by [`SkillRuntime::watch`]. A background thread rescans the roots after file system
/// events, and periodically if the system does not report events for all of them. Dropping the
/// watcher stops the thread.
#[derive(Debug)]
#[must_use = "dropping the watcher stops it"]
pub struct CatalogWatcher {
    watcher: skills_discovery::RootWatcher,
}

impl SkillRuntime {
    /// Watches the roots on a background thread and keeps the [catalog](Self::catalog) current. The
    /// thread calls `on_scan` after each scan: when the watches are established, after events below
    /// the roots, and periodically. The catalog has the result of the scan by then.
    ///
    /// Scans are debounced: between an event and its scan, the catalog is out of date for the quiet
    /// period of the options, and for at most ten times that while files keep changing. Runs always
    /// use the files at the time of the run.
    pub fn watch(
        &self,
        options: WatchOptions,
        mut on_scan: impl FnMut(&ScanEvent) + Send + 'static,
    ) -> CatalogWatcher {
        let runtime = self.clone();
        let on_scan = move |event: ScanEvent| {
            // Another call may have scanned in the meantime. Scanning again lets `refresh` order
            // the results; publishing the catalog of this event could replace a newer one.
            runtime.refresh();
            on_scan(&event);
        };
        CatalogWatcher {
            watcher: skills_discovery::RootWatcher::spawn_with_scans(
                self.shared.discovery.clone(),
                self.catalog(),
                options,
                on_scan,
            ),
        }
    }
}

impl CatalogWatcher {
    /// Returns true if the system reports events for all watched directories; otherwise they are
    /// also scanned periodically.
    #[must_use]
    pub fn reports_events(&self) -> bool {
        self.watcher.is_event_driven()
    }
}

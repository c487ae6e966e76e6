//! Keeps the catalogue up to date while somebody holds on to it.

use skills_discovery::{ScanEvent, WatchOptions};

use crate::SkillRuntime;

/// Keeps the catalogue of a runtime up to date until it is dropped.
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub struct CatalogWatcher {
    watcher: skills_discovery::CatalogWatcher,
}

impl SkillRuntime {
    /// Watches the roots and keeps the [catalogue](Self::catalog) as the disk is, on a thread of
    /// its own. `looked` is called there after each look at the disk: once the watches stand,
    /// whenever something happened below the roots, and from time to time. What the look found is
    /// in the catalogue by then.
    ///
    /// Between an event and its look the catalogue is that of before: as long as the options say
    /// that files must be still, and ten times that while they are not. Runs are decided on what
    /// the files are when they run, as ever.
    pub fn watch(
        &self,
        options: WatchOptions,
        mut looked: impl FnMut(&ScanEvent) + Send + 'static,
    ) -> CatalogWatcher {
        let runtime = self.clone();
        let looked = move |look: ScanEvent| {
            // Other calls may have looked meanwhile, so what counts is what is there now.
            runtime.refresh();
            looked(&look);
        };
        CatalogWatcher {
            watcher: skills_discovery::CatalogWatcher::spawn_with_scans(
                self.shared.discovery.clone(),
                self.catalog(),
                options,
                looked,
            ),
        }
    }
}

impl CatalogWatcher {
    /// Says whether the system reports events of all that is watched; else the files are looked at
    /// from time to time.
    #[must_use]
    pub fn reports_events(&self) -> bool {
        self.watcher.is_event_driven()
    }
}

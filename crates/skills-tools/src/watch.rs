//! Watching of skills, so that calls do not need to scan for them.

use std::sync::{Arc, Mutex, PoisonError};

use skills_runtime::discovery::{EventCount, ScanEvent, WatchOptions};

use crate::catalog_cache::CatalogCache;
use crate::registry::ScriptScanner;
use crate::{ToolGroup, ToolSet};

/// Watches the skills for a tool set until it is dropped.
///
/// While the handle is alive and [`reports_events`](Self::reports_events), calls use the cached
/// catalog. Dropping the handle stops the watcher thread; calls then scan again. Changes that were
/// not reported yet are lost with the handle.
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub struct WatchHandle {
    /// `None` once the watcher has ended.
    inner: Option<skills_runtime::CatalogWatcher>,
    registration: WatcherRegistration,
}

/// Registration of a watcher with the catalog cache. It ends with the handle or the thread,
/// whichever is first.
#[derive(Clone)]
struct WatcherRegistration {
    catalog_cache: Arc<CatalogCache>,
    state: Arc<Mutex<RegistrationState>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum RegistrationState {
    #[default]
    Inactive,
    /// With its registration number.
    Active(u64),
    Ended,
}

impl ToolSet {
    /// Watches the skills, and calls `changed` on a thread of its own when the catalog or a file in
    /// a skill's `scripts/` has changed, so that the [definitions](Self::definitions) may differ.
    /// Changes within the debounce interval of the [default options](WatchOptions) cause one call.
    ///
    /// While the handle is alive and events are reported, calls and definitions scan only if an
    /// event was reported since the last scan, or if that scan is older than one second. No
    /// platform reports everything, such as edits through another hard link, changes on other
    /// machines, or renames of a directory above a root: calls see those within a second, and
    /// `changed` is called when a periodic scan finds them, every 30 s. A directory that was
    /// removed and created again is watched again once its removal was reported or a scan finds the
    /// new one.
    ///
    /// Changes that the tools make themselves are visible immediately. If the platform does not
    /// report events for everything that is watched, each call scans as without a watcher, and
    /// `changed` is called when a scan every two seconds finds a change. Files are always read when
    /// they are needed, and permissions are decided for the content that runs.
    ///
    /// Performs blocking I/O for an initial scan.
    pub fn watch(&self, changed: impl FnMut() + Send + 'static) -> WatchHandle {
        self.watch_with(WatchOptions::default(), changed)
    }

    /// Watches the skills with other intervals than [`watch`](Self::watch).
    pub fn watch_with(
        &self,
        options: WatchOptions,
        mut changed: impl FnMut() + Send + 'static,
    ) -> WatchHandle {
        let registration = WatcherRegistration {
            catalog_cache: Arc::clone(&self.inner.files.catalog_cache),
            state: Arc::default(),
        };
        let scanner = self
            .has_group(ToolGroup::ScriptTools)
            .then(|| Arc::clone(&self.inner.script_scanner));
        let runtime = self.inner.runtime.clone();
        // Before the watcher starts, so that a change during its start is a difference.
        let mut previous_index = scanner
            .as_ref()
            .map(|scanner| scanner.refresh(&runtime.refresh()));
        let thread_registration = UnregisterOnDrop(registration.clone());
        let on_scan = move |event: &ScanEvent| {
            let now = scanner
                .as_ref()
                .map(|scanner: &Arc<ScriptScanner>| scanner.refresh(&runtime.catalog()));
            let scripts_changed = previous_index
                .as_ref()
                .zip(now.as_ref())
                .is_some_and(|(previous_index, now)| previous_index.differs_from(now));
            previous_index = now;
            thread_registration
                .0
                // Registered only while events are complete; otherwise each call scans.
                .update(event.is_event_driven.then_some(&event.event_count));
            if event.change.is_some() || scripts_changed {
                changed();
            }
        };
        let watcher = self.inner.runtime.watch(options, on_scan);
        WatchHandle {
            inner: Some(watcher),
            registration,
        }
    }
}

impl WatchHandle {
    /// Returns whether the platform reports events for everything that is watched, so that calls
    /// scan at most once a second without an event. Returns false if the thread has ended because
    /// `changed` panicked.
    #[must_use]
    pub fn reports_events(&self) -> bool {
        self.inner
            .as_ref()
            .is_some_and(skills_runtime::CatalogWatcher::reports_events)
    }
}

impl Drop for WatchHandle {
    fn drop(&mut self) {
        // Stops the thread first: afterwards it cannot register again.
        self.inner = None;
        self.registration.unregister();
    }
}

impl WatcherRegistration {
    /// Updates the registration: calls rely on these events, or on none.
    fn update(&self, events: Option<&EventCount>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Registered at most once; an ended registration never becomes active again.
        match (*state, events.cloned()) {
            (RegistrationState::Inactive, Some(events)) => {
                *state = RegistrationState::Active(
                    self.catalog_cache.register(Box::new(move || events.get())),
                )
            }
            (RegistrationState::Active(id), None) => {
                self.catalog_cache.unregister(id);
                *state = RegistrationState::Inactive;
            }
            _ => {}
        }
    }

    fn unregister(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let RegistrationState::Active(id) =
            std::mem::replace(&mut *state, RegistrationState::Ended)
        {
            self.catalog_cache.unregister(id);
        }
    }
}

/// Unregisters the watcher when the thread ends, also if `changed` panics.
struct UnregisterOnDrop(WatcherRegistration);

impl Drop for UnregisterOnDrop {
    fn drop(&mut self) {
        self.0.unregister();
    }
}

impl std::fmt::Debug for WatcherRegistration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatcherRegistration")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

//! Watches the skills, so that calls need not look for them.

use std::sync::{Arc, Mutex, PoisonError};

use skills_runtime::discovery::{EventCount, ScanEvent, WatchOptions};

use crate::catalog_cache::CatalogCache;
use crate::registry::ScriptScanner;
use crate::{ToolGroup, ToolSet};

/// Watches the skills for a set of tools until it is dropped.
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub struct WatchHandle {
    /// Nothing once it has ended.
    inner: Option<skills_runtime::CatalogWatcher>,
    registration: WatcherRegistration,
}

/// Whether calls rely on a watch. It is over when the handle or the thread ends, whichever is
/// first, and stays so.
#[derive(Clone)]
struct WatcherRegistration {
    catalog_cache: Arc<CatalogCache>,
    state: Arc<Mutex<RegistrationState>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum RegistrationState {
    #[default]
    Inactive,
    /// By the number that the watch has.
    Active(u64),
    Ended,
}

impl ToolSet {
    /// Watches the skills, and calls `changed` on a thread of its own when the catalogue has
    /// changed, or a file of a skill's `scripts/`: then the [definitions](Self::definitions) may be
    /// others. Whatever changes within the quiet time of the [default options](WatchOptions) is one
    /// call.
    ///
    /// While the handle lives and the system reports what happens, calls and definitions look at
    /// the disk for skills only when something was reported since the last look, or when that began
    /// a second ago. No system reports everything, such as edits through another hard link, changes
    /// on other machines, or that a directory above a root was renamed: calls see those within a
    /// second, and `changed` is called when a look of the watch finds them, every 30 s. A directory
    /// that was removed and made again is watched anew once its removal was reported, or a look
    /// finds another one in its place.
    ///
    /// What the tools themselves change is there at once. Where the system does not report all that
    /// is watched, each call looks as it does without a watch, and `changed` is called when a look
    /// every two seconds finds something. Files are read when they are needed, and what runs is
    /// what was decided on, as ever.
    ///
    /// Blocks on the disk for a first look.
    pub fn watch(&self, changed: impl FnMut() + Send + 'static) -> WatchHandle {
        self.watch_with(WatchOptions::default(), changed)
    }

    /// Watches as [`watch`](Self::watch) does, with other times.
    pub fn watch_with(
        &self,
        options: WatchOptions,
        mut changed: impl FnMut() + Send + 'static,
    ) -> WatchHandle {
        let counted = WatcherRegistration {
            catalog_cache: Arc::clone(&self.inner.files.catalog_cache),
            state: Arc::default(),
        };
        let finder = self
            .has_group(ToolGroup::ScriptTools)
            .then(|| Arc::clone(&self.inner.script_scanner));
        let runtime = self.inner.runtime.clone();
        let mut known = finder
            .as_ref()
            .map(|finder| finder.refresh(&runtime.refresh()));
        let of_thread = UnregisterOnDrop(counted.clone());
        let looked = move |look: &ScanEvent| {
            let now = finder
                .as_ref()
                .map(|finder: &Arc<ScriptScanner>| finder.refresh(&runtime.catalog()));
            let is_other = known
                .as_ref()
                .zip(now.as_ref())
                .is_some_and(|(known, now)| known.differs_from(now));
            known = now;
            of_thread
                .0
                .update(look.is_event_driven.then_some(&look.event_count));
            if look.change.is_some() || is_other {
                changed();
            }
        };
        let watching = self.inner.runtime.watch(options, looked);
        WatchHandle {
            inner: Some(watching),
            registration: counted,
        }
    }
}

impl WatchHandle {
    /// Says whether the system reports events of all that is watched, so that calls look at most
    /// once a second without one; else each looks. Not once the thread has ended because `changed`
    /// panicked.
    #[must_use]
    pub fn reports_events(&self) -> bool {
        self.inner
            .as_ref()
            .is_some_and(skills_runtime::CatalogWatcher::reports_events)
    }
}

impl Drop for WatchHandle {
    fn drop(&mut self) {
        self.inner = None;
        self.registration.unregister();
    }
}

impl WatcherRegistration {
    /// Relies on what is reported here, or on nothing any more.
    fn update(&self, events: Option<&EventCount>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match (*state, events.cloned()) {
            (RegistrationState::Inactive, Some(events)) => {
                *state = RegistrationState::Active(
                    self.catalog_cache.register(Box::new(move || events.get())),
                )
            }
            (RegistrationState::Active(watch), None) => {
                self.catalog_cache.unregister(watch);
                *state = RegistrationState::Inactive;
            }
            _ => {}
        }
    }

    fn unregister(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let RegistrationState::Active(watch) =
            std::mem::replace(&mut *state, RegistrationState::Ended)
        {
            self.catalog_cache.unregister(watch);
        }
    }
}

/// The thread's end of it: where `changed` panics nobody watches any more.
struct UnregisterOnDrop(WatcherRegistration);

impl Drop for UnregisterOnDrop {
    fn drop(&mut self) {
        self.0.unregister();
    }
}

impl std::fmt::Debug for WatcherRegistration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counted")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

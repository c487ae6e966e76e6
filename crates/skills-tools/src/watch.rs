//! Watches the skills, so that calls need not look for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use skills_runtime::discovery::{Look, WatchOptions};

use crate::looks::Looks;
use crate::registry::ScriptFinder;
use crate::{ToolSet, Toolbox};

/// Watches the skills for a set of tools until it is dropped.
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub struct Watching {
    /// Goes first, so that its thread has ended before what it counted is taken back.
    watching: Option<skills_runtime::Watching>,
    counted: Counted,
}

/// Whether calls rely on this one.
#[derive(Clone)]
struct Counted {
    looks: Arc<Looks>,
    is_on: Arc<AtomicBool>,
}

impl ToolSet {
    /// Watches the skills, and calls `changed` on a thread of its own when the catalogue has changed, or a file of a skill's `scripts/`: then the
    /// [definitions](Self::definitions) may be others. Whatever changes within the quiet time of the [default options](WatchOptions) is one call.
    ///
    /// While the handle lives and the system reports all that happens, calls and definitions take the skills as the last event left them, and do not look at
    /// the disk for them. What the tools themselves change is there at once. Where the system does not report everything, each call looks as it does without a watch, and
    /// `changed` is called when a look every two seconds finds something. Files are read when they are needed, and what runs is what was decided on, as ever.
    pub fn watch(&self, changed: impl FnMut() + Send + 'static) -> Watching {
        self.watch_with(WatchOptions::default(), changed)
    }

    /// Watches as [`watch`](Self::watch) does, with other times.
    pub fn watch_with(&self, options: WatchOptions, mut changed: impl FnMut() + Send + 'static) -> Watching {
        let counted = Counted { looks: Arc::clone(&self.shared.files.looks), is_on: Arc::default() };
        let finder = self.has(Toolbox::Scripts).then(|| Arc::clone(&self.shared.scripts));
        let runtime = self.shared.runtime.clone();
        let mut known = finder.as_ref().map(|finder| finder.anew(&runtime.refresh()));
        let of_watch = counted.clone();
        let looked = move |look: &Look| {
            let now = finder.as_ref().map(|finder: &Arc<ScriptFinder>| finder.anew(&runtime.catalog()));
            let is_other = known.as_ref().zip(now.as_ref()).is_some_and(|(known, now)| known.differ(now));
            known = now;
            of_watch.set(look.reports_events);
            if look.change.is_some() || is_other {
                changed();
            }
        };
        let watching = self.shared.runtime.watch(options, looked);
        Watching { watching: Some(watching), counted }
    }
}

impl Watching {
    /// Says whether the system reports events of all that is watched, so that calls do without looking; else they look.
    #[must_use]
    pub fn reports_events(&self) -> bool {
        self.watching.as_ref().is_some_and(skills_runtime::Watching::reports_events)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.watching = None;
        self.counted.set(false);
    }
}

impl Counted {
    fn set(&self, is_on: bool) {
        match (self.is_on.swap(is_on, Ordering::SeqCst), is_on) {
            (false, true) => self.looks.watch_begins(),
            (true, false) => self.looks.watch_ends(),
            _ => {}
        }
    }
}

impl std::fmt::Debug for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counted").field("is_on", &self.is_on).finish_non_exhaustive()
    }
}

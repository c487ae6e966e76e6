//! Looks out for changes of what clients were told.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use skills_tools::WatchHandle;

use crate::list_changes::ListKind;
use crate::{Server, prompts, skills_extension, tools};

/// The look-out of a server, for all of its clients.
#[derive(Default)]
pub(crate) struct ListWatcher {
    is_started: AtomicBool,
    handle: OnceLock<WatchHandle>,
}

/// Begins to look out, once, when a client wants to know of something or calls a tool.
pub(crate) fn start_watching(server: &Server) {
    if server
        .inner
        .list_watcher
        .is_started
        .swap(true, Ordering::Relaxed)
    {
        return;
    }
    let server = server.clone();
    // Looking around takes the disk, and nobody waits for it.
    tokio::task::spawn_blocking(move || {
        let weak = Arc::downgrade(&server.inner);
        let changed = move || {
            if let Some(shared) = weak.upgrade() {
                refresh_served(&Server { inner: shared });
            }
        };
        let watching = server.inner.tools.watch(changed);
        // It is the only one: this begins once.
        let _ = server.inner.list_watcher.handle.set(watching);
    });
}

/// Looks what there is of the lists that no client of this server was told: one that listens may
/// have read them from another server behind the same address. Blocks on the disk.
pub(crate) fn refresh_unserved(server: &Server, lists: impl Iterator<Item = ListKind>) {
    lists
        .filter(|list| !server.inner.list_tracker.was_served(*list))
        .for_each(|list| refresh_list(server, list));
}

/// Compares what clients were told with what is there.
fn refresh_served(server: &Server) {
    ListKind::ALL
        .into_iter()
        .filter(|list| server.inner.list_tracker.was_served(*list))
        .for_each(|list| refresh_list(server, list));
}

fn refresh_list(server: &Server, list: ListKind) {
    match list {
        ListKind::Tools => drop(tools::list_and_track(server)),
        ListKind::Prompts => drop(prompts::list_and_track(server)),
        ListKind::Resources => drop(skills_extension::list_and_track(server)),
    }
}

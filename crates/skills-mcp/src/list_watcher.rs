//! Watches for changes of served lists.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use skills_tools::runtime::discovery::WatchOptions;

use crate::list_changes::ListKind;
use crate::{Server, prompts, served_skills, tool_list};

/// Starts watching when a client subscribes or calls a tool; later calls do nothing.
pub(crate) fn start_watching(server: &Server) {
    let watcher = &server.inner.list_watcher;
    if watcher.is_started.swap(true, Ordering::Relaxed) {
        return;
    }
    let watching = server.clone();
    // The initial scan is blocking I/O and must not delay the request.
    let started = skills_threads::spawn_blocking(move || {
        let server = watching;
        // A weak reference: the watcher belongs to the server and must not keep it alive.
        let weak = Arc::downgrade(&server.inner);
        let changed = move || {
            if let Some(shared) = weak.upgrade() {
                refresh_served(&Server::from_inner(shared));
            }
        };
        let mut options = WatchOptions::default();
        options.on_problem = Some(Arc::new(|problem| tracing::warn!("{problem}")));
        match server.inner.shared_tools.watch(options, changed) {
            // Set only once, since watching starts only once.
            Ok(handle) => drop(server.inner.list_watcher.handle.set(handle)),
            Err(error) => stop_watching(&server, &error),
        }
        // The watcher reports differences from what it found first, which may be newer than a list
        // that was served before.
        refresh_served(&server);
    });
    if let Err(error) = started {
        stop_watching(server, &error);
    }
}

/// Lets the next request start watching, since the system did not start a thread for it.
fn stop_watching(server: &Server, error: &dyn Display) {
    tracing::warn!("cannot watch skills until the next request: {error}");
    let is_started = &server.inner.list_watcher.is_started;
    is_started.store(false, Ordering::Relaxed);
}

/// Records what this server has not served: a subscriber may have read it from another server behind
/// the same address. Performs blocking I/O.
pub(crate) fn refresh_unserved(server: &Server, lists: impl Iterator<Item = ListKind>) {
    for list in lists {
        match list {
            ListKind::Resources => served_skills::read_unread(server),
            _ if server.inner.list_tracker.was_served(list) => {}
            _ => refresh_list(server, list),
        }
    }
}

/// Compares the served lists with their current content.
fn refresh_served(server: &Server) {
    ListKind::ALL
        .into_iter()
        .filter(|list| server.inner.list_tracker.was_served(*list))
        .for_each(|list| refresh_list(server, list));
}

fn refresh_list(server: &Server, list: ListKind) {
    match list {
        ListKind::Tools => drop(tool_list::list_and_track(server)),
        ListKind::Prompts => drop(prompts::list_and_track(server)),
        ListKind::Resources => served_skills::refresh(server),
    }
}

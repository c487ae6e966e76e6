//! Looks out for changes of what clients were told.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use skills_tools::Watching;

use crate::changes::List;
use crate::{Server, prompts, skills, tools};

/// The look-out of a server, for all of its clients.
#[derive(Default)]
pub(crate) struct LookOut {
    has_begun: AtomicBool,
    watching: OnceLock<Watching>,
}

/// Begins to look out, once, when a client wants to know of something or calls a tool.
pub(crate) fn watch(server: &Server) {
    if server
        .shared
        .look_out
        .has_begun
        .swap(true, Ordering::Relaxed)
    {
        return;
    }
    let server = server.clone();
    // Looking around takes the disk, and nobody waits for it.
    tokio::task::spawn_blocking(move || {
        let weak = Arc::downgrade(&server.shared);
        let changed = move || {
            if let Some(shared) = weak.upgrade() {
                compare(&Server { shared });
            }
        };
        let watching = server.shared.tools.watch(changed);
        // It is the only one: this begins once.
        let _ = server.shared.look_out.watching.set(watching);
    });
}

/// Looks what there is of the lists that no client of this server was told: one that listens may
/// have read them from another server behind the same address. Blocks on the disk.
pub(crate) fn look(server: &Server, lists: impl Iterator<Item = List>) {
    lists
        .filter(|list| !server.shared.changes.is_told(*list))
        .for_each(|list| note(server, list));
}

/// Compares what clients were told with what is there.
fn compare(server: &Server) {
    List::ALL
        .into_iter()
        .filter(|list| server.shared.changes.is_told(*list))
        .for_each(|list| note(server, list));
}

fn note(server: &Server, list: List) {
    match list {
        List::Tools => drop(tools::all(server)),
        List::Prompts => drop(prompts::all(server)),
        List::Resources => drop(skills::published(server)),
    }
}

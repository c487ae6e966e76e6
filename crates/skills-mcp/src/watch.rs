//! Looks out for changes of what clients were told.

use std::sync::Arc;

use crate::changes::List;
use crate::{Server, prompts, skills, tools};

/// Begins to look out, once, when a client wants to know of something.
pub(crate) fn watch(server: &Server) {
    if server.shared.watching.get().is_some() {
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
        server.shared.watching.get_or_init(|| server.shared.tools.watch(changed));
    });
}

/// Compares what clients were told with what is there.
fn compare(server: &Server) {
    for list in List::ALL.into_iter().filter(|list| server.shared.changes.is_told(*list)) {
        match list {
            List::Tools => drop(tools::all(server)),
            List::Prompts => drop(prompts::all(server)),
            List::Resources => drop(skills::published(server)),
        }
    }
}

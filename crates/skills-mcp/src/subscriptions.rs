//! Notifications of list changes.

use rmcp::RoleServer;
use rmcp::model::SubscriptionFilter;
use rmcp::service::{Peer, ServiceError, SubscriptionContext, SubscriptionSendError};
use tokio_util::sync::CancellationToken;

use crate::Server;
use crate::list_changes::ListKind;
use crate::list_watcher;

/// Returns the supported part of a subscription: all lists.
pub(crate) fn supported_filter(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let all = SubscriptionFilter::builder()
        .tools_list_changed()
        .prompts_list_changed()
        .resources_list_changed()
        .build();
    requested.intersection(&all)
}

fn requested_lists(filter: &SubscriptionFilter) -> Vec<ListKind> {
    let wanted = [
        filter.tools_list_changed,
        filter.prompts_list_changed,
        filter.resources_list_changed,
    ];
    ListKind::ALL
        .into_iter()
        .zip(wanted)
        .filter(|(_, wanted)| *wanted == Some(true))
        .map(|(list, _)| list)
        .collect()
}

/// Notifies a client in the stateless lifecycle of the changes that it subscribed to, starting with
/// those since it read the lists, until it ends the subscription or disconnects, or the server
/// stops. Each subscription repeats changes, since notifications of another one may not have
/// arrived.
pub(crate) async fn serve_subscription(
    server: &Server,
    context: &SubscriptionContext,
    disconnected: &CancellationToken,
    seen: [Option<u64>; 3],
) {
    // Subscribed before the versions are compared, so that no change in between is lost.
    let mut receiver = server.inner.list_tracker.subscribe();
    let mut previous = receiver.borrow().with_seen(seen);
    let lists = requested_lists(context.accepted());
    if let Err(error) = server
        .run_blocking(move |server| list_watcher::refresh_unserved(server, lists.into_iter()))
        .await
    {
        tracing::error!(%error, "cannot scan for changes; a subscription may miss some");
    }
    loop {
        let now = *receiver.borrow_and_update();
        for list in now.changed_since(previous) {
            let sink = context.sink();
            let sent = match list {
                ListKind::Tools => sink.notify_tool_list_changed().await,
                ListKind::Prompts => sink.notify_prompt_list_changed().await,
                ListKind::Resources => sink.notify_resource_list_changed().await,
            };
            match sent {
                // The client did not subscribe to this list.
                Ok(()) | Err(SubscriptionSendError::NotificationNotAccepted(_)) => {}
                // The client has disconnected.
                Err(_) => return,
            }
        }
        previous = now;
        tokio::select! {
            () = context.cancelled() => return,
            () = disconnected.cancelled() => return,
            () = server.inner.stop.cancelled() => return,
            changed = receiver.changed() => if changed.is_err() { return },
        }
    }
}

/// Notifies a legacy client of changes until it disconnects.
pub(crate) fn notify_legacy(
    server: &Server,
    peer: Peer<RoleServer>,
    disconnected: CancellationToken,
) {
    let mut receiver = server.inner.list_tracker.subscribe();
    tokio::spawn(async move {
        let mut previous = *receiver.borrow_and_update();
        loop {
            tokio::select! {
                () = disconnected.cancelled() => return,
                changed = receiver.changed() => if changed.is_err() { return },
            }
            let now = *receiver.borrow_and_update();
            for list in now.changed_since(previous) {
                if notify_list_changed(&peer, list).await.is_err() {
                    return;
                }
            }
            previous = now;
        }
    });
}

async fn notify_list_changed(peer: &Peer<RoleServer>, list: ListKind) -> Result<(), ServiceError> {
    match list {
        ListKind::Tools => peer.notify_tool_list_changed().await,
        ListKind::Prompts => peer.notify_prompt_list_changed().await,
        ListKind::Resources => peer.notify_resource_list_changed().await,
    }
}

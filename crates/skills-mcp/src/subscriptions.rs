//! Notifications of list changes.

use rmcp::RoleServer;
use rmcp::model::SubscriptionFilter;
use rmcp::service::{
    Peer, ServiceError, SubscriptionContext, SubscriptionSendError, SubscriptionSink,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::Server;
use crate::list_changes::{ListKind, ListVersions};
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
    let changes = server.inner.list_tracker.subscribe();
    let previous = changes.borrow().with_seen(seen);
    let lists = requested_lists(context.accepted());
    if let Err(error) = server
        .run_blocking(move |server| list_watcher::refresh_unserved(server, lists.into_iter()))
        .await
    {
        tracing::error!(%error, "cannot scan for changes; a subscription may miss some");
    }
    let subscriber = Subscriber::Stateless(context);
    tokio::select! {
        // Earlier changes are notified even if the server has stopped.
        biased;
        () = subscriber.notify(changes, previous) => {}
        () = context.cancelled() => {}
        () = disconnected.cancelled() => {}
        () = server.inner.stop.cancelled() => {}
    }
}

/// Notifies a legacy client of changes until it disconnects.
pub(crate) fn notify_legacy(
    server: &Server,
    peer: Peer<RoleServer>,
    disconnected: CancellationToken,
) {
    let changes = server.inner.list_tracker.subscribe();
    let previous = *changes.borrow();
    tokio::spawn(async move {
        let subscriber = Subscriber::Legacy(peer);
        let notifying = subscriber.notify(changes, previous);
        disconnected.run_until_cancelled(notifying).await
    });
}

/// A client that is notified.
enum Subscriber<'a> {
    Legacy(Peer<RoleServer>),
    Stateless(&'a SubscriptionContext),
}

impl Subscriber<'_> {
    /// Notifies of all changes since `previous`, until the client is not reachable.
    async fn notify(&self, mut changes: watch::Receiver<ListVersions>, mut previous: ListVersions) {
        loop {
            let now = *changes.borrow_and_update();
            for list in now.changed_since(previous) {
                let is_reachable = match self {
                    Self::Legacy(peer) => notify_peer(peer, list).await.is_ok(),
                    Self::Stateless(context) => notify_sink(context.sink(), list).await,
                };
                if !is_reachable {
                    return;
                }
            }
            previous = now;
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

async fn notify_peer(peer: &Peer<RoleServer>, list: ListKind) -> Result<(), ServiceError> {
    match list {
        ListKind::Tools => peer.notify_tool_list_changed().await,
        ListKind::Prompts => peer.notify_prompt_list_changed().await,
        ListKind::Resources => peer.notify_resource_list_changed().await,
    }
}

/// Returns `false` if the client has disconnected.
async fn notify_sink(sink: &SubscriptionSink, list: ListKind) -> bool {
    let sent = match list {
        ListKind::Tools => sink.notify_tool_list_changed().await,
        ListKind::Prompts => sink.notify_prompt_list_changed().await,
        ListKind::Resources => sink.notify_resource_list_changed().await,
    };
    // The client may not have subscribed to this list.
    matches!(
        sent,
        Ok(()) | Err(SubscriptionSendError::NotificationNotAccepted(_))
    )
}

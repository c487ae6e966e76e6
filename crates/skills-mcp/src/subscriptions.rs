//! Notifications of list changes.

use rmcp::RoleServer;
use rmcp::model::{
    PromptListChangedNotification, ResourceListChangedNotification, ServerNotification,
    SubscriptionFilter, ToolListChangedNotification,
};
use rmcp::service::{Peer, SubscriptionContext, SubscriptionSendError};
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
    let mut lists = ListKind::ALL.to_vec();
    lists.retain(|list| wanted[*list as usize] == Some(true));
    lists
}

/// Notifies a client in the stateless lifecycle of the changes that it subscribed to, starting with
/// those since it read the lists, until it ends the subscription or disconnects, or the server
/// stops. Each subscription repeats changes, since notifications of another one may not have
/// arrived.
pub(crate) async fn serve_subscription(
    server: &Server,
    context: &SubscriptionContext,
    session_tools: watch::Receiver<u64>,
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
        () = subscriber.notify(changes, previous, session_tools) => {}
        () = context.cancelled() => {}
        () = disconnected.cancelled() => {}
        () = server.inner.stop.cancelled() => {}
    }
}

/// Notifies a legacy client of changes, starting with those since it read the lists, until it
/// disconnects. A client may read a list before its notification that it is initialized is handled.
pub(crate) fn notify_legacy(
    server: &Server,
    peer: Peer<RoleServer>,
    session_tools: watch::Receiver<u64>,
    disconnected: CancellationToken,
    seen: [Option<u64>; 3],
) {
    let changes = server.inner.list_tracker.subscribe();
    let previous = changes.borrow().with_seen(seen);
    tokio::spawn(async move {
        let subscriber = Subscriber::Legacy(peer);
        let notifying = subscriber.notify(changes, previous, session_tools);
        disconnected.run_until_cancelled(notifying).await
    });
}

/// A client that is notified.
enum Subscriber<'a> {
    Legacy(Peer<RoleServer>),
    Stateless(&'a SubscriptionContext),
}

impl Subscriber<'_> {
    /// Notifies of all changes since `previous` and of those of the session's tools, until the client
    /// is not reachable.
    async fn notify(
        &self,
        mut changes: watch::Receiver<ListVersions>,
        mut previous: ListVersions,
        mut session_tools: watch::Receiver<u64>,
    ) {
        loop {
            let now = *changes.borrow_and_update();
            for list in now.changed_since(previous) {
                if !self.send(list_changed(list)).await {
                    return;
                }
            }
            previous = now;
            let is_open = tokio::select! {
                changed = changes.changed() => changed.is_ok(),
                changed = session_tools.changed() => {
                    changed.is_ok() && self.send(list_changed(ListKind::Tools)).await
                }
            };
            if !is_open {
                return;
            }
        }
    }

    /// Returns `false` if the client has disconnected.
    async fn send(&self, notification: ServerNotification) -> bool {
        match self {
            Self::Legacy(peer) => peer.send_notification(notification).await.is_ok(),
            Self::Stateless(context) => matches!(
                context.sink().send(notification).await,
                // The client may not have subscribed to this list.
                Ok(()) | Err(SubscriptionSendError::NotificationNotAccepted(_))
            ),
        }
    }
}

fn list_changed(list: ListKind) -> ServerNotification {
    match list {
        ListKind::Tools => ToolListChangedNotification::default().into(),
        ListKind::Prompts => PromptListChangedNotification::default().into(),
        ListKind::Resources => ResourceListChangedNotification::default().into(),
    }
}

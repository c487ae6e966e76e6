//! A server that has its address.

use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rmcp::ServerHandler;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::HttpLimits;
use super::auth::Authenticator;
use super::connection;
use super::error::{HttpError, Repr};
use super::hosts::AllowedHosts;
use super::origins::AllowedOrigins;
use super::service::{HttpService, ShutdownPhases};

/// A server that has its address and takes no requests yet.
#[derive(Debug)]
pub struct BoundHttpServer {
    pub(super) listener: TcpListener,
    pub(super) address: SocketAddr,
    pub(super) allowed_hosts: AllowedHosts,
    pub(super) allowed_origins: AllowedOrigins,
    pub(super) authenticator: Authenticator,
    pub(super) limits: HttpLimits,
}

impl BoundHttpServer {
    /// Returns the address, with the port that was free if any was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until told to stop, each session, and each request that belongs to none, by
    /// a handler of its own: [`Server::connection`](crate::Server::connection) makes them.
    ///
    /// Then no connection is accepted and no request taken any more. Streams of sessions end at
    /// once. Subscriptions end after a second, but a handler should end them itself, for only then
    /// is the client told. Requests that are being answered have the drain time to finish. Those
    /// that have not by then are cancelled, and sessions are closed.
    ///
    /// # Errors
    ///
    /// Fails if no connection can be accepted any longer.
    pub async fn serve<H>(
        self,
        handlers: impl Fn() -> H + Send + Sync + 'static,
        stop: impl Future<Output = ()>,
    ) -> Result<(), HttpError>
    where
        H: ServerHandler,
    {
        self.serve_with_shutdown(handlers, stop, std::future::pending())
            .await
    }

    /// Does what [`serve`](Self::serve) does, and once told to stop, waits for nothing any more as
    /// soon as it is told to hurry.
    ///
    /// Then requests that are still being answered are cancelled as if their time to finish had
    /// ended, and the end takes two seconds at most. `hurry` is asked only once `stop` has come:
    /// the first signal to a program may be the one, and the second the other.
    ///
    /// # Errors
    ///
    /// Fails if no connection can be accepted any longer.
    pub async fn serve_with_shutdown<H>(
        self,
        handlers: impl Fn() -> H + Send + Sync + 'static,
        stop: impl Future<Output = ()>,
        hurry: impl Future<Output = ()>,
    ) -> Result<(), HttpError>
    where
        H: ServerHandler,
    {
        let stages = ShutdownPhases::default();
        // However this ends, even by being dropped, nothing of it goes on.
        let _end = [
            &stages.draining,
            &stages.subscriptions_closed,
            &stages.aborted,
        ]
        .map(|stage| stage.clone().drop_guard());
        let Self {
            listener,
            address,
            allowed_hosts: hosts,
            allowed_origins: origins,
            authenticator: keyring,
            limits,
        } = self;
        let front = HttpService::new(
            hosts,
            origins,
            keyring,
            limits.clone(),
            Arc::new(handlers),
            stages.clone(),
        );
        let mut open = Connections::new(front.into_router(), &limits, stages);
        let accepted = open.accept(&listener, pin!(stop)).await;
        drop(listener);
        open.close(limits.shutdown_timeout, hurry).await;
        accepted.map_err(|source| Repr::Accept { address, source }.into())
    }
}

/// The connections that are open.
struct Connections {
    router: Router,
    slots: Arc<Semaphore>,
    limits: HttpLimits,
    tasks: JoinSet<()>,
    phases: ShutdownPhases,
}

impl Connections {
    fn new(router: Router, limits: &HttpLimits, stages: ShutdownPhases) -> Self {
        let places = Arc::new(Semaphore::new(
            limits.max_connections.min(Semaphore::MAX_PERMITS),
        ));
        Self {
            router,
            slots: places,
            limits: limits.clone(),
            tasks: JoinSet::new(),
            phases: stages,
        }
    }

    /// Serves connections until `stop`, or until accepting them keeps failing.
    async fn accept(
        &mut self,
        listener: &TcpListener,
        mut stop: Pin<&mut impl Future<Output = ()>>,
    ) -> io::Result<()> {
        let mut failures = 0;
        loop {
            let next = async {
                // The next one waits in the system's queue until there is a place for it.
                let place = self
                    .slots
                    .clone()
                    .acquire_owned()
                    .await
                    .map_err(io::Error::other)?;
                listener.accept().await.map(|(stream, _)| (stream, place))
            };
            let accepted = tokio::select! {
                () = stop.as_mut() => return Ok(()),
                accepted = next => accepted,
            };
            match accepted {
                Ok((stream, place)) => {
                    failures = 0;
                    self.serve(stream, place);
                }
                Err(error) if failures == MAX_ACCEPT_FAILURES => return Err(error),
                Err(error) => {
                    failures += 1;
                    tracing::warn!(%error, "a connection was not accepted");
                    // Without open files to spare it would fail again at once.
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
    }

    fn serve(&mut self, stream: TcpStream, place: impl Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        let served = connection::serve(
            stream,
            self.router.clone(),
            self.limits.clone(),
            self.phases.draining.clone(),
        );
        self.tasks.spawn(async move {
            served.await;
            drop(place);
        });
    }

    async fn close(mut self, drain: Duration, hurry: impl Future<Output = ()>) {
        self.phases.draining.cancel();
        tokio::select! {
            () = self.wait_drained(drain) => {}
            () = hurry => self.phases.subscriptions_closed.cancel(),
        }
        self.phases.aborted.cancel();
        self.wait_closed(Instant::now() + FINAL_FLUSH_TIMEOUT).await;
        self.tasks.shutdown().await;
    }

    async fn wait_drained(&mut self, drain: Duration) {
        let deadline = Instant::now() + drain;
        self.wait_closed(deadline.min(Instant::now() + FINAL_FLUSH_TIMEOUT))
            .await;
        self.phases.subscriptions_closed.cancel();
        self.wait_closed(deadline).await;
    }

    async fn wait_closed(&mut self, deadline: Instant) {
        while let Ok(Some(_)) = tokio::time::timeout_at(deadline, self.tasks.join_next()).await {}
    }
}

/// How often in a row a connection may not be accepted: ten seconds.
const MAX_ACCEPT_FAILURES: usize = 100;
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
/// How long subscriptions may take to end, and answers that were cut short to leave.
const FINAL_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

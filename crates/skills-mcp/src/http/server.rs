//! A bound HTTP server.

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

use super::connection;
use super::error::{HttpError, Repr};
use super::layers::Layers;
use super::limits::HttpLimits;
use super::shutdown::ShutdownPhases;

/// A server that is bound to its address and does not accept requests yet.
///
/// Clients can connect as soon as it is bound; their connections wait in the backlog of the socket
/// until [`serve`](Self::serve) accepts them.
#[derive(Debug)]
pub struct BoundHttpServer {
    pub(super) listener: TcpListener,
    pub(super) address: SocketAddr,
    pub(super) layers: Layers,
}

impl BoundHttpServer {
    /// Returns the address, with the actual port if port 0 was requested.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves requests until `stop` completes. Each session, and each request without session, gets
    /// its own handler: [`Server::connection`](crate::Server::connection) creates them.
    ///
    /// During shutdown, no connection or request is accepted. Streams of sessions end immediately.
    /// Subscriptions end after a second, but a handler should end them itself, since only then the
    /// client is notified. Running requests have the shutdown timeout to finish, after which they
    /// are cancelled and all sessions closed.
    ///
    /// # Errors
    ///
    /// Fails if connections cannot be accepted.
    pub async fn serve<H: ServerHandler>(
        self,
        handlers: impl Fn() -> H + Send + Sync + 'static,
        stop: impl Future<Output = ()>,
    ) -> Result<(), HttpError> {
        self.serve_with_shutdown(handlers, stop, std::future::pending())
            .await
    }

    /// Serves requests like [`serve`](Self::serve), and aborts the shutdown when `abort` completes.
    ///
    /// Running requests are then cancelled as after the shutdown timeout, and the end takes at most
    /// two seconds. `abort` is polled only after `stop` has completed, so that both can wait for
    /// the same signal.
    ///
    /// # Errors
    ///
    /// Fails if connections cannot be accepted.
    pub async fn serve_with_shutdown<H: ServerHandler>(
        self,
        handlers: impl Fn() -> H + Send + Sync + 'static,
        stop: impl Future<Output = ()>,
        abort: impl Future<Output = ()>,
    ) -> Result<(), HttpError> {
        let phases = ShutdownPhases::default();
        // Also when this future is dropped, all tasks end.
        let _end = phases.drop_guards();
        let Self {
            listener,
            address,
            layers,
        } = self;
        let limits = layers.limits.clone();
        let router = layers.into_router(Arc::new(handlers), &phases);
        let mut connections = Connections::new(router, &limits, phases);
        let accepted = connections.accept(&listener, pin!(stop)).await;
        // New clients then get an error at once instead of waiting in the backlog.
        drop(listener);
        connections.close(limits.shutdown_timeout, abort).await;
        accepted.map_err(|source| Repr::Accept { address, source }.into())
    }
}

/// The open connections.
struct Connections {
    router: Router,
    permits: Arc<Semaphore>,
    limits: HttpLimits,
    tasks: JoinSet<()>,
    phases: ShutdownPhases,
}

impl Connections {
    fn new(router: Router, limits: &HttpLimits, phases: ShutdownPhases) -> Self {
        let permits = limits.max_connections.min(Semaphore::MAX_PERMITS);
        Self {
            router,
            permits: Arc::new(Semaphore::new(permits)),
            limits: limits.clone(),
            tasks: JoinSet::new(),
            phases,
        }
    }

    /// Accepts connections until `stop`, or until accepting fails repeatedly.
    async fn accept(
        &mut self,
        listener: &TcpListener,
        mut stop: Pin<&mut impl Future<Output = ()>>,
    ) -> io::Result<()> {
        let mut failures = 0;
        loop {
            let next = async {
                // Further connections wait in the backlog of the socket.
                let permit = Arc::clone(&self.permits).acquire_owned().await;
                let (stream, _) = listener.accept().await?;
                Ok::<_, io::Error>((stream, permit))
            };
            let accepted = tokio::select! {
                () = stop.as_mut() => return Ok(()),
                accepted = next => accepted,
            };
            match accepted {
                Ok((stream, permit)) => {
                    failures = 0;
                    self.serve(stream, permit);
                }
                Err(error) if failures == MAX_ACCEPT_FAILURES => return Err(error),
                Err(error) => {
                    failures += 1;
                    tracing::warn!(%error, "cannot accept a connection");
                    // Without free file descriptors, the next attempt would fail immediately.
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
    }

    fn serve(&mut self, stream: TcpStream, permit: impl Send + 'static) {
        // Finished tasks would otherwise stay in the set until the shutdown.
        while self.tasks.try_join_next().is_some() {}
        let (router, draining) = (self.router.clone(), self.phases.draining.clone());
        let served = connection::serve(stream, router, self.limits.clone(), draining);
        self.tasks.spawn(async move {
            served.await;
            drop(permit);
        });
    }

    async fn close(mut self, timeout: Duration, abort: impl Future<Output = ()>) {
        // Phase by phase, so that running requests can still finish while new ones are rejected.
        let phases = self.phases.clone();
        phases.draining.cancel();
        let deadline = Instant::now() + timeout;
        let drained = async {
            let end = deadline.min(Instant::now() + FINAL_FLUSH_TIMEOUT);
            self.wait_closed(end).await;
            phases.subscriptions_closed.cancel();
            self.wait_closed(deadline).await;
        };
        tokio::select! {
            () = drained => {}
            () = abort => phases.subscriptions_closed.cancel(),
        }
        phases.aborted.cancel();
        self.wait_closed(Instant::now() + FINAL_FLUSH_TIMEOUT).await;
        self.tasks.shutdown().await;
    }

    async fn wait_closed(&mut self, deadline: Instant) {
        while let Ok(Some(_)) = tokio::time::timeout_at(deadline, self.tasks.join_next()).await {}
    }
}

/// Maximum number of consecutive failures to accept a connection: ten seconds.
const MAX_ACCEPT_FAILURES: usize = 100;
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
/// How long subscriptions may take to end, and aborted responses to be written.
const FINAL_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

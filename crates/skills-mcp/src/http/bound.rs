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

use super::Limits;
use super::connection;
use super::error::{HttpError, Repr};
use super::front::{Front, Stages};
use super::hosts::Hosts;
use super::keyring::Keyring;
use super::origins::Origins;

/// A server that has its address and takes no requests yet.
#[derive(Debug)]
pub struct Bound {
    pub(super) listener: TcpListener,
    pub(super) address: SocketAddr,
    pub(super) hosts: Hosts,
    pub(super) origins: Origins,
    pub(super) keyring: Keyring,
    pub(super) limits: Limits,
}

impl Bound {
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
        self.serve_until(handlers, stop, std::future::pending())
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
    pub async fn serve_until<H>(
        self,
        handlers: impl Fn() -> H + Send + Sync + 'static,
        stop: impl Future<Output = ()>,
        hurry: impl Future<Output = ()>,
    ) -> Result<(), HttpError>
    where
        H: ServerHandler,
    {
        let stages = Stages::default();
        // However this ends, even by being dropped, nothing of it goes on.
        let _end = [&stages.stopping, &stages.parted, &stages.over]
            .map(|stage| stage.clone().drop_guard());
        let Self {
            listener,
            address,
            hosts,
            origins,
            keyring,
            limits,
        } = self;
        let front = Front::new(
            hosts,
            origins,
            keyring,
            limits.clone(),
            Arc::new(handlers),
            stages.clone(),
        );
        let mut open = Open::new(front.into_router(), &limits, stages);
        let accepted = open.accept(&listener, pin!(stop)).await;
        drop(listener);
        open.close(limits.drain, hurry).await;
        accepted.map_err(|source| Repr::Accept { address, source }.into())
    }
}

/// The connections that are open.
struct Open {
    router: Router,
    places: Arc<Semaphore>,
    limits: Limits,
    tasks: JoinSet<()>,
    stages: Stages,
}

impl Open {
    fn new(router: Router, limits: &Limits, stages: Stages) -> Self {
        let places = Arc::new(Semaphore::new(
            limits.connections.min(Semaphore::MAX_PERMITS),
        ));
        Self {
            router,
            places,
            limits: limits.clone(),
            tasks: JoinSet::new(),
            stages,
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
                    .places
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
                Err(error) if failures == MAX_FAILURES => return Err(error),
                Err(error) => {
                    failures += 1;
                    tracing::warn!(%error, "a connection was not accepted");
                    // Without open files to spare it would fail again at once.
                    tokio::time::sleep(PAUSE).await;
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
            self.stages.stopping.clone(),
        );
        self.tasks.spawn(async move {
            served.await;
            drop(place);
        });
    }

    async fn close(mut self, drain: Duration, hurry: impl Future<Output = ()>) {
        self.stages.stopping.cancel();
        tokio::select! {
            () = self.drained(drain) => {}
            () = hurry => self.stages.parted.cancel(),
        }
        self.stages.over.cancel();
        self.all_closed(Instant::now() + LAST_WORDS).await;
        self.tasks.shutdown().await;
    }

    async fn drained(&mut self, drain: Duration) {
        let deadline = Instant::now() + drain;
        self.all_closed(deadline.min(Instant::now() + LAST_WORDS))
            .await;
        self.stages.parted.cancel();
        self.all_closed(deadline).await;
    }

    async fn all_closed(&mut self, deadline: Instant) {
        while let Ok(Some(_)) = tokio::time::timeout_at(deadline, self.tasks.join_next()).await {}
    }
}

/// How often in a row a connection may not be accepted: ten seconds.
const MAX_FAILURES: usize = 100;
const PAUSE: Duration = Duration::from_millis(100);
/// How long subscriptions may take to end, and answers that were cut short to leave.
const LAST_WORDS: Duration = Duration::from_secs(1);

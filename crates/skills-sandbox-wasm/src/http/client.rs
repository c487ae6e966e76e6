//! The client of one run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use skills_policy::HostList;
use skills_sandbox::egress::{Limit, Log, Outside, Proxy, Way};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use super::Driving;
use super::body::{Capped, Paced};
use super::connect::connect;
use super::exchange::exchange;
use super::failure::{Entry, Failure, broken};
use super::fuse::Fuse;
use super::limits::HttpLimits;
use super::outgoing::outgoing;
use super::target::Target;
use super::trust::Trust;

/// Sends requests to the hosts of a list, within limits, and records what it did.
pub(super) struct Client {
    way: Proxy,
    trust: Trust,
    limits: HttpLimits,
    requests: AtomicU64,
    connections: Arc<Semaphore>,
}

type Answer = (Response<WasiBody>, Driving);

impl Client {
    pub(super) fn new(
        hosts: HostList,
        outside: Arc<dyn Outside>,
        trust: Trust,
        limits: HttpLimits,
    ) -> Self {
        let connections = Arc::new(Semaphore::new(
            limits.connections.min(Semaphore::MAX_PERMITS),
        ));
        let way = Proxy::new(hosts, outside).limits(limits.proxy());
        Self {
            way,
            trust,
            limits,
            requests: AtomicU64::new(0),
            connections,
        }
    }

    pub(super) fn log(&self) -> Log {
        self.way.log()
    }

    /// Sends a request. The program's own times only make ours shorter.
    pub(super) async fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> Result<Answer, Error> {
        let host = request
            .uri()
            .authority()
            .map(|authority| authority.as_str().as_bytes().to_vec());
        let result = self.try_send(request, options).await;
        result.map_err(|Failure { error, entry }| {
            match entry {
                Entry::Refused(reason) => self.log().refused(host.as_deref(), reason),
                Entry::Limited(limit) => self.log().limited(limit),
                Entry::Nothing => {}
            }
            error
        })
    }

    async fn try_send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> Result<Answer, Failure> {
        let permit = self.begin()?;
        let target = Target::of(request.method(), request.uri())?;
        let request = outgoing(request, &target, &self.limits)?;
        let fuse = Fuse::new(self.log());
        let request = request
            .map(|body| Capped::new(body, Way::Out, self.limits.request_body_bytes, fuse.clone()));
        let connecting = connect(&self.way, &target, &self.trust, &self.limits, &fuse, permit);
        let wire = within(
            options.connect_timeout,
            Error::ConnectionTimeout,
            connecting,
        )
        .await?;
        let exchanging = exchange(wire, request, self.limits.head_bytes, &fuse);
        let (response, driving) = within(
            options.first_byte_timeout,
            Error::ConnectionReadTimeout,
            exchanging,
        )
        .await?;
        Ok((self.answer(response, options, &fuse)?, driving))
    }

    /// Counts a request, and makes sure that there is room for its connection.
    fn begin(&self) -> Result<OwnedSemaphorePermit, Failure> {
        let limited = |limit| Failure::limited(Error::ConnectionLimitReached, limit);
        let next = |sent: u64| Some(sent + 1).filter(|sent| *sent <= self.limits.requests);
        self.requests
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .map_err(|_| limited(Limit::Requests))?;
        Arc::clone(&self.connections)
            .try_acquire_owned()
            .map_err(|_| limited(Limit::Connections))
    }

    fn answer(
        &self,
        response: Response<Incoming>,
        options: RequestOptions,
        fuse: &Fuse,
    ) -> Result<Response<WasiBody>, Failure> {
        let most = self.limits.response_body_bytes;
        if response.body().size_hint().lower() > most {
            return Err(Failure::unrecorded(fuse.blow(Capped::cut(Way::In, most))));
        }
        let seen = fuse.clone();
        Ok(response.map(|body| {
            let body = body
                .map_err(move |error| broken(&seen, error))
                .boxed_unsync();
            let body = Capped::new(body, Way::In, most, fuse.clone()).boxed_unsync();
            match options.between_bytes_timeout {
                Some(time) => Paced::new(body, time).boxed_unsync(),
                None => body,
            }
        }))
    }
}

/// Waits no longer than the program chose to.
async fn within<T>(
    time: Option<Duration>,
    error: Error,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    match time {
        Some(time) => timeout(time, work)
            .await
            .unwrap_or(Err(Failure::unrecorded(error))),
        None => work.await,
    }
}

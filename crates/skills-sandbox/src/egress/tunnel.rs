//! Bytes that go both ways.

use std::pin::pin;
use std::sync::{Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

use super::buffered::{Buffered, CHUNK_BYTES};
use super::limits::ProxyLimits;
use super::stop::{Limit, Stop};
use super::summary::{Log, Way};

/// What goes over one connection, held against the limits.
pub(super) struct Traffic<'a> {
    log: &'a Log,
    limits: &'a ProxyLimits,
    last: Mutex<Instant>,
}

impl<'a> Traffic<'a> {
    pub(super) fn new(log: &'a Log, limits: &'a ProxyLimits) -> Self {
        Self {
            log,
            limits,
            last: Mutex::new(Instant::now()),
        }
    }

    /// Writes bytes after they were counted.
    pub(super) async fn write(
        &self,
        way: Way,
        to: &mut (impl AsyncWrite + Unpin),
        bytes: &[u8],
    ) -> Result<(), Stop> {
        self.log
            .spend(way, bytes.len(), self.limits.bytes_each_way)?;
        to.write_all(bytes).await?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(())
    }

    /// Waits until nothing was written, either way, for too long.
    pub(super) async fn idle(&self) -> Stop {
        loop {
            let until =
                *self.last.lock().unwrap_or_else(PoisonError::into_inner) + self.limits.idle_time;
            if until <= Instant::now() {
                return Limit::IdleTime.into();
            }
            sleep_until(until).await;
        }
    }
}

/// Passes on what comes from either side, until both have ended or one is gone.
pub(super) async fn relay(
    client: &mut Buffered<TcpStream>,
    server: &mut TcpStream,
    traffic: &Traffic<'_>,
) -> Result<(), Stop> {
    let Buffered { stream, buffer } = client;
    let (mut from_client, mut to_client) = stream.split();
    let (mut from_server, mut to_server) = server.split();
    let out = async {
        traffic.write(Way::Out, &mut to_server, buffer).await?;
        pump(Way::Out, &mut from_client, &mut to_server, traffic).await
    };
    let back = pump(Way::In, &mut from_server, &mut to_client, traffic);
    let mut both = pin!(async { tokio::try_join!(out, back).map(drop) });
    tokio::select! {
        result = &mut both => result,
        stop = traffic.idle() => Err(stop),
    }
}

/// Passes on one way until it ends, and then says so.
async fn pump(
    way: Way,
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    traffic: &Traffic<'_>,
) -> Result<(), Stop> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match from.read(&mut chunk).await? {
            0 => return Ok(to.shutdown().await?),
            length => traffic.write(way, to, &chunk[..length]).await?,
        }
    }
}

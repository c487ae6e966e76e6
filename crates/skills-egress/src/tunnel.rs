//! Relays bytes in both directions.

use std::pin::pin;
use std::sync::Mutex;

use skills_threads::lock;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

use crate::buffered::{BufferedStream, CHUNK_BYTES};
use crate::close_reason::{CloseReason, ExceededLimit};
use crate::limits::EgressLimits;
use crate::proxy_log::{Direction, ProxyLog};

/// Counts the traffic of one connection against the limits.
pub(crate) struct TrafficMeter<'a> {
    log: &'a ProxyLog,
    pub(crate) limits: &'a EgressLimits,
    last_write: Mutex<Instant>,
}

impl<'a> TrafficMeter<'a> {
    pub(crate) fn new(log: &'a ProxyLog, limits: &'a EgressLimits) -> Self {
        Self {
            log,
            limits,
            last_write: Mutex::new(Instant::now()),
        }
    }

    /// Counts bytes, then writes them.
    pub(crate) async fn write(
        &self,
        direction: Direction,
        to: &mut (impl AsyncWrite + Unpin),
        bytes: &[u8],
    ) -> Result<(), CloseReason> {
        // Counted first: bytes beyond the limit must not leave.
        self.log
            .count_bytes(direction, bytes.len(), self.limits.bytes_per_direction)?;
        to.write_all(bytes).await?;
        *lock(&self.last_write) = Instant::now();
        Ok(())
    }

    /// Waits until no data was written in either direction for the idle timeout.
    pub(crate) async fn wait_idle(&self) -> CloseReason {
        loop {
            let until = *lock(&self.last_write) + self.limits.idle_timeout;
            // Data that was written in the meantime has moved the deadline.
            if until <= Instant::now() {
                return ExceededLimit::IdleTimeout.into();
            }
            sleep_until(until).await;
        }
    }
}

/// Relays in both directions, until both have ended or one side disconnected.
pub(crate) async fn relay(
    client: &mut BufferedStream<TcpStream>,
    server: &mut TcpStream,
    traffic: &TrafficMeter<'_>,
) -> Result<(), CloseReason> {
    let BufferedStream { stream, buffer, .. } = client;
    let (mut from_client, mut to_client) = stream.split();
    let (mut from_server, mut to_server) = server.split();
    let outbound = async {
        // The `ClientHello` was read to check its name, and the server needs it too.
        traffic
            .write(Direction::Outbound, &mut to_server, buffer)
            .await?;
        copy_direction(
            Direction::Outbound,
            &mut from_client,
            &mut to_server,
            traffic,
        )
        .await
    };
    let inbound = copy_direction(
        Direction::Inbound,
        &mut from_server,
        &mut to_client,
        traffic,
    );
    let mut both = pin!(async { tokio::try_join!(outbound, inbound).map(drop) });
    tokio::select! {
        result = &mut both => result,
        stop = traffic.wait_idle() => Err(stop),
    }
}

/// Relays one direction until it ends, and shuts down the other side's write half.
async fn copy_direction(
    direction: Direction,
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    traffic: &TrafficMeter<'_>,
) -> Result<(), CloseReason> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match from.read(&mut chunk).await? {
            // Only one direction ends: a client that has sent everything still reads the response.
            0 => return Ok(to.shutdown().await?),
            length => traffic.write(direction, to, &chunk[..length]).await?,
        }
    }
}

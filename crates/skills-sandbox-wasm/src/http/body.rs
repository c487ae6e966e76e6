//! Bodies with a size limit or a timeout.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use skills_egress::Direction;
use tokio::time::{Sleep, sleep};
use wasmtime_wasi_http::{Error, WasiBody};

use super::abort::{AbortReason, AbortState};

/// A body of at most this many bytes.
pub(super) struct LimitedBody {
    body: WasiBody,
    direction: Direction,
    max_bytes: u64,
    seen_bytes: u64,
    abort: AbortState,
}

impl LimitedBody {
    pub(super) fn new(
        body: WasiBody,
        direction: Direction,
        max_bytes: u64,
        abort: AbortState,
    ) -> Self {
        Self {
            body,
            direction,
            max_bytes,
            seen_bytes: 0,
            abort,
        }
    }

    /// Returns the abort reason of a body that is longer.
    pub(super) fn abort_reason(direction: Direction, max_bytes: u64) -> AbortReason {
        match direction {
            Direction::Outbound => AbortReason::SentLimit(max_bytes),
            Direction::Inbound => AbortReason::ReceivedLimit(max_bytes),
        }
    }
}

impl Body for LimitedBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame {
            self.seen_bytes = self
                .seen_bytes
                .saturating_add(frame.data_ref().map_or(0, |data| data.len() as u64));
            // Counted as it arrives: a declared length may be missing or wrong.
            if self.seen_bytes > self.max_bytes {
                return Poll::Ready(Some(Err(self
                    .abort
                    .abort(Self::abort_reason(self.direction, self.max_bytes)))));
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body whose parts must arrive within a timeout set by the program.
pub(super) struct TimeoutBody {
    body: WasiBody,
    timeout: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl TimeoutBody {
    pub(super) fn new(body: WasiBody, time: Duration) -> Self {
        Self {
            body,
            timeout: time,
            timer: None,
        }
    }
}

impl Body for TimeoutBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            // The timeout is for each part, not for the whole body.
            self.timer = None;
            return Poll::Ready(frame);
        }
        let time = self.timeout;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(time)));
        timer
            .as_mut()
            .poll(cx)
            .map(|()| Some(Err(Error::ConnectionReadTimeout)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

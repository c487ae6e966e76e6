//! Bodies that end when they are too long, or too slow for the program.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use skills_sandbox::egress::Way;
use tokio::time::{Sleep, sleep};
use wasmtime_wasi_http::{Error, WasiBody};

use super::fuse::{Cut, Fuse};

/// A body of at most so many bytes.
pub(super) struct Capped {
    body: WasiBody,
    way: Way,
    most: u64,
    seen: u64,
    fuse: Fuse,
}

impl Capped {
    pub(super) fn new(body: WasiBody, way: Way, most: u64, fuse: Fuse) -> Self {
        Self {
            body,
            way,
            most,
            seen: 0,
            fuse,
        }
    }

    /// Says what happens when the body is longer.
    pub(super) fn cut(way: Way, most: u64) -> Cut {
        match way {
            Way::Out => Cut::Sent(most),
            Way::In => Cut::Received(most),
        }
    }
}

impl Body for Capped {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame {
            self.seen = self
                .seen
                .saturating_add(frame.data_ref().map_or(0, |data| data.len() as u64));
            if self.seen > self.most {
                return Poll::Ready(Some(Err(self.fuse.blow(Self::cut(self.way, self.most)))));
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

/// A body of which each part comes within a time that the program chose.
pub(super) struct Paced {
    body: WasiBody,
    time: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Paced {
    pub(super) fn new(body: WasiBody, time: Duration) -> Self {
        Self {
            body,
            time,
            timer: None,
        }
    }
}

impl Body for Paced {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.timer = None;
            return Poll::Ready(frame);
        }
        let time = self.time;
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

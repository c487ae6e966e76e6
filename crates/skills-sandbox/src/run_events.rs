//! What a run reports while its program runs.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::Termination;

/// The number of bytes of output that wait for their reader, after which the program waits: 1 MiB.
const MAX_WAITING_BYTES: usize = 1 << 20;

/// More bytes than the pipes of a program that has ended can contain.
const AMPLE_ROOM: usize = 1 << 28;
/// The most bytes of output that wait of programs that cannot wait: 64 MiB.
const MAX_UNBOUNDED_BYTES: usize = 64 << 20;

/// An output stream of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Something that a run reports before it ends.
///
/// Bytes come in the order in which they were read. Two streams of a program are two pipes, so a
/// program that writes to both in quick succession can be seen in another order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunEvent {
    /// The program is about to start: it was authorized, and its record is written.
    Started,
    /// The program wrote bytes.
    Output {
        /// The stream that it wrote to.
        stream: OutputStream,
        /// What it wrote.
        bytes: Bytes,
    },
    /// Something that the caller should know, as one line.
    Notice(String),
    /// The program ended. Nothing follows, unless the caller allowed further attempts: then `Started` can
    /// follow.
    Finished(Termination),
}

/// Sends events of a run. Clones send to the same receiver.
#[derive(Clone)]
pub struct EventSender {
    events: mpsc::UnboundedSender<SentEvent>,
    shared: Arc<Shared>,
}

/// What the sender and the receiver share.
struct Shared {
    room: Arc<Semaphore>,
    /// The bytes of output that were sent without room and not received yet.
    unbounded_bytes: AtomicUsize,
    /// The streams that the receiver closed.
    closed: [AtomicBool; 2],
}

/// Receives the events of a run, in their order.
///
/// A program whose output is not read waits once 1 MiB is waiting. Dropping the receiver closes the
/// output streams of the program; the next write then fails.
pub struct EventReceiver {
    events: mpsc::UnboundedReceiver<SentEvent>,
    shared: Arc<Shared>,
}

/// An event, with the room that it takes until it is received.
struct SentEvent(RunEvent, Option<Room>);

/// The room of output that was not received yet.
enum Room {
    Permit(#[expect(dead_code, reason = "given back on drop")] OwnedSemaphorePermit),
    Unbounded(Arc<Shared>, usize),
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Self::Unbounded(shared, bytes) = self {
            shared.unbounded_bytes.fetch_sub(*bytes, Ordering::Relaxed);
        }
    }
}

/// The receiver of the events of a run was dropped, or closed the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the receiver of the events of the run was dropped")]
pub struct EventsClosed;

/// Creates a sender of events and their receiver.
#[must_use]
pub fn run_events() -> (EventSender, EventReceiver) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared {
        room: Arc::new(Semaphore::new(MAX_WAITING_BYTES)),
        unbounded_bytes: AtomicUsize::new(0),
        closed: Default::default(),
    });
    let of_sender = EventSender {
        events: sender,
        shared: Arc::clone(&shared),
    };
    (
        of_sender,
        EventReceiver {
            events: receiver,
            shared,
        },
    )
}

impl EventSender {
    /// Sends output once there is room for it.
    ///
    /// # Errors
    /// Fails if the receiver was dropped, or closed this stream.
    pub async fn output(&self, stream: OutputStream, bytes: Bytes) -> Result<(), EventsClosed> {
        let wanted = u32::try_from(bytes.len().min(MAX_WAITING_BYTES)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.shared.room);
        let room = room.acquire_many_owned(wanted).await;
        let room = room.map_err(|_| EventsClosed)?;
        self.check_open(stream)?;
        self.push(RunEvent::Output { stream, bytes }, Some(Room::Permit(room)))
    }

    /// Sends output without waiting, for programs that cannot wait. Returns false if more than 64 MiB
    /// wait to be received: the run exceeds its output limit then.
    ///
    /// # Errors
    /// Fails if the receiver was dropped, or closed this stream.
    pub fn output_now(&self, stream: OutputStream, bytes: Bytes) -> Result<bool, EventsClosed> {
        self.check_open(stream)?;
        let waiting = &self.shared.unbounded_bytes;
        let is_kept = waiting.load(Ordering::Relaxed) <= MAX_UNBOUNDED_BYTES;
        if is_kept {
            waiting.fetch_add(bytes.len(), Ordering::Relaxed);
            let room = Room::Unbounded(Arc::clone(&self.shared), bytes.len());
            self.push(RunEvent::Output { stream, bytes }, Some(room))?;
        }
        Ok(is_kept)
    }

    /// Makes room for all output of a program that has ended: what is left in its pipes is bounded, and
    /// must not be lost to a slow receiver.
    pub fn end_waiting(&self) {
        self.shared.room.add_permits(AMPLE_ROOM);
    }

    /// Sends an event that is not output.
    ///
    /// # Errors
    /// Fails if the receiver was dropped.
    pub fn send(&self, event: RunEvent) -> Result<(), EventsClosed> {
        self.push(event, None)
    }

    fn check_open(&self, stream: OutputStream) -> Result<(), EventsClosed> {
        let is_closed = self.shared.closed[stream as usize].load(Ordering::Relaxed);
        if is_closed { Err(EventsClosed) } else { Ok(()) }
    }

    fn push(&self, event: RunEvent, room: Option<Room>) -> Result<(), EventsClosed> {
        let sent = self.events.send(SentEvent(event, room));
        sent.map_err(|_| EventsClosed)
    }
}

impl EventReceiver {
    /// Waits for the next event; `None` if the run is over. Cancel safe.
    pub async fn next(&mut self) -> Option<RunEvent> {
        let SentEvent(event, _room) = self.events.recv().await?;
        Some(event)
    }

    /// Closes an output stream of the program; the next write fails. What it wrote before
    /// can still be received.
    pub fn close(&self, stream: OutputStream) {
        self.shared.closed[stream as usize].store(true, Ordering::Relaxed);
    }
}

impl Drop for EventReceiver {
    fn drop(&mut self) {
        // Wakes senders that wait for room.
        self.shared.room.close();
    }
}

impl fmt::Debug for EventSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventSender")
    }
}

impl fmt::Debug for EventReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventReceiver")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(bytes: &'static [u8]) -> RunEvent {
        RunEvent::Output {
            stream: OutputStream::Stdout,
            bytes: Bytes::from_static(bytes),
        }
    }

    #[tokio::test]
    async fn output_waits_for_room_and_keeps_its_order() {
        let (sender, mut receiver) = run_events();
        let large = Bytes::from(vec![b'a'; MAX_WAITING_BYTES]);
        sender
            .output(OutputStream::Stdout, large.clone())
            .await
            .unwrap();
        sender.send(RunEvent::Notice("between".to_owned())).unwrap();
        let mut waiting = Box::pin(sender.output(OutputStream::Stdout, Bytes::from_static(b"b")));
        let is_waiting = std::future::poll_fn(|context| {
            std::task::Poll::Ready(waiting.as_mut().poll(context).is_pending())
        });
        assert!(is_waiting.await);
        assert!(matches!(
            receiver.next().await,
            Some(RunEvent::Output { bytes, .. }) if bytes == large
        ));
        waiting.await.unwrap();
        assert_eq!(
            receiver.next().await,
            Some(RunEvent::Notice("between".to_owned()))
        );
        assert_eq!(receiver.next().await, Some(output(b"b")));
        drop(sender);
        assert_eq!(receiver.next().await, None);
    }

    #[tokio::test]
    async fn one_stream_can_be_closed() {
        let (sender, mut receiver) = run_events();
        receiver.close(OutputStream::Stdout);
        let bytes = Bytes::from_static(b"text");
        let sent = sender.output(OutputStream::Stdout, bytes.clone()).await;
        assert_eq!(sent, Err(EventsClosed));
        sender.output(OutputStream::Stderr, bytes).await.unwrap();
        assert!(matches!(
            receiver.next().await,
            Some(RunEvent::Output {
                stream: OutputStream::Stderr,
                ..
            })
        ));
    }

    #[tokio::test]
    async fn a_dropped_receiver_ends_senders_that_wait() {
        let (sender, receiver) = run_events();
        let large = Bytes::from(vec![b'a'; MAX_WAITING_BYTES]);
        sender
            .output(OutputStream::Stderr, large.clone())
            .await
            .unwrap();
        let waiting = tokio::spawn({
            let sender = sender.clone();
            async move { sender.output(OutputStream::Stderr, large).await }
        });
        tokio::task::yield_now().await;
        drop(receiver);
        assert_eq!(waiting.await.unwrap(), Err(EventsClosed));
        assert_eq!(
            sender.output_now(OutputStream::Stdout, Bytes::new()),
            Err(EventsClosed)
        );
    }
}

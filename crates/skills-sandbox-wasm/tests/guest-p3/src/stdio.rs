//! The standard streams.

use wasip3::cli::types::ErrorCode;
use wasip3::cli::{stderr, stdin, stdout};
use wasip3::wit_bindgen::{FutureReader, StreamWriter};

/// One of the two streams of output.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// Writes to one of the streams.
pub(crate) struct Writer {
    stream: StreamWriter<u8>,
    done: FutureReader<Result<(), ErrorCode>>,
}

impl Writer {
    pub(crate) fn new(to: Stream) -> Self {
        let (stream, reader) = wasip3::wit_stream::new();
        let done = match to {
            Stream::Stdout => stdout::write_via_stream(reader),
            Stream::Stderr => stderr::write_via_stream(reader),
        };
        Self { stream, done }
    }

    /// Writes all and waits until the host has it.
    pub(crate) async fn write(mut self, bytes: Vec<u8>) {
        self.push(bytes).await;
        drop(self.stream);
        // Whoever prints has nobody to tell that printing failed.
        let _ = self.done.await;
    }

    /// Says whether the host took all of it.
    pub(crate) async fn push(&mut self, bytes: Vec<u8>) -> bool {
        self.stream.write_all(bytes).await.is_empty()
    }
}

pub(crate) async fn print(text: &str) {
    Writer::new(Stream::Stdout).write(text.as_bytes().to_vec()).await;
}

pub(crate) async fn input() -> Vec<u8> {
    let (stream, done) = stdin::read_via_stream();
    let bytes = stream.collect().await;
    assert!(done.await.is_ok(), "input");
    bytes
}

//! Standard input of this command, which a program gets.

use std::io::{self, IsTerminal, Read};
use std::sync::{Arc, Mutex, PoisonError};

use skills_runtime::InputStream;

/// Standard input of this command.
#[derive(Clone, Default)]
pub(super) struct CallerInput {
    error: Arc<Mutex<Option<io::Error>>>,
}

impl CallerInput {
    /// Returns the stream of a run: that of this command, unless it is a terminal.
    pub(super) fn stream(&self) -> InputStream {
        if io::stdin().is_terminal() {
            InputStream::new(io::empty())
        } else {
            InputStream::new(self.clone())
        }
    }

    /// Returns why standard input could not be read to its end, once: the program took a part for
    /// the whole.
    pub(super) fn take_error(&self) -> Option<io::Error> {
        let mut error = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        error.take()
    }
}

impl Read for CallerInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = io::stdin().read(buffer);
        read.inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                let copy = io::Error::new(error.kind(), error.to_string());
                *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(copy);
            }
        })
    }
}

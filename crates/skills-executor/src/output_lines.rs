//! Reports lines that a program writes while it runs, to show that it makes progress.

use skills_sandbox::{EventSender, RunEvent, run_events};

use crate::call_context::OutputReporter;
use crate::redaction::Redactor;
use crate::run_handle::RedactedEvents;

/// Maximum length of a line, in bytes; longer ones are not reported.
const MAX_LINE_BYTES: usize = 4 << 10;

/// Who gets the events of a run.
#[derive(Clone)]
pub(crate) struct Listener {
    pub(crate) sender: EventSender,
    /// Whether it gets the output for its caller. Lines that only show progress can come again, so they
    /// do not keep a run from a further attempt.
    pub(crate) takes_output: bool,
}

impl Listener {
    /// Returns a listener that reports the last line of each piece of output, without values of secrets.
    /// Lines that contain one of the `hidden` texts are not reported, such as paths of private copies.
    ///
    /// Must be called inside a Tokio runtime.
    pub(crate) fn of_lines(
        reporter: OutputReporter,
        redactor: Redactor,
        hidden: Vec<String>,
    ) -> Self {
        let (sender, events) = run_events();
        let mut events = RedactedEvents::of_run(events, redactor);
        // It ends with the run, which drops the senders.
        tokio::spawn(async move {
            let mut lines = [LastLine::default(), LastLine::default()];
            while let Some(event) = events.next().await {
                if let RunEvent::Output { stream, bytes } = event
                    && let Some(line) = lines[stream as usize].push(&bytes)
                    && !hidden.iter().any(|text| line.contains(text))
                {
                    reporter(&line);
                }
            }
        });
        Self {
            sender,
            takes_output: false,
        }
    }
}

/// Finds the last complete line of an output stream.
#[derive(Debug, Default)]
struct LastLine {
    /// The beginning of the line that is not complete.
    start: Vec<u8>,
    is_too_long: bool,
}

impl LastLine {
    /// Adds bytes. Returns the last line that is complete with them, unless it is blank or too long.
    fn push(&mut self, bytes: &[u8]) -> Option<String> {
        // A program that counts on one line ends it by a carriage return.
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let Some(end) = bytes.iter().rposition(is_end) else {
            self.keep(bytes);
            return None;
        };
        let line = match bytes[..end].iter().rposition(is_end) {
            Some(before) => bytes[before + 1..end].to_vec(),
            None => {
                self.keep(&bytes[..end]);
                std::mem::take(&mut self.start)
            }
        };
        let is_too_long = std::mem::take(&mut self.is_too_long) || line.len() > MAX_LINE_BYTES;
        self.start.clear();
        self.keep(&bytes[end + 1..]);
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        (!is_too_long && !line.is_empty()).then(|| line.to_owned())
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.start.len() + bytes.len() > MAX_LINE_BYTES {
            self.is_too_long = true;
            self.start.clear();
        } else if !self.is_too_long {
            self.start.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use bytes::Bytes;
    use skills_sandbox::OutputStream;

    use super::*;

    #[test]
    fn only_complete_lines_are_found() {
        let mut last = LastLine::default();
        let long = "x".repeat(MAX_LINE_BYTES);
        for (piece, expected) in [
            ("a", None),
            ("b\n", Some("ab")),
            ("c\nd\n", Some("d")),
            ("\n\n", None),
            ("10%\r20%\r3", Some("20%")),
            ("0%\n", Some("30%")),
            (&long, None),
            ("x", None),
            (&long, None),
            ("y\n", None),
            ("z\n", Some("z")),
        ] {
            assert_eq!(
                last.push(piece.as_bytes()).as_deref(),
                expected,
                "{piece:.20}"
            );
            assert!(last.start.len() <= MAX_LINE_BYTES);
        }
        assert_eq!(
            last.push(b"\xff\xfe ok\n").as_deref(),
            Some("\u{fffd}\u{fffd} ok")
        );
    }

    #[tokio::test]
    async fn secrets_and_private_paths_are_not_reported() {
        let reported = Arc::<Mutex<Vec<String>>>::default();
        let lines = Arc::clone(&reported);
        let listener = Listener::of_lines(
            Arc::new(move |line: &str| lines.lock().unwrap().push(line.to_owned())),
            Redactor::new([("KEY", "hunter2&hunter2")]),
            vec!["/scratch/".to_owned()],
        );
        assert!(!listener.takes_output);
        for piece in [
            "key hunter2&hun",
            "ter2 end\n",
            "at /scratch/copy-1/x\n",
            "done\n",
        ] {
            let bytes = Bytes::from_static(piece.as_bytes());
            let sent = listener.sender.output(OutputStream::Stdout, bytes);
            sent.await.unwrap();
        }
        drop(listener);
        while reported.lock().unwrap().len() < 2 {
            tokio::task::yield_now().await;
        }
        assert_eq!(
            *reported.lock().unwrap(),
            ["key [redacted KEY] end", "done"]
        );
    }
}

//! A terminal of its own for a program.

use std::fmt;
#[cfg(unix)]
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use tokio::sync::watch;

/// Variables by which programs decide about colors.
const VARIABLES: [&str; 3] = ["TERM", "COLORTERM", "NO_COLOR"];
/// Maximum length of a value, in bytes.
const MAX_VALUE_BYTES: usize = 64;

/// A terminal that a backend opens for one program, which gets the slave side as its standard
/// output, standard error and controlling terminal. What the program does with it, such as changing
/// its modes, does not reach the terminal of the caller. Its output is
/// [`OutputStream::Stdout`](crate::OutputStream::Stdout), in the order in which it was written.
///
/// A backend without terminals ignores it: the program then has pipes, and the function for an open
/// terminal is not called. Clones are handles to the same terminal.
///
/// ```
/// use skills_sandbox::{ProgramTerminal, TerminalSize};
///
/// let size = TerminalSize { rows: 50, columns: 120 };
/// let terminal = ProgramTerminal::new(size)
///     .variables(|name| (name == "TERM").then(|| "xterm-256color".to_owned()));
/// terminal.resize(TerminalSize { rows: 50, columns: 80 });
/// assert_eq!(terminal.size().columns, 80);
/// ```
#[derive(Clone)]
pub struct ProgramTerminal {
    size: Arc<watch::Sender<TerminalSize>>,
    variables: Vec<(String, String)>,
    streams: TerminalStreams,
    #[cfg(unix)]
    on_open: Arc<dyn Fn(BorrowedFd<'_>) + Send + Sync>,
}

/// The size of a terminal, in characters. Default: 24 rows and 80 columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// The number of rows.
    pub rows: u16,
    /// The number of columns.
    pub columns: u16,
}

/// The standard streams that are the terminal, in addition to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalStreams {
    /// Whether standard input is the terminal, into which the [input stream](crate::InputStream) of
    /// the run is typed. Otherwise it is a pipe.
    pub input: bool,
    /// Whether standard error is the terminal. Otherwise it is a pipe.
    pub errors: bool,
}

impl Default for TerminalSize {
    fn default() -> Self {
        Self {
            rows: 24,
            columns: 80,
        }
    }
}

impl ProgramTerminal {
    /// Creates a terminal of this size for standard output and standard error.
    #[must_use]
    pub fn new(size: TerminalSize) -> Self {
        Self {
            size: Arc::new(watch::Sender::new(size)),
            variables: Vec::new(),
            streams: TerminalStreams {
                input: false,
                errors: true,
            },
            #[cfg(unix)]
            on_open: Arc::new(|_| {}),
        }
    }

    /// Sets the standard streams that are the terminal.
    #[must_use]
    pub fn streams(mut self, streams: TerminalStreams) -> Self {
        self.streams = streams;
        self
    }

    /// Sets what is called with the slave side when the terminal is opened, before the program
    /// starts, such as to set its modes. It may be called again if the start is repeated. Default:
    /// nothing.
    #[cfg(unix)]
    #[must_use]
    pub fn on_open(mut self, call: impl Fn(BorrowedFd<'_>) + Send + Sync + 'static) -> Self {
        self.on_open = Arc::new(call);
        self
    }

    /// Passes on `TERM`, `COLORTERM` and `NO_COLOR` of the terminal of the caller. `value` returns
    /// that of a name. Values other than plain words are left out. Default: `TERM=dumb`.
    #[must_use]
    pub fn variables(mut self, value: impl Fn(&str) -> Option<String>) -> Self {
        let given = VARIABLES
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), value(name)?)));
        self.variables = given.filter(|(_, value)| is_word(value)).collect();
        self
    }

    /// Returns the variables that describe the terminal.
    pub(crate) fn environment(&self) -> &[(String, String)] {
        &self.variables
    }

    /// Returns the standard streams that are the terminal.
    #[must_use]
    pub fn program_streams(&self) -> TerminalStreams {
        self.streams
    }

    /// Changes the size. The program gets `SIGWINCH`.
    pub fn resize(&self, size: TerminalSize) {
        self.size.send_replace(size);
    }

    /// Returns the current size.
    #[must_use]
    pub fn size(&self) -> TerminalSize {
        *self.size.borrow()
    }

    /// Says that the terminal is open. For backends.
    #[cfg(unix)]
    pub fn opened(&self, slave: BorrowedFd<'_>) {
        (self.on_open)(slave);
    }

    /// Calls `apply` with the current size and with each later one. Never returns.
    pub async fn follow_size(&self, apply: impl Fn(TerminalSize)) -> std::convert::Infallible {
        let mut sizes = self.size.subscribe();
        loop {
            let size = *sizes.borrow_and_update();
            apply(size);
            if sizes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Returns true for the name of a type of terminal and similar words, which name no file elsewhere.
fn is_word(value: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
    value.len() <= MAX_VALUE_BYTES && value.chars().all(is_plain) && !value.contains("..")
}

impl fmt::Debug for ProgramTerminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgramTerminal")
            .field("size", &self.size())
            .field("streams", &self.streams)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_variable_names_a_file() {
        for (value, expected) in [
            ("xterm-256color", true),
            ("screen.xterm", true),
            ("truecolor", true),
            ("", true),
            ("../../home/evil", false),
            ("/tmp/evil", false),
            ("xterm\nLD_PRELOAD=/x", false),
            ("\u{1b}[31m", false),
        ] {
            assert_eq!(is_word(value), expected, "{value:?}");
        }
        assert!(!is_word(&"a".repeat(65)));
    }

    #[tokio::test]
    async fn a_size_is_applied_at_the_start_and_after_each_change() {
        let terminal = ProgramTerminal::new(TerminalSize::default());
        let (sender, mut applied) = tokio::sync::mpsc::unbounded_channel();
        let follower = terminal.clone();
        let follow = tokio::spawn(async move {
            follower
                .follow_size(move |size| sender.send(size.columns).unwrap())
                .await
        });
        assert_eq!(applied.recv().await, Some(80));
        terminal.resize(TerminalSize {
            rows: 10,
            columns: 132,
        });
        assert_eq!(applied.recv().await, Some(132));
        follow.abort();
    }
}

//! A terminal without a window, on which an interactive agent runs.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result};

/// Wide enough that no agent breaks the lines that a person must recognize.
const COLUMNS: NonZero<u16> = NonZero::new(180).unwrap();
const ROWS: NonZero<u16> = NonZero::new(60).unwrap();

/// What programs ask a terminal before they draw, and its answers. Some agents wait for them.
const QUERIES: [(&str, &str); 4] = [
    ("\x1b[6n", "\x1b[1;1R"),
    ("\x1b[c", "\x1b[?62;22c"),
    ("\x1b[?u", "\x1b[?0u"),
    ("\x1b]11;?", "\x1b]11;rgb:0000/0000/0000\x07"),
];

/// A program on a terminal that controls it.
pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    output: Receiver<Vec<u8>>,
    parser: vt100::Parser,
    /// The end of the last output, since a query can be in two parts.
    tail: String,
}

impl Terminal {
    /// Starts `command`, with its environment and nothing else, on a new terminal.
    ///
    /// # Errors
    /// If there is no terminal, or the program `setsid` of util-linux is missing.
    pub(crate) fn start(command: &Command) -> Result<Self> {
        let size = nix::pty::Winsize {
            ws_row: ROWS.get(),
            ws_col: COLUMNS.get(),
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pty = nix::pty::openpty(Some(&size), None)?;
        let mut session = Command::new("setsid");
        session
            .arg("--ctty")
            .arg(command.get_program())
            .args(command.get_args())
            .env_clear()
            .env("TERM", "xterm-256color");
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                session.env(name, value);
            }
        }
        if let Some(directory) = command.get_current_dir() {
            session.current_dir(directory);
        }
        session
            .stdin(Stdio::from(pty.slave.try_clone()?))
            .stdout(Stdio::from(pty.slave.try_clone()?))
            .stderr(Stdio::from(pty.slave));
        let child = session.spawn().context("setsid")?;
        let keyboard = File::from(pty.master);
        let mut screen = keyboard.try_clone()?;
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut part = [0; 16_384];
            // An error when the program has ended.
            while let Ok(count) = screen.read(&mut part) {
                if count == 0 || sender.send(part[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            child,
            keyboard,
            output,
            parser: vt100::Parser::new(ROWS, COLUMNS, 0),
            tail: String::new(),
        })
    }

    /// Shows output for at most `wait`, up to the first part that arrives.
    ///
    /// Returns false if the program has closed the terminal.
    pub(crate) fn update(&mut self, wait: Duration) -> bool {
        match self.output.recv_timeout(wait) {
            Ok(part) => self.show(&part),
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        while let Ok(part) = self.output.try_recv() {
            self.show(&part);
        }
        true
    }

    fn show(&mut self, part: &[u8]) {
        self.parser.process(part);
        let kept = self.tail.len();
        self.tail.push_str(&String::from_utf8_lossy(part));
        let mut answers = QUERIES
            .iter()
            .filter_map(|(query, answer)| {
                let end = self.tail.rfind(query)? + query.len();
                (end > kept).then_some((end, *answer))
            })
            .collect::<Vec<_>>();
        answers.sort_unstable();
        for (_, answer) in answers {
            self.type_keys(answer);
        }
        let longest = QUERIES.iter().map(|(query, _)| query.len()).max();
        let start = self.tail.len().saturating_sub(longest.unwrap_or_default());
        self.tail = self.tail.get(start..).unwrap_or_default().to_owned();
    }

    /// Returns the lines of the screen, without spaces at their ends.
    pub(crate) fn text(&self) -> String {
        self.parser.screen().contents()
    }

    pub(crate) fn type_keys(&mut self, keys: &str) {
        // A program that has ended reads nothing.
        let _ = self.keyboard.write_all(keys.as_bytes());
    }

    /// Returns the id of the program, which leads the session of the terminal.
    pub(crate) fn leader(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end of the program.
    pub(crate) fn close(mut self) -> Result<()> {
        self.child.wait()?;
        Ok(())
    }
}

//! Terminals at which tests answer questions and run programs.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Ends what a terminal shows.
const END: &str = "<end>";

/// Answers a question at a terminal of its own, after `meanwhile`; returns the exit code and what
/// the terminal showed.
pub(crate) fn answered(
    mut command: Command,
    question: &'static str,
    answer: &str,
    meanwhile: impl FnOnce(),
) -> (i32, String) {
    let pty = nix::pty::openpty(None, None).unwrap();
    // Held until all was read: when the last holder closes a terminal, output can be lost.
    let mut held = File::from(pty.slave.try_clone().unwrap());
    command
        .stdin(pty.slave.try_clone().unwrap())
        .stderr(pty.slave)
        .stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut terminal = File::from(pty.master);
    let mut screen = terminal.try_clone().unwrap();
    let (asked, was_asked) = channel();
    let reader = std::thread::spawn(move || {
        let (mut shown, mut part) = (String::new(), [0; 1024]);
        // The echo of typed input can follow the end.
        while !shown.contains(END) {
            let count = screen.read(&mut part).unwrap();
            shown.push_str(&String::from_utf8_lossy(&part[..count]));
            if shown.contains(question) {
                let _ = asked.send(());
            }
        }
        shown.replace("\r\n", "\n")
    });
    let mut is_asked = false;
    while !is_asked && child.try_wait().unwrap().is_none() {
        is_asked = was_asked.recv_timeout(Duration::from_millis(100)).is_ok();
    }
    meanwhile();
    // Input that was typed before the prompt reads it is discarded, so it is typed until it is
    // read.
    while is_asked && child.try_wait().unwrap().is_none() {
        let _ = terminal.write_all(format!("{answer}\n").as_bytes());
        let _ = was_asked.recv_timeout(Duration::from_millis(100));
    }
    let code = child.wait().unwrap().code().unwrap();
    held.write_all(END.as_bytes()).unwrap();
    (code, reader.join().unwrap())
}

/// How long a test waits for what a terminal should show.
const WAIT: Duration = Duration::from_secs(60);

/// A command on a terminal that controls it, as one that a shell started in the foreground.
pub(crate) struct UserTerminal {
    child: Child,
    master: File,
    slave: OwnedFd,
    pieces: Receiver<Vec<u8>>,
    shown: Vec<u8>,
}

impl UserTerminal {
    /// Starts a command with all three streams on a terminal of 30 rows and 90 columns.
    pub(crate) fn start(command: &Command) -> Self {
        let size = nix::pty::Winsize {
            ws_row: 30,
            ws_col: 90,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pty = nix::pty::openpty(Some(&size), None).unwrap();
        let side = || Stdio::from(pty.slave.try_clone().unwrap());
        // Executes the command in the same process.
        let mut session = Command::new("/usr/bin/setsid");
        session.arg("--ctty").arg(command.get_program());
        session.args(command.get_args()).env_clear();
        for (name, value) in command.get_envs() {
            session.env(name, value.unwrap());
        }
        if let Some(directory) = command.get_current_dir() {
            session.current_dir(directory);
        }
        session.stdin(side()).stdout(side()).stderr(side());
        let child = session.spawn().unwrap();
        let master = File::from(pty.master);
        let mut screen = master.try_clone().unwrap();
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(count) = screen.read(&mut part) {
                if sender.send(part[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            master,
            slave: pty.slave,
            pieces,
            shown: Vec::new(),
        }
    }

    /// Waits until the terminal shows a text.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> &mut Self {
        self.wait_for_times(text, 1)
    }

    /// Waits until the terminal shows a text this often.
    #[track_caller]
    pub(crate) fn wait_for_times(&mut self, text: &str, times: usize) -> &mut Self {
        while self.count(text) < times {
            match self.pieces.recv_timeout(WAIT) {
                Ok(piece) => self.shown.extend(piece),
                Err(_) => panic!("no {text:?} in {:?}", String::from_utf8_lossy(&self.shown)),
            }
        }
        self
    }

    /// Returns how often the terminal shows a text.
    pub(crate) fn count(&mut self, text: &str) -> usize {
        self.shown.extend(self.pieces.try_iter().flatten());
        String::from_utf8_lossy(&self.shown).matches(text).count()
    }

    pub(crate) fn type_keys(&mut self, keys: &str) -> &mut Self {
        self.master.write_all(keys.as_bytes()).unwrap();
        self
    }

    pub(crate) fn pid(&self) -> nix::unistd::Pid {
        nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap())
    }

    /// Returns the modes of the terminal, as text.
    pub(crate) fn modes(&self) -> String {
        let modes = nix::sys::termios::tcgetattr(&self.slave).unwrap();
        format!(
            "{:?} {:?} {:?} {:?} {:?}",
            modes.input_flags,
            modes.output_flags,
            modes.control_flags,
            modes.local_flags,
            modes.control_chars
        )
    }

    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let size = rustix::termios::Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        rustix::termios::tcsetwinsize(&self.master, size).unwrap();
    }

    /// Waits for the end, and returns the exit code and everything that the terminal showed.
    #[track_caller]
    pub(crate) fn finish(&mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        let mut held = File::from(self.slave.try_clone().unwrap());
        held.write_all(END.as_bytes()).unwrap();
        self.wait_for(END);
        let shown = String::from_utf8(self.shown.clone()).unwrap();
        (code, shown.split(END).next().unwrap().to_owned())
    }
}

//! A terminal at which tests answer questions.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
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

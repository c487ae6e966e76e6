//! Actions on streams and handles, and some that wait.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use wasip2::cli::{stdout, terminal_stderr, terminal_stdin, terminal_stdout};
use wasip2::filesystem::preopens::get_directories;

/// Does what `action` says; `false` when there is no such action.
pub(crate) fn act(action: &str, rest: &[String]) -> bool {
    match action {
        "copy" => drop(io::copy(&mut io::stdin(), &mut io::stdout()).expect("copied")),
        "nothing" => {}
        "directories" => println!("ok: {}", get_directories().into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(" ")),
        "terminals" => println!("{} of 3", terminals()),
        "close" => close(),
        "flood-both" => flood(b"xxxxxxxx", b"yyyyyyyy"),
        "flood-bytes" => flood(b"x", b""),
        "wait" => wait(&rest[0], &rest[1]),
        "beat" => beat(&rest[0]),
        _ => return false,
    }
    true
}

fn terminals() -> usize {
    let found = [
        terminal_stdin::get_terminal_stdin().is_some(),
        terminal_stdout::get_terminal_stdout().is_some(),
        terminal_stderr::get_terminal_stderr().is_some(),
    ];
    found.into_iter().filter(|is_there| *is_there).count()
}

/// Gives its output back, and goes on.
fn close() {
    let stream = stdout::get_stdout();
    stream.blocking_write_and_flush(b"before").expect("written");
    drop(stream);
    eprint!("after");
    wasip2::cli::exit::exit_with_code(4);
}

fn flood(out: &[u8], error: &[u8]) {
    loop {
        if io::stdout().write_all(out).is_err() || io::stdout().flush().is_err() || io::stderr().write_all(error).is_err() {
            std::process::exit(9);
        }
    }
}

/// Says by a file that it began, and waits for another.
fn wait(began: &str, go: &str) {
    fs::write(began, "began").expect("written");
    while !Path::new(go).exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    println!("went on");
}

/// Makes a file longer for ever.
fn beat(path: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).expect("opened");
    loop {
        file.write_all(b"x").expect("written");
        std::thread::sleep(Duration::from_millis(10));
    }
}

//! Actions that use more than there is.

use std::fs;
use std::io::Write;

use crate::number;

/// Does what `action` says; `false` when there is no such action.
pub(crate) fn act(action: &str, rest: &[String]) -> bool {
    match action {
        "spin" => spin(),
        "allocate" => allocate(),
        "fill" => fill(number(&rest[0])),
        "flood" => flood(std::io::stdout(), false),
        "flood-stderr" => flood(std::io::stderr(), false),
        "flood-on" => flood(std::io::stdout(), true),
        "recurse" => println!("{}", recurse(1)),
        "open" => open_many(&rest[0]),
        "wait-many" => wait_many(),
        _ => return false,
    }
    true
}

fn spin() {
    println!("spinning");
    let mut x = 0u64;
    loop {
        x = std::hint::black_box(x.wrapping_add(1));
    }
}

fn allocate() {
    let mut blocks = Vec::new();
    loop {
        blocks.push(vec![1u8; 1 << 20]);
        std::hint::black_box(&blocks);
    }
}

/// Fills its memory for ever, each time by one instruction.
fn fill(bytes: usize) {
    println!("filling");
    let mut block = vec![0u8; bytes];
    for value in (1..=255).cycle() {
        block.fill(std::hint::black_box(value));
        std::hint::black_box(&mut block);
    }
}

/// Writes for ever; `stubborn` goes on when the host takes no more.
fn flood(mut stream: impl Write, stubborn: bool) {
    let line = [b'x'; 4096];
    loop {
        if stream.write_all(&line).is_err() && !stubborn {
            std::process::exit(9);
        }
    }
}

fn recurse(depth: u64) -> u64 {
    let block = std::hint::black_box([depth; 64]);
    if depth == 0 { 0 } else { recurse(std::hint::black_box(depth + 1)) + block[0] }
}

fn open_many(path: &str) {
    let mut files = Vec::new();
    loop {
        files.push(fs::File::open(path).expect("open"));
    }
}

/// Holds more and more timers.
fn wait_many() {
    let mut timers = Vec::new();
    loop {
        timers.push(wasip2::clocks::monotonic_clock::subscribe_duration(3_600_000_000_000));
    }
}

//! Actions that use more than there is.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use wasip3::clocks::monotonic_clock;

use crate::descriptor;
use crate::number;
use crate::stdio::{Stream, Writer, print};

/// Does what `action` says; `false` when there is no such action.
pub(crate) async fn act(action: &str, rest: &[String]) -> bool {
    match action {
        "spin" => spin().await,
        "allocate" => allocate(),
        "fill" => fill(number(&rest[0])).await,
        "flood" => flood(Stream::Stdout).await,
        "flood-stderr" => flood(Stream::Stderr).await,
        "flood-on" => flood_on().await,
        "recurse" => print(&format!("{}\n", recurse(1))).await,
        "open" => descriptor::open_many(&rest[0]).await,
        "wait-many" => wait_many().await,
        _ => return false,
    }
    true
}

async fn spin() {
    print("spinning\n").await;
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
async fn fill(bytes: usize) {
    print("filling\n").await;
    let mut block = vec![0u8; bytes];
    for value in (1..=255).cycle() {
        block.fill(std::hint::black_box(value));
        std::hint::black_box(&mut block);
    }
}

/// Writes until the host takes no more.
async fn flood(to: Stream) {
    let mut writer = Writer::new(to);
    while writer.push(vec![b'x'; 4096]).await {}
    wasip3::cli::exit::exit_with_code(9);
}

/// Writes for ever, by a new stream whenever the host takes no more from the old one.
async fn flood_on() {
    loop {
        let mut writer = Writer::new(Stream::Stdout);
        while writer.push(vec![b'x'; 4096]).await {}
    }
}

fn recurse(depth: u64) -> u64 {
    let block = std::hint::black_box([depth; 64]);
    if depth == 0 { 0 } else { recurse(std::hint::black_box(depth + 1)) + block[0] }
}

/// Holds more and more timers.
async fn wait_many() {
    let mut timers: Vec<Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
    loop {
        let mut timer: Pin<Box<dyn Future<Output = ()>>> = Box::pin(monotonic_clock::wait_for(3_600_000_000_000));
        assert!(poll_fn(|context| Poll::Ready(timer.as_mut().poll(context))).await.is_pending(), "an hour is not over");
        timers.push(timer);
    }
}

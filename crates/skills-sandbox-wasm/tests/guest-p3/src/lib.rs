//! The guest of the tests for WASI 0.3: the same actions as its sibling's, by the asynchronous interfaces.

mod burden;
mod descriptor;
mod network;
mod stdio;

use wasip3::cli::{environment, exit};
use wasip3::clocks::{monotonic_clock, system_clock};
use wasip3::random::{insecure, insecure_seed, random};

use stdio::{Stream, Writer, print};

wasip3::cli::command::export!(Probe);

struct Probe;

impl wasip3::exports::cli::run::Guest for Probe {
    async fn run() -> Result<(), ()> {
        let arguments: Vec<String> = environment::get_arguments().into_iter().skip(1).collect();
        let (action, rest) = arguments.split_first().expect("an action");
        match action.as_str() {
            "fail" => return Err(()),
            "exit" => exit::exit_with_code(number(&rest[0])),
            "panic" => panic!("as asked"),
            "sleep" => monotonic_clock::wait_for(3_600_000_000_000).await,
            "echo" => print(&echo(rest).await).await,
            "environment" => print(&variables()).await,
            "entropy" => print(&entropy()).await,
            _ => other(action, rest).await,
        }
        Ok(())
    }
}

async fn other(action: &str, rest: &[String]) {
    let result = match action {
        "input" => Some(Ok(format!("{} bytes", stdio::input().await.len()))),
        "random" => Some(Ok(format!("{} bytes", random::get_random_bytes(number(&rest[0])).len()))),
        "connect" | "listen" | "datagram" | "resolve" => Some(network::act(action, rest).await),
        _ => descriptor::act(action, rest).await,
    };
    match result {
        Some(Ok(text)) => print(&format!("ok: {text}\n")).await,
        Some(Err(word)) => print(&format!("refused: {word}\n")).await,
        None => assert!(burden::act(action, rest).await, "no action {action}"),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().expect("a number")
}

async fn echo(rest: &[String]) -> String {
    let input = stdio::input().await;
    let input = String::from_utf8_lossy(&input);
    Writer::new(Stream::Stderr).write(b"to stderr\n".to_vec()).await;
    format!("{input} {rest:?}\n")
}

fn variables() -> String {
    let mut variables = environment::get_environment();
    variables.sort_unstable();
    variables.into_iter().map(|(name, value)| format!("{name}={value}\n")).collect()
}

/// Tells everything that may differ between two runs.
fn entropy() -> String {
    let wall = system_clock::now();
    format!(
        "wall {} {}\nmonotonic {}\nrandom {} {:?}\ninsecure {} {:?}\n",
        wall.seconds,
        wall.nanoseconds,
        monotonic_clock::now(),
        random::get_random_u64(),
        random::get_random_bytes(8),
        insecure::get_insecure_random_u64(),
        insecure_seed::get_insecure_seed()
    )
}

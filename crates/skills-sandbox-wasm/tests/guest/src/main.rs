//! A guest that does what its first argument says, for the tests of the sandbox.

mod burden;
mod descriptor;
mod network;
mod streams;

use std::fs;
use std::io::Read;
use std::time::{Duration, SystemTime};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (action, rest) = arguments.split_first().expect("an action");
    match action.as_str() {
        "echo" => echo(rest),
        "environment" => environment(),
        "input" => input(),
        "read" => report(fs::read_to_string(&rest[0])),
        "list" => report(list(&rest[0])),
        "write" => report(fs::write(&rest[0], "written").map(|()| "written".to_owned())),
        "remove" => report(fs::remove_file(&rest[0]).map(|()| "removed".to_owned())),
        "spawn" => report(std::process::Command::new("true").status().map(|_| "spawned".to_owned())),
        "thread" => report(std::thread::Builder::new().spawn(|| ()).map(|_| "started".to_owned())),
        "fail" => std::process::exit(3),
        "exit" => wasip2::cli::exit::exit_with_code(rest[0].parse().expect("a code")),
        "panic" => panic!("as asked"),
        "sleep" => std::thread::sleep(Duration::from_secs(3_600)),
        "entropy" => entropy(),
        "random" => println!("ok: {} bytes", wasip2::random::random::get_random_bytes(number(&rest[0])).len()),
        _ => other(action, rest),
    }
}

fn other(action: &str, rest: &[String]) {
    if let Some(result) = descriptor::act(action, rest).or_else(|| network::act(action, rest)) {
        match result {
            Ok(text) => println!("ok: {text}"),
            Err(word) => println!("refused: {word}"),
        }
    } else if !burden::act(action, rest) && !streams::act(action, rest) {
        panic!("no action {action}");
    }
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().expect("a number")
}

fn report(result: std::io::Result<String>) {
    match result {
        Ok(text) => println!("ok: {text}"),
        Err(error) => println!("refused: {:?}", error.kind()),
    }
}

fn echo(rest: &[String]) {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).expect("input");
    println!("{input} {rest:?}");
    eprintln!("to stderr");
}

fn environment() {
    let mut variables: Vec<(String, String)> = std::env::vars().collect();
    variables.sort();
    for (name, value) in variables {
        println!("{name}={value}");
    }
}

fn input() {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).expect("input");
    println!("ok: {} bytes", bytes.len());
}

fn list(path: &str) -> std::io::Result<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = fs::read_dir(path)?.map(name).collect::<Result<_, _>>()?;
    names.sort();
    Ok(names.join(" "))
}

/// Prints everything that may differ between two runs.
fn entropy() {
    use wasip2::random::{insecure, insecure_seed, random};
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_nanos();
    println!("wall {wall}");
    println!("monotonic {}", wasip2::clocks::monotonic_clock::now());
    println!("random {} {:?}", random::get_random_u64(), random::get_random_bytes(8));
    println!("insecure {} {:?}", insecure::get_insecure_random_u64(), insecure_seed::insecure_seed());
}

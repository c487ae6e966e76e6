//! A guest that does what its first argument says, for the tests of the sandbox.

use std::fs;
use std::io::{Read, Write};
use std::time::Duration;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (action, rest) = arguments.split_first().expect("an action");
    match action.as_str() {
        "echo" => echo(rest),
        "environment" => environment(),
        "read" => report(fs::read_to_string(&rest[0])),
        "list" => report(list(&rest[0])),
        "write" => report(fs::write(&rest[0], "written").map(|()| "written".to_owned())),
        "remove" => report(fs::remove_file(&rest[0]).map(|()| "removed".to_owned())),
        "connect" => report(std::net::TcpStream::connect("127.0.0.1:80").map(|_| "connected".to_owned())),
        "spawn" => report(std::process::Command::new("true").status().map(|_| "spawned".to_owned())),
        "fail" => std::process::exit(3),
        "panic" => panic!("as asked"),
        "spin" => spin(),
        "sleep" => std::thread::sleep(Duration::from_secs(3_600)),
        "allocate" => allocate(),
        "flood" => flood(),
        "recurse" => println!("{}", recurse(1)),
        "open" => open_many(&rest[0]),
        other => panic!("no action {other}"),
    }
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

fn list(path: &str) -> std::io::Result<String> {
    let mut names: Vec<String> = fs::read_dir(path)?.map(|entry| entry.map(|e| e.file_name().to_string_lossy().into_owned())).collect::<Result<_, _>>()?;
    names.sort();
    Ok(names.join(" "))
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

fn flood() {
    let line = [b'x'; 4096];
    loop {
        if std::io::stdout().write_all(&line).is_err() {
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

//! `mcp install` while others write the same file, on systems that exchange files.

use std::fs;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Place;

/// How many calls run at once.
const CALLS: usize = 12;
/// Nothing takes this long but a test that fails.
const PATIENCE: Duration = Duration::from_secs(30);

fn name(number: usize) -> String {
    format!("skills-{number}")
}

/// Starts so many calls, each with a name of its own.
fn start(count: usize, place: &Place, client: &str) -> Vec<Child> {
    let start = |number| {
        let mut command = place.command(&["--client", client, "--yes", "--name", &name(number)]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    (0..count).map(start).collect()
}

/// Waits for a call. One that fails must say that others wrote the file.
fn is_written(call: Child) -> bool {
    is_success(call.wait_with_output().unwrap())
}

fn is_success(output: Output) -> bool {
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() || told.contains("another program changes it all the time"),
        "{told}"
    );
    output.status.success()
}

fn has_entry(text: &str, client: &str, number: usize) -> bool {
    match client {
        "codex" => text.contains(&format!("[mcp_servers.{}]\n", name(number))),
        _ => serde_json::from_str::<Value>(text).unwrap()["mcpServers"][name(number)].is_object(),
    }
}

#[test]
fn of_twelve_calls_at_once_each_leaves_its_entry() {
    for (client, file, before) in [
        (
            "claude",
            "home/.claude.json",
            Some("{\n  \"theme\": \"dark\"\n}\n"),
        ),
        ("codex", "home/.codex/config.toml", Some("model = \"m\"\n")),
        ("claude", "home/.claude.json", None),
        ("codex", "home/.codex/config.toml", None),
    ] {
        let place = Place::new();
        if let Some(before) = before {
            place.write(file, before);
        }
        assert!(start(CALLS, &place, client).into_iter().all(is_written));
        let text = place.read(file);
        assert!(
            (0..CALLS).all(|number| has_entry(&text, client, number)),
            "{text}"
        );
        assert!(
            before.is_none_or(|before| text.contains(before.lines().next().unwrap())),
            "{text}"
        );
        assert_eq!(
            place.files("home").len(),
            1,
            "nothing else is left: {:?}",
            place.files("home")
        );
    }
}

/// Clients keep what they know in memory, and write their file as a whole: to a new file, which
/// then takes the place of the old one.
#[test]
fn what_a_client_writes_meanwhile_is_kept() {
    let place = Place::new();
    let file = place.write("home/.claude.json", "{\"written\": 0}\n");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut count = 0;
            while !is_over.load(Ordering::Relaxed) {
                count += 1;
                replace(&file, |value| value["written"] = json!(count));
                wait_for(&file, count);
            }
        });
        // How many of them find a moment to write depends on the machine.
        let calls = start(3, &place, "claude");
        let outputs: Vec<_> = calls.into_iter().map(Child::wait_with_output).collect();
        is_over.store(true, Ordering::Relaxed);
        outputs
            .into_iter()
            .map(|output| is_success(output.unwrap()))
            .for_each(drop);
    });
    assert_eq!(
        place
            .call(&["--client", "claude", "--yes", "--name", "last"])
            .code,
        0
    );
    assert!(place.read("home/.claude.json").contains("\"last\""));
    assert_eq!(place.files("home"), [".claude.json"]);
}

fn replace(file: &Path, change: impl FnOnce(&mut Value)) {
    let mut value = read(file);
    change(&mut value);
    let new = file.with_extension("new");
    fs::write(&new, value.to_string()).unwrap();
    fs::rename(new, file).unwrap();
}

fn read(file: &Path) -> Value {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

/// Waits until a file has what was written last. While two files are exchanged and exchanged back
/// an older one can be seen for a moment.
fn wait_for(file: &Path, count: u64) {
    let end = Instant::now() + PATIENCE;
    while read(file)["written"] != count {
        assert!(
            Instant::now() < end,
            "what the client wrote as number {count} is lost: {}",
            read(file)
        );
        std::thread::yield_now();
    }
}

//! Tests of `mcp install` with concurrent writers, on systems that can exchange files.

use std::fs;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Fixture;

/// Number of concurrent calls.
const CALLS: usize = 12;
/// Timeout of a failed test.
const TEST_TIMEOUT: Duration = Duration::from_secs(30);

fn name(number: usize) -> String {
    format!("skills-{number}")
}

/// Starts calls, each with its own server name.
fn start(count: usize, fixture: &Fixture, client: &str) -> Vec<Child> {
    let start = |number| {
        let mut command = fixture.command(&["--client", client, "--yes", "--name", &name(number)]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    (0..count).map(start).collect()
}

/// Waits for a call. A failed call must report that another program changed the file.
fn is_written(call: Child) -> bool {
    is_success(call.wait_with_output().unwrap())
}

fn is_success(output: Output) -> bool {
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() || stderr.contains("another program keeps changing it"),
        "{stderr}"
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
fn twelve_concurrent_calls_each_add_their_entry() {
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
        let fixture = Fixture::new();
        if let Some(before) = before {
            fixture.write(file, before);
        }
        assert!(start(CALLS, &fixture, client).into_iter().all(is_written));
        let text = fixture.read(file);
        assert!(
            (0..CALLS).all(|number| has_entry(&text, client, number)),
            "{text}"
        );
        assert!(
            before.is_none_or(|before| text.contains(before.lines().next().unwrap())),
            "{text}"
        );
        assert_eq!(
            fixture.files("home").len(),
            1,
            "nothing else is left: {:?}",
            fixture.files("home")
        );
    }
}

/// Clients keep their configuration in memory and replace the whole file.
#[test]
fn concurrent_writes_of_a_client_are_kept() {
    let fixture = Fixture::new();
    let file = fixture.write("home/.claude.json", "{\"written\": 0}\n");
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
        // How many of them succeed depends on timing.
        let calls = start(3, &fixture, "claude");
        let outputs: Vec<_> = calls.into_iter().map(Child::wait_with_output).collect();
        is_over.store(true, Ordering::Relaxed);
        outputs
            .into_iter()
            .map(|output| is_success(output.unwrap()))
            .for_each(drop);
    });
    assert_eq!(
        fixture
            .call(&["--client", "claude", "--yes", "--name", "last"])
            .code,
        0
    );
    assert!(fixture.read("home/.claude.json").contains("\"last\""));
    assert_eq!(fixture.files("home"), [".claude.json"]);
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

/// Waits until a file has the last written content. During an exchange an older version can be
/// visible for a moment.
fn wait_for(file: &Path, count: u64) {
    let end = Instant::now() + TEST_TIMEOUT;
    while read(file)["written"] != count {
        assert!(
            Instant::now() < end,
            "write {count} of the client is lost: {}",
            read(file)
        );
        std::thread::yield_now();
    }
}

//! What a killed server leaves in the directory for temporary files.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use skills_test_support::skip_without_sandbox;

use crate::fixture::Fixture;
use crate::mcp::Server;
use crate::skills::command_with_state;

fn command(skills: &Path, scratch: &Path, state: &Path) -> Command {
    let skills = skills.to_str().unwrap();
    let arguments = [
        "mcp",
        "--root",
        skills,
        "--no-workspace",
        "--allow",
        "spawn",
    ];
    command_with_state(&arguments, scratch, state)
}

/// Returns the directories of runs and sessions, sorted.
fn scratch_dirs(scratch: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(scratch).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names
        .filter(|name| name.starts_with("skills-run-"))
        .collect();
    names.sort();
    names
}

/// Starts a server that has run a script, so that it holds a copy of the skill and the directory of
/// a session.
fn serve(skills: &Path, scratch: &Path, state: &Path) -> Server {
    let mut server = Server::connect(command(skills, scratch, state), Vec::new());
    let call = json!({"name": "greet", "command": "sh scripts/greet.sh"});
    let result = server.call("skills_run", &call);
    assert_eq!(result["isError"], false, "{result}");
    server
}

#[test]
fn a_server_removes_at_its_start_what_killed_servers_left() {
    if skip_without_sandbox() {
        return;
    }
    let directory = Fixture::new();
    directory.skill("skills/greet", "greet");
    directory.file("skills/greet/scripts/greet.sh", "echo hello\n");
    let [scratch, state, kept] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let skills = directory.path().join("skills");
    std::fs::write(kept.path().join("file"), "").unwrap();

    let killed = serve(&skills, scratch.path(), state.path());
    let left = scratch_dirs(scratch.path());
    let living = serve(&skills, scratch.path(), state.path());
    let used = scratch_dirs(scratch.path());
    let used: Vec<_> = used
        .into_iter()
        .filter(|name| !left.contains(name))
        .collect();
    assert!(!left.is_empty() && !used.is_empty(), "{left:?}, {used:?}");
    killed.kill();
    let link = scratch.path().join("skills-run-aaaaaaaaaaaa.tmp");
    std::os::unix::fs::symlink(kept.path(), &link).unwrap();

    // This one runs nothing.
    let starting = command(&skills, scratch.path(), state.path());
    let started = Server::connect(starting, Vec::new());
    let begun = Instant::now();
    while scratch_dirs(scratch.path())
        .iter()
        .any(|name| left.contains(name))
    {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{left:?} is not removed"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    let remaining = scratch_dirs(scratch.path());
    assert!(
        used.iter().all(|name| remaining.contains(name)),
        "{used:?}, {remaining:?}"
    );
    assert!(link.is_symlink() && kept.path().join("file").exists());
    assert_eq!((living.end(), started.end()), (Some(0), Some(0)));
}

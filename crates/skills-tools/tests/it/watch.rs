//! Tools with an active watcher.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::json;
use skills_runtime::Policy;
use skills_runtime::discovery::{RootWatcher, WatchOptions};
use skills_test_support::skip_without_file_events;
use skills_tools::SkillWrites;

use crate::fixture::{Host, Tools};

/// Fails a test that hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts a watcher with this debounce interval, and waits until calls rely on it. Returns `None`
/// if the platform does not report all events.
fn watch(tools: &Tools, quiet: Duration) -> Option<(RootWatcher, Receiver<()>)> {
    if skip_without_file_events() {
        return None;
    }
    let (sender, changes) = channel();
    let mut options = WatchOptions::default();
    (options.debounce, options.poll_interval) = (quiet, Some(PATIENCE * 10));
    let watching = tools
        .set
        .watch(options, move || sender.send(()).unwrap_or_default())
        .unwrap();
    if !watching.is_event_driven() {
        eprintln!(
            "skipped {}: the platform reports no events",
            std::thread::current().name().unwrap_or("a test")
        );
        return None;
    }
    Some((watching, changes))
}

fn script_tool_names(tools: &Tools) -> String {
    let definitions = tools.set.definitions().unwrap();
    let names = definitions
        .iter()
        .map(|definition| definition.name.as_str())
        .filter(|name| name.starts_with("skill__"));
    names.collect::<Vec<_>>().join(" ")
}

/// Waits until these are the script tools.
fn until(tools: &Tools, changes: &Receiver<()>, expected: &str) {
    while script_tool_names(tools) != expected {
        changes.recv_timeout(PATIENCE).unwrap();
    }
}

#[test]
fn changes_of_skills_and_scripts_are_reported() {
    let host = Host::new();
    host.skill("demo", "").script("demo", "a.py", "print(1)\n");
    let tools = host.tools();
    let Some((watching, changes)) = watch(&tools, Duration::from_millis(20)) else {
        return;
    };
    assert_eq!(script_tool_names(&tools), "skill__demo__a");
    host.script("demo", "b.py", "print(2)\n");
    changes.recv_timeout(PATIENCE).unwrap();
    until(&tools, &changes, "skill__demo__a skill__demo__b");
    host.skill("new", "").script("new", "c.py", "");
    changes.recv_timeout(PATIENCE).unwrap();
    until(
        &tools,
        &changes,
        "skill__demo__a skill__demo__b skill__new__c",
    );
    std::fs::remove_dir_all(host.path("skills/demo")).unwrap();
    changes.recv_timeout(PATIENCE).unwrap();
    until(&tools, &changes, "skill__new__c");
    // The content of a script determines its arguments.
    while changes.try_recv().is_ok() {}
    host.script("new", "c.py", "\"\"\"Says something else.\"\"\"\n");
    changes.recv_timeout(PATIENCE).unwrap();
    drop(watching);
    while changes.try_recv().is_ok() {}
    assert_eq!(
        changes.recv_timeout(PATIENCE),
        Err(RecvTimeoutError::Disconnected),
        "its thread has ended and closed the channel"
    );
}

/// Calls until there are so many skills, or the timeout is over.
async fn until_skills(tools: &Tools, number: usize) {
    let end = Instant::now() + PATIENCE;
    while tools
        .call("skills_ls", json!({"path": "/skills"}))
        .await
        .structured["total"]
        != number
    {
        assert!(Instant::now() < end, "{number} skills were not found");
    }
}

/// A reported event causes a scan in the next call, whatever the debounce interval of the watcher.
#[tokio::test]
async fn a_call_does_not_wait_for_the_scan_of_the_watcher() {
    let host = Host::new();
    let tools = host.tools();
    let Some((watching, _changes)) = watch(&tools, PATIENCE) else {
        return;
    };
    for number in 1..=10 {
        host.skill(&format!("skill-{number}"), "")
            .script(&format!("skill-{number}"), "a.py", "");
        until_skills(&tools, number).await;
    }
    drop(watching);
    assert_eq!(script_tool_names(&tools).split(' ').count(), 10);
}

/// Changes that no platform reports to a watcher of the roots are found nevertheless: edits through
/// another hard link, and another directory above a root.
#[cfg(unix)]
#[tokio::test]
async fn unreported_changes_are_found_soon() {
    use std::io::Write as _;

    let host = Host::new();
    // If a root does not exist, its parent is watched, so the unreported change must be deeper.
    host.skill("demo", "").file("outside/link", "");
    std::fs::remove_file(host.path("outside/link")).unwrap();
    std::fs::hard_link(host.path("skills/demo/SKILL.md"), host.path("outside/link")).unwrap();
    host.file(
        "outside/app/skills/a/SKILL.md",
        "---\nname: a\ndescription: d\n---\n",
    );
    host.file(
        "outside/next/skills/b/SKILL.md",
        "---\nname: b\ndescription: d\n---\n",
    );
    let runtime = host.runtime().root(skills_runtime::Root::new(
        host.path("outside/app/skills"),
        skills_runtime::Scope::Custom,
    ));
    let tools = host.wrap(host.builder(runtime).build().unwrap());
    let Some((_watching, _changes)) = watch(&tools, Duration::from_millis(20)) else {
        return;
    };
    let end = Instant::now() + PATIENCE;
    let listed = async || tools.text("skills_ls", json!({"path": "/skills"})).await;
    let until = async |text: &str| {
        while !listed().await.contains(text) {
            assert!(Instant::now() < end, "{text} was not found");
        }
    };
    let mut round = 0;
    // A change that is not found immediately shows that calls rely on the watcher.
    loop {
        round += 1;
        let text = format!("---\nname: demo\ndescription: Round {round}.\n---\n");
        std::fs::OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(host.path("outside/link"))
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        if !listed().await.contains(&format!("Round {round}.")) {
            break;
        }
        assert!(Instant::now() < end, "no call relies on the watcher");
    }
    until(&format!("Round {round}.")).await;
    until("a/").await;
    std::fs::rename(host.path("outside/app"), host.path("outside/old")).unwrap();
    std::fs::rename(host.path("outside/next"), host.path("outside/app")).unwrap();
    until("b/").await;
}

/// Writes of the tools themselves are visible in the next call, before any event is handled.
#[tokio::test]
async fn writes_of_the_tools_are_visible_immediately() {
    let host = Host::new();
    host.skill("demo", "").script("demo", "a.py", "print(1)\n");
    let builder = host.builder(host.runtime().policy(Policy::default()));
    let tools = host.wrap(builder.skill_writes(SkillWrites::All).build().unwrap());
    let Some((_watching, _changes)) = watch(&tools, PATIENCE) else {
        return;
    };
    for round in 0..20 {
        let name = format!("new-{round}");
        let draft = json!({"name": name, "description": "New.", "instructions": "Do it.", "scripts": {"x": "print(1)\n"}});
        assert!(!tools.call("skills_create", draft).await.is_error);
        let listed = tools.text("skills_ls", json!({"path": "/skills"})).await;
        assert!(listed.contains(&format!("{name}/")), "{listed}");
        let path = format!("skills/demo/scripts/s{round}.py");
        assert!(
            !tools
                .call(
                    "skills_write",
                    json!({"path": path, "content": "print(2)\n"})
                )
                .await
                .is_error
        );
        let names = script_tool_names(&tools);
        assert!(names.contains(&format!("skill__demo__s{round}")), "{names}");
        let text = format!("---\nname: demo\ndescription: Round {round}.\n---\n");
        assert!(
            !tools
                .call(
                    "skills_write",
                    json!({"path": "/skills/demo/SKILL.md", "content": text})
                )
                .await
                .is_error
        );
        let found = tools.text("search_skills", json!({"query": "demo"})).await;
        assert!(found.contains(&format!("Round {round}.")), "{found}");
    }
}

/// Two watchers do not interfere with each other.
#[tokio::test]
async fn calls_rely_on_the_remaining_watcher() {
    let host = Host::new();
    host.skill("demo", "");
    let tools = host.tools();
    let Some((first, _)) = watch(&tools, Duration::from_millis(20)) else {
        return;
    };
    let Some((second, changes)) = watch(&tools, Duration::from_millis(20)) else {
        return;
    };
    drop(first);
    host.skill("more", "");
    changes.recv_timeout(PATIENCE).unwrap();
    while !tools
        .text("skills_ls", json!({"path": "/skills"}))
        .await
        .contains("more/")
    {
        changes.recv_timeout(PATIENCE).unwrap();
    }
    drop(second);
    host.skill("last", "");
    assert!(
        tools
            .text("skills_ls", json!({"path": "/skills"}))
            .await
            .contains("last/")
    );
}

/// A callback that panics ends its watcher, and calls scan again.
#[tokio::test]
async fn no_call_relies_on_a_failed_watcher() {
    let host = Host::new();
    host.skill("demo", "");
    let tools = host.tools();
    let (sender, changes) = channel();
    let mut options = WatchOptions::default();
    options.debounce = Duration::from_millis(20);
    // Values owned by the thread are dropped with it.
    let changed = move || {
        sender.send(()).unwrap();
        panic!("on purpose");
    };
    let watching = tools.set.watch(options, changed).unwrap();
    host.skill("more", "");
    changes.recv_timeout(PATIENCE).unwrap();
    assert_eq!(
        changes.recv_timeout(PATIENCE),
        Err(RecvTimeoutError::Disconnected)
    );
    assert!(!watching.is_event_driven());
    host.skill("last", "");
    assert!(
        tools
            .text("skills_ls", json!({"path": "/skills"}))
            .await
            .contains("last/")
    );
    drop(watching);
}

#[test]
fn a_watcher_can_be_dropped_in_its_callback() {
    let host = Host::new();
    host.skill("demo", "");
    let tools = host.tools();
    let (sender, changes) = channel();
    let handle = std::sync::Arc::new(std::sync::Mutex::new(None::<RootWatcher>));
    let of_thread = std::sync::Arc::clone(&handle);
    let mut options = WatchOptions::default();
    options.debounce = Duration::from_millis(20);
    let changed = move || {
        drop(of_thread.lock().unwrap().take());
        sender.send(()).unwrap_or_default();
    };
    *handle.lock().unwrap() = Some(tools.set.watch(options, changed).unwrap());
    host.skill("more", "").script("more", "a.py", "");
    while changes.recv_timeout(PATIENCE).is_ok() {}
    host.script("more", "b.py", "");
    assert!(self::script_tool_names(&tools).ends_with("skill__more__b"));
}

/// The catalog is so large that calls do not compare all files once a second.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_search_without_a_change_opens_no_file() {
    use nix::errno::Errno;
    use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

    let host = Host::new();
    let names = (0..2_001).map(|number| format!("skill-{number}"));
    for name in names.clone() {
        host.skill(&name, "");
    }
    let tools = host.tools();
    let Some((watching, changes)) = watch(&tools, Duration::from_millis(20)) else {
        return;
    };
    let search = async || {
        let found = tools
            .call("search_skills", json!({"query": "skill-7"}))
            .await;
        found.structured["total"].as_u64().unwrap()
    };
    let before = search().await;
    assert!(before > 0);
    // Once a change is reported, calls rely on the watcher.
    host.file(
        "skills/last/SKILL.md",
        "---\nname: last\ndescription: skill-7\n---\n",
    );
    while search().await == before {
        changes.recv_timeout(PATIENCE).unwrap();
    }
    let opened = Inotify::init(InitFlags::IN_NONBLOCK).unwrap();
    let flags = AddWatchFlags::IN_OPEN | AddWatchFlags::IN_ACCESS;
    opened.add_watch(&host.path("skills"), flags).unwrap();
    for name in names {
        opened
            .add_watch(&host.path(&format!("skills/{name}")), flags)
            .unwrap();
    }
    // The watcher may still scan because of the change.
    let end = Instant::now() + PATIENCE;
    loop {
        while opened.read_events().is_ok() {}
        assert_eq!(search().await, before + 1);
        if matches!(opened.read_events(), Err(Errno::EAGAIN)) {
            break;
        }
        assert!(Instant::now() < end, "each search opens files");
    }
    std::fs::read(host.path("skills/skill-7/SKILL.md")).unwrap();
    assert!(opened.read_events().is_ok(), "a read is noticed");
    drop(watching);
}

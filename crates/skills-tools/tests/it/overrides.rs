//! Operator overrides of script tools, and their persistence.

use std::fs;
use std::path::PathBuf;
use std::thread;

use serde_json::json;
use skills_runtime::discovery::Trust;
use skills_runtime::{Root, Scope, SkillRuntime};
use skills_test_support::skip_without_sandbox;
use skills_tools::{
    CallContext, DefaultScriptState, OverrideError, OverrideStore, ToolErrorCode, ToolOverride,
    ToolSet,
};

use crate::fixture::Host;

const SAYS_A: &str = "\"\"\"Says a.\"\"\"\nprint('a')\n";

/// A skill with three scripts.
fn host() -> Host {
    let host = Host::new();
    host.skill("demo", "")
        .script("demo", "a.py", SAYS_A)
        .script("demo", "b.py", "print('b')\n")
        .script("demo", "c.sh", "echo c\n");
    host
}

fn file(host: &Host) -> PathBuf {
    host.path("state/tools/overrides.json")
}

/// The tools of a process that stores overrides in the file of the host.
fn process(host: &Host) -> ToolSet {
    host.builder(host.runtime())
        .overrides(OverrideStore::in_file(file(host)))
        .build()
        .unwrap()
}

/// Returns the names of the scripts that are tools.
fn scripts(set: &ToolSet) -> String {
    let names = set
        .definitions()
        .unwrap()
        .into_iter()
        .map(|definition| definition.name);
    names
        .filter_map(|name| name.strip_prefix("skill__demo__").map(str::to_owned))
        .collect()
}

fn describe(text: &str) -> ToolOverride {
    let mut change = ToolOverride::default();
    change.description = Some(text.to_owned());
    change
}

fn turn_off(set: &ToolSet, name: &str) {
    set.set_override(name, ToolOverride::disable()).unwrap();
}

#[test]
fn a_disabled_script_stays_disabled() {
    let host = host();
    let set = process(&host);
    assert_eq!(scripts(&set), "abc");
    turn_off(&set, "skill__demo__b");
    assert_eq!(scripts(&set), "ac");
    assert_eq!(
        set.allowed_tools("demo").unwrap(),
        ["skill__demo__a", "skill__demo__c"]
    );
    assert_eq!(scripts(&process(&host)), "ac", "after a restart");
    host.script("demo", "b.py", "print('new')\n")
        .skill("demo", "license: MIT\n");
    assert_eq!(scripts(&set), "ac", "after a change of the content");
    fs::remove_file(host.path("skills/demo/scripts/b.py")).unwrap();
    assert_eq!(scripts(&set), "ac");
    assert_eq!(
        set.set_override("skill__demo__b", ToolOverride::enable())
            .unwrap_err()
            .to_string(),
        "script tool `skill__demo__b` not found"
    );
    host.script("demo", "b.py", "print('back')\n");
    assert_eq!(
        scripts(&process(&host)),
        "ac",
        "after it was removed and added again"
    );
    set.set_override("skill__demo__b", ToolOverride::enable())
        .unwrap();
    assert_eq!(scripts(&process(&host)), "abc");
}

#[tokio::test]
async fn a_disabled_script_runs_by_no_tool() {
    let host = host();
    let set = process(&host);
    turn_off(&set, "skill__demo__b");
    let unknown = set
        .call("skill__demo__b", json!({}), &CallContext::default())
        .await
        .unwrap_err();
    assert!(
        unknown
            .to_string()
            .starts_with("tool `skill__demo__b` not found"),
        "{unknown}"
    );
    let tools = host.wrap(set);
    for name in ["b.py", "b"] {
        let engine = tools
            .call(
                "run_skill_script",
                json!({"skill_name": "demo", "script_name": name}),
            )
            .await;
        assert!(
            engine.has_code(ToolErrorCode::DeniedByPolicy),
            "{}",
            engine.text()
        );
        assert_eq!(
            engine.structured["error"]["message"],
            "script `b.py` is disabled by the operator"
        );
    }
    for command in [
        "scripts/b.py",
        "python scripts/b.py",
        "python3 ./scripts/b.py",
        "python skills/demo/scripts/b.py",
    ] {
        let run = tools
            .call("skills_run", json!({"name": "demo", "command": command}))
            .await;
        assert!(
            run.has_code(ToolErrorCode::DeniedByPolicy) && run.structured.get("stdout").is_none(),
            "{command}: {}",
            run.text()
        );
    }
}

#[tokio::test]
async fn overrides_are_merged_by_field() {
    let host = host();
    host.script("demo", "slow.py", "import time\ntime.sleep(600)\n");
    let set = process(&host);
    let description_of = |set: &ToolSet| {
        set.definitions()
            .unwrap()
            .into_iter()
            .find(|definition| definition.name == "skill__demo__a")
            .unwrap()
            .description
    };
    // A sentence about the input follows.
    assert!(description_of(&set).starts_with("Says a. "));
    set.set_override("skill__demo__a", describe("Does what A does."))
        .unwrap();
    turn_off(&set, "skill__demo__a");
    set.set_override("skill__demo__a", ToolOverride::enable())
        .unwrap();
    assert_eq!(description_of(&process(&host)), "Does what A does.");
    set.set_override("skill__demo__a", ToolOverride::default())
        .unwrap();
    assert_eq!(description_of(&set), "Does what A does.");

    let mut change = ToolOverride::default();
    change.timeout_ms = Some(1500);
    set.set_override("skill__demo__slow", change).unwrap();
    if skip_without_sandbox() {
        return;
    }
    let outcome = host
        .wrap(process(&host))
        .call("skill__demo__slow", json!({}))
        .await;
    assert_eq!(
        outcome.text(),
        "Script execution timed out after 1.5 seconds"
    );
}

#[tokio::test]
async fn new_scripts_are_disabled_if_the_host_requires_it() {
    let host = host();
    let process = || {
        let builder = host
            .builder(host.runtime())
            .overrides(OverrideStore::in_file(file(&host)));
        builder
            .default_script_state(DefaultScriptState::Disabled)
            .build()
            .unwrap()
    };
    let set = process();
    assert_eq!(scripts(&set), "");
    assert_eq!(set.allowed_tools("demo").unwrap(), [""; 0]);
    set.set_override("skill__demo__c", ToolOverride::enable())
        .unwrap();
    host.script("demo", "d.py", "print('d')\n");
    assert_eq!(scripts(&process()), "c");
    // No other tool runs it either.
    let tools = host.wrap(process());
    for (tool, arguments) in [
        (
            "run_skill_script",
            json!({"skill_name": "demo", "script_name": "d"}),
        ),
        (
            "skills_run",
            json!({"name": "demo", "command": "python scripts/d.py"}),
        ),
    ] {
        let outcome = tools.call(tool, arguments).await;
        assert_eq!(
            outcome.structured["error"]["message"], "script `d.py` is not enabled by the operator",
            "{tool}"
        );
    }
}

#[cfg(unix)]
#[test]
fn the_file_is_accessible_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let host = host();
    turn_off(&process(&host), "skill__demo__a");
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode(file(&host)), mode(host.path("state/tools"))),
        (0o600, 0o700)
    );
    let stored: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(file(&host)).unwrap()).unwrap();
    assert_eq!(stored["version"], 1);
}

#[tokio::test]
async fn unreadable_overrides_stop_all_scripts() {
    for (content, said) in [
        ("no JSON", "invalid tool overrides in"),
        (
            "{\"version\": 2, \"overrides\": []}",
            "unsupported version 2 of tool overrides",
        ),
        ("{}", "invalid tool overrides in"),
    ] {
        let host = host();
        host.file("state/tools/overrides.json", content);
        let set = process(&host);
        let errors: Vec<OverrideError> = [
            set.definitions().unwrap_err(),
            set.warnings().unwrap_err(),
            set.allowed_tools("demo").unwrap_err(),
            set.set_override("skill__demo__a", ToolOverride::enable())
                .unwrap_err(),
        ]
        .into();
        assert!(
            errors.iter().all(|error| error.to_string().contains(said)),
            "{errors:?}"
        );
        let engine = json!({"skill_name": "demo", "script_name": "a.py"});
        for (tool, arguments) in [("skill__demo__a", json!({})), ("run_skill_script", engine)] {
            let outcome = set
                .call(tool, arguments, &CallContext::default())
                .await
                .unwrap();
            assert!(
                outcome.has_code(ToolErrorCode::Internal),
                "{}",
                outcome.text()
            );
            assert!(
                outcome
                    .text()
                    .starts_with("Error: cannot read the tool overrides; nothing ran"),
                "{}",
                outcome.text()
            );
            let host = host
                .path("")
                .to_string_lossy()
                .trim_end_matches('/')
                .to_owned();
            assert!(
                !format!("{} {}", outcome.text(), outcome.structured).contains(&host),
                "{}",
                outcome.structured
            );
            assert_eq!(
                outcome.structured.as_object().unwrap().len(),
                1,
                "{}",
                outcome.structured
            );
        }
        assert_eq!(
            fs::read_to_string(file(&host)).unwrap(),
            content,
            "an unknown file is not changed"
        );
    }
}

#[test]
fn concurrent_writers_keep_each_others_overrides() {
    let host = host();
    let letters = ["a", "b", "c"];
    thread::scope(|scope| {
        for letter in letters {
            let host = &host;
            scope.spawn(move || {
                let set = process(host);
                let name = format!("skill__demo__{letter}");
                for round in 0..20 {
                    set.set_override(&name, describe(&format!("{letter} {round}")))
                        .unwrap();
                }
            });
        }
    });
    let all = process(&host).definitions().unwrap();
    for letter in letters {
        let changed = all
            .iter()
            .find(|definition| definition.name == format!("skill__demo__{letter}"))
            .unwrap();
        assert_eq!(changed.description, format!("{letter} 19"));
    }
}

#[test]
fn overrides_are_separate_per_root() {
    let host = host();
    turn_off(&process(&host), "skill__demo__a");
    host.file(
        "others/demo/SKILL.md",
        "---\nname: demo\ndescription: Another.\n---\n",
    )
    .file("others/demo/scripts/a.py", SAYS_A);
    let drafts = Root::new(host.path("drafts"), Scope::User).trust(Trust::Untrusted);
    let runtime = SkillRuntime::builder()
        .root(Root::new(host.path("others"), Scope::Custom))
        .root(drafts);
    let other = host
        .builder(runtime)
        .overrides(OverrideStore::in_file(file(&host)))
        .build()
        .unwrap();
    assert_eq!(scripts(&other), "a");
    assert_eq!(scripts(&process(&host)), "bc");
}

#[cfg(unix)]
#[test]
fn the_spelling_of_a_root_does_not_matter() {
    let host = host();
    turn_off(&process(&host), "skill__demo__a");
    std::os::unix::fs::symlink(host.path("skills"), host.path("linked")).unwrap();
    let drafts = Root::new(host.path("drafts"), Scope::User).trust(Trust::Untrusted);
    let runtime = SkillRuntime::builder()
        .root(Root::new(host.path("linked"), Scope::Custom))
        .root(drafts);
    let other = host
        .builder(runtime)
        .overrides(OverrideStore::in_file(file(&host)))
        .build()
        .unwrap();
    assert_eq!(scripts(&other), "bc");
}

#[test]
fn overrides_can_be_cleared() {
    let host = host();
    let set = process(&host);
    turn_off(&set, "skill__demo__a");
    assert!(set.clear_override("skill__demo__a").unwrap());
    assert!(!set.clear_override("skill__demo__a").unwrap());
    assert_eq!(scripts(&process(&host)), "abc");
    let mut none = ToolOverride::default();
    none.timeout_ms = Some(0);
    assert!(
        set.set_override("skill__demo__a", none)
            .unwrap_err()
            .to_string()
            .contains("invalid timeout 0")
    );
}

#[tokio::test]
async fn run_skill_script_applies_overrides() {
    let host = host();
    let set = process(&host);
    turn_off(&set, "skill__demo__a");
    let arguments = serde_json::json!({"skill_name": "demo", "script_name": "a"});
    let output = set
        .call("run_skill_script", arguments, &CallContext::default())
        .await
        .unwrap();
    assert!(
        output
            .text()
            .contains("script `a.py` is disabled by the operator"),
        "{}",
        output.text()
    );
}

#[test]
fn overrides_in_memory_end_with_the_process() {
    let host = host();
    let set = host.tools().set;
    turn_off(&set, "skill__demo__a");
    assert_eq!(scripts(&set.clone()), "bc");
    assert_eq!(scripts(&host.tools().set), "abc");
}

#[test]
fn disabling_a_tool_does_not_reassign_its_name() {
    let host = host();
    host.script("demo", "a.sh", "echo a\n");
    host.file(
        "others/demo/SKILL.md",
        "---\nname: demo\ndescription: Another.\n---\n",
    )
    .file("others/demo/scripts/a.py", SAYS_A);
    let runtime = host
        .runtime()
        .root(Root::new(host.path("others"), Scope::Custom));
    let set = host.builder(runtime).build().unwrap();
    let names = || -> Vec<String> {
        let all = set
            .definitions()
            .unwrap()
            .into_iter()
            .map(|definition| definition.name);
        let mut names: Vec<String> = all
            .filter(|name| name.starts_with("skill__demo__a"))
            .collect();
        names.sort();
        names
    };
    let before = names();
    let is_hashed = |name: &String| {
        name.strip_prefix("skill__demo__a__")
            .is_some_and(|hash| hash.len() == 16)
    };
    assert!(
        before.len() == 3 && before.iter().all(is_hashed),
        "{before:?}"
    );
    for name in &before {
        turn_off(&set, name);
        assert_eq!(
            names(),
            before
                .iter()
                .filter(|other| *other != name)
                .cloned()
                .collect::<Vec<_>>()
        );
        set.set_override(name, ToolOverride::enable()).unwrap();
    }
    assert_eq!(names(), before);
}

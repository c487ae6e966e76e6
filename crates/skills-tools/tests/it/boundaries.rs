//! Rejected configurations, and protection against changes of directories at run time.

use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::json;
use skills_runtime::discovery::Selector;
use skills_runtime::discovery::Trust;
use skills_runtime::policy::{Effect, Question, Rule, RuleSource};
use skills_runtime::prompt::{ListingMode, ListingModes};
use skills_runtime::{Answer, Policy, Root, Scope, SkillRuntime};
use skills_test_support::skip_without_sandbox;
use skills_tools::{CallContext, Mount, SkillWrites, ToolErrorCode, ToolGroup, ToolSet};

use crate::fixture::{Host, ToolOutputExt, Tools};

fn refusal(
    host: &Host,
    runtime: skills_runtime::Builder,
    with: impl FnOnce(skills_tools::ToolSetBuilder) -> skills_tools::ToolSetBuilder,
) -> String {
    let error = with(ToolSet::builder(runtime.build()))
        .build()
        .map(|_| ())
        .unwrap_err()
        .to_string();
    error.replace(&*host.path("").to_string_lossy(), "HERE/")
}

#[test]
fn drafts_must_be_in_an_untrusted_root() {
    let host = Host::new();
    let plain = || SkillRuntime::builder().root(Root::new(host.path("skills"), Scope::Custom));
    let drafts = |below: &str| {
        let path = host.path(below);
        move |builder: skills_tools::ToolSetBuilder| builder.drafts_dir(path)
    };
    insta::assert_snapshot!(refusal(&host, plain(), drafts("drafts")), @"invalid drafts directory HERE/drafts: expected an untrusted root of the runtime, so that drafts do not run");
    let with_root =
        plain().root(Root::new(host.path("skills/drafts"), Scope::User).trust(Trust::Untrusted));
    insta::assert_snapshot!(refusal(&host, with_root, drafts("skills/drafts")), @"drafts directory HERE/skills/drafts and trusted root HERE/skills overlap, so that drafts would be trusted");
    let trusted = plain().root(Root::new(host.path("drafts"), Scope::User));
    insta::assert_snapshot!(refusal(&host, trusted, drafts("drafts")), @"drafts directory HERE/drafts and trusted root HERE/drafts overlap, so that drafts would be trusted");
    let in_mount = host.runtime();
    std::fs::create_dir_all(host.path("drafts/inner")).unwrap();
    let workspace = Mount::writable("workspace", host.path("drafts/inner"));
    insta::assert_snapshot!(refusal(&host, in_mount, |builder| drafts("drafts")(builder).workspace(workspace)), @"mount `workspace` is in the drafts directory HERE/drafts, so that writes would bypass the validation of drafts");
}

#[tokio::test]
async fn active_skills_are_not_writable_through_a_mount() {
    let host = Host::new();
    host.skill("demo", "").file(
        "workspace/.agents/skills/own/SKILL.md",
        "---\nname: own\ndescription: Own.\n---\n",
    );
    let within = Mount::writable("within", host.path("skills/demo"));
    insta::assert_snapshot!(refusal(&host, host.runtime(), |builder| builder.mount(within)), @"writable mount `within` is in the trusted root HERE/skills, so that active skills could be changed; use another directory, make the mount read-only, or allow writing skills");
    // A mount that contains the scratch directory is rejected, too.
    let elsewhere = tempfile::tempdir().unwrap();
    let builder = || {
        let runtime = host.runtime().scratch_directory(elsewhere.path()).build();
        ToolSet::builder(runtime)
            .tool_groups(ToolGroup::ALL)
            .workspace(Mount::writable("workspace", host.path("")))
            .drafts_dir(host.path("drafts"))
    };
    let code = async |tools: &Tools, path: &str| {
        let arguments = json!({"path": path, "content": "x"});
        let output = tools.call("skills_write", arguments).await;
        output.code().unwrap_or("written").to_owned()
    };
    let tools = host.wrap(builder().build().unwrap());
    assert_eq!(code(&tools, "skills/demo/SKILL.md").await, "read_only");
    for path in [
        "./skills/demo/SKILL.md",
        "./skills/new/SKILL.md",
        "./drafts/x/SKILL.md",
    ] {
        assert_eq!(code(&tools, path).await, "permission_denied", "{path}");
    }
    // Some file systems ignore case.
    assert_eq!(
        code(&tools, "./Skills/demo/SKILL.md").await,
        "permission_denied"
    );
    assert_eq!(code(&tools, "./notes.md").await, "written");
    let tools = host.wrap(builder().skill_writes(SkillWrites::All).build().unwrap());
    assert_eq!(code(&tools, "./skills/new/notes.md").await, "written");
    // Directories of agents are protected from writing anyway.
    let own = host.runtime().root(Root::new(
        host.path("workspace/.agents/skills"),
        Scope::Repo,
    ));
    assert!(host.builder(own).build().is_ok());
}

/// A skill that a symlink in a root leads to is active, wherever it is.
#[cfg(unix)]
#[tokio::test]
async fn the_target_of_a_symlink_in_a_root_is_not_writable() {
    let host = Host::new();
    host.skill("demo", "").file(
        "workspace/own/SKILL.md",
        "---\nname: own\ndescription: Own.\n---\n",
    );
    std::os::unix::fs::symlink(host.path("workspace/own"), host.path("skills/own")).unwrap();
    let tools = host.wrap(host.builder(host.runtime()).build().unwrap());
    assert!(
        tools
            .text("skills_ls", json!({"path": "/skills"}))
            .await
            .contains("own")
    );
    for (path, expected) in [
        ("own/SKILL.md", Some("permission_denied")),
        ("own/scripts/new.py", Some("permission_denied")),
        ("other/SKILL.md", None),
    ] {
        let arguments = json!({"path": path, "content": "x"});
        let output = tools.call("skills_write", arguments).await;
        assert_eq!(output.code(), expected, "{path}: {}", output.text());
    }
}

#[test]
fn no_mount_contains_the_scratch_directory() {
    let host = Host::new();
    host.file("workspace/tmp/deep/file", "");
    for below in ["workspace", "workspace/tmp"] {
        let runtime = || SkillRuntime::builder().scratch_directory(host.path("workspace/tmp"));
        for mount in [
            Mount::writable("wide", host.path(below)),
            Mount::read_only("wide", host.path(below)),
        ] {
            let said = refusal(&host, runtime(), |builder| builder.mount(mount));
            assert_eq!(
                said,
                "mount `wide` contains HERE/workspace/tmp, the directory with private copies of skills; mount a subdirectory, or set TMPDIR to another directory"
            );
        }
        let said = refusal(&host, runtime(), |builder| {
            builder.workspace(Mount::writable("workspace", host.path(below)))
        });
        assert!(said.starts_with("mount `workspace` contains"), "{said}");
    }
    let beside = SkillRuntime::builder()
        .scratch_directory(host.path("workspace/tmp"))
        .build();
    assert!(
        ToolSet::builder(beside)
            .mount(Mount::writable("deep", host.path("workspace/tmp/deep")))
            .build()
            .is_ok()
    );
}

#[tokio::test]
async fn protected_paths_are_not_writable_through_any_mount() {
    let host = Host::new();
    host.file("workspace/state/rules.toml", "mode = 'strict'");
    let set = host
        .builder(host.runtime())
        .protect([host.path("workspace/state")])
        .build()
        .unwrap();
    let tools = host.wrap(set);
    for path in ["state/rules.toml", "state/new", "state"] {
        let outcome = tools
            .call("skills_write", json!({"path": path, "content": "x"}))
            .await;
        assert!(
            outcome.has_code(ToolErrorCode::PermissionDenied)
                || outcome.has_code(ToolErrorCode::IsADirectory),
            "{path}: {}",
            outcome.text()
        );
    }
    assert!(
        !tools
            .call("skills_write", json!({"path": "stateless", "content": "x"}))
            .await
            .is_error
    );
    assert_eq!(
        fs::read_to_string(host.path("workspace/state/rules.toml")).unwrap(),
        "mode = 'strict'"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn hidden_directories_are_neither_read_nor_listed_nor_written() {
    use std::os::unix::fs::symlink;

    let host = Host::new();
    host.file("workspace/state/skills/mcp-token", "TOPSECRET")
        .file("workspace/state/other/file", "seen")
        .file("workspace/a/file", "seen");
    symlink("../state/skills/mcp-token", host.path("workspace/a/token")).unwrap();
    symlink("state/skills", host.path("workspace/link")).unwrap();
    symlink("state", host.path("workspace/around")).unwrap();
    // A directory that is created after the tools were built.
    let later = host.path("workspace/later");
    let tools = host.wrap(
        host.builder(
            host.runtime()
                .hide([host.path("workspace/state/skills"), later.clone()]),
        )
        .build()
        .unwrap(),
    );
    host.file("workspace/later/key", "TOPSECRET");
    for path in [
        "state/skills/mcp-token",
        "a/token",
        "link/mcp-token",
        "around/skills/mcp-token",
        "later/key",
    ] {
        let outcome = tools.call("skills_read", json!({"path": path})).await;
        let message = format!("cannot access '/workspace/{path}': hidden by the operator");
        assert!(
            outcome.has_code(ToolErrorCode::PermissionDenied) && outcome.text().contains(&message),
            "{path}: {}",
            outcome.text()
        );
    }
    for path in ["state/skills", "link", "around/skills", "later"] {
        for recursive in [false, true] {
            let outcome = tools
                .call("skills_ls", json!({"path": path, "recursive": recursive}))
                .await;
            assert!(
                outcome.has_code(ToolErrorCode::PermissionDenied),
                "{path}: {}",
                outcome.text()
            );
        }
        let outcome = tools
            .call("skills_bash", json!({"command": "ls", "cwd": path}))
            .await;
        assert!(
            outcome.has_code(ToolErrorCode::PermissionDenied),
            "{path}: {}",
            outcome.text()
        );
    }
    for path in ["state/skills/mcp-token", "state/skills/new", "later/key"] {
        let outcome = tools
            .call("skills_write", json!({"path": path, "content": "x"}))
            .await;
        assert!(
            outcome.has_code(ToolErrorCode::PermissionDenied),
            "{path}: {}",
            outcome.text()
        );
    }
    assert_eq!(fs::read_to_string(later.join("key")).unwrap(), "TOPSECRET");
    // Names are not suggested either, nor through a symlink.
    for path in ["state/skill/x", "link/mcp-tokens", "laterr/key"] {
        let outcome = tools.call("skills_read", json!({"path": path})).await;
        assert!(
            !outcome.text().contains("did you mean"),
            "{}",
            outcome.text()
        );
    }
    insta::assert_snapshot!(tools.text("skills_ls", json!({"recursive": true})).await, @r"
    Contents of '/workspace' (6 items):
      a/
      a/file  (4 bytes)
      around/
      state/
      state/other/
      state/other/file  (4 bytes)
    ");
    insta::assert_snapshot!(tools.text("skills_ls", json!({})).await, @r"
    Contents of '/workspace' (3 items):
      a/
      around/
      state/
    ");
    assert_eq!(
        tools
            .text("skills_read", json!({"path": "around/other/file"}))
            .await,
        "seen"
    );
    // As a separate mount.
    let runtime = host.runtime().hide([host.path("workspace/state/skills")]);
    let set = ToolSet::builder(runtime.build())
        .mount(Mount::read_only(
            "data",
            host.path("workspace/state/skills"),
        ))
        .build()
        .unwrap();
    let tools = host.wrap(set);
    assert!(
        tools
            .call("skills_read", json!({"path": "data/mcp-token"}))
            .await
            .has_code(ToolErrorCode::PermissionDenied)
    );
    assert!(
        tools
            .call("skills_ls", json!({"path": "data"}))
            .await
            .has_code(ToolErrorCode::PermissionDenied)
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_replaced_mount_is_rejected() {
    if skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    host.skill("demo", "")
        .file("ref/a", "there")
        .file("private/key", "TOPSECRET");
    let set = host
        .builder(host.runtime())
        .mount(Mount::read_only("ref", host.path("ref")))
        .build()
        .unwrap();
    let tools = host.wrap(set);
    host.script("demo", "look.py", "import os\nprint(os.listdir('/ref'))\n");
    let look = json!({"name": "demo", "command": "python scripts/look.py"});
    assert!(
        tools
            .call("skills_run", look.clone())
            .await
            .text()
            .contains("'a'")
    );
    fs::rename(host.path("ref"), host.path("gone")).unwrap();
    std::os::unix::fs::symlink(host.path("private"), host.path("ref")).unwrap();
    let outcome = tools.call("skills_run", look).await;
    assert!(
        outcome.has_code(ToolErrorCode::Conflict),
        "{}",
        outcome.text()
    );
    // The handle of the file tools still refers to the original directory.
    assert_eq!(
        tools.text("skills_read", json!({"path": "ref/a"})).await,
        "there"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_symlink_to_a_script_does_not_run() {
    let host = Host::new();
    host.skill("demo", "")
        .script("demo", "off.py", "print('RAN')\n");
    std::os::unix::fs::symlink("off.py", host.path("skills/demo/scripts/link.py")).unwrap();
    std::os::unix::fs::symlink("scripts/off.py", host.path("skills/demo/x.py")).unwrap();
    let tools = host.tools();
    for command in [
        "python scripts/link.py",
        "python x.py",
        "scripts/link.py",
        "./x.py",
    ] {
        let outcome = tools
            .call("skills_run", json!({"name": "demo", "command": command}))
            .await;
        assert!(
            outcome.has_code(ToolErrorCode::ScriptNotFound),
            "{command}: {}",
            outcome.text()
        );
    }
}

#[tokio::test]
async fn an_approval_of_a_command_covers_its_arguments_and_input() {
    if skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    host.skill("demo", "allowed-tools: Bash\n");
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&requests);
    let approver = Arc::new(move |question: &Question| {
        seen.lock().unwrap().push(question.command.join(" "));
        Answer::AllowAlways
    });
    let context = CallContext::default().approver(approver);
    let tools = host.wrap(host.builder(host.runtime()).build().unwrap());
    let run = |command: &str| json!({"name": "demo", "command": command});
    for arguments in [
        run("echo a | cat; (true)"),
        run("echo a | cat; (true)"),
        run("echo b | cat; (true)"),
    ] {
        let outcome = tools.call_in("skills_run", arguments, &context).await;
        assert!(!outcome.is_error, "{}", outcome.text());
    }
    for stdin in ["echo first", "echo first", "echo second"] {
        let outcome = tools
            .call_in(
                "skills_bash",
                json!({"command": "sh", "stdin": stdin}),
                &context,
            )
            .await;
        assert!(!outcome.is_error, "{}", outcome.text());
    }
    // Other content may change the meaning of the same command.
    host.script("demo", "new.sh", "");
    assert!(
        !tools
            .call_in("skills_run", run("echo a | cat; (true)"), &context)
            .await
            .is_error
    );
    let requests = requests.lock().unwrap().join("\n");
    let workspace = host.path("workspace").display().to_string();
    insta::assert_snapshot!(requests.replace(&workspace, "WORKSPACE"), @r#"
    sh -c echo a | cat; (true) (in WORKSPACE)
    sh -c echo b | cat; (true) (in WORKSPACE)
    sh <<< "echo first"
    sh <<< "echo second"
    sh -c echo a | cat; (true) (in WORKSPACE)
    "#);
}

#[tokio::test]
async fn arguments_that_look_like_paths_are_unchanged() {
    if skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    host.skill("demo", "")
        .file("workspace/notes.txt", "see /workspace/data here\n");
    host.script(
        "demo",
        "argv.py",
        "import sys\nprint(sys.argv[1:], open(sys.argv[1]).read())\n",
    );
    let tools = host.allowing(&["spawn:grep"]);
    let found = tools
        .answer(
            "skills_bash",
            json!({"command": "grep -rn /workspace/data ."}),
        )
        .await;
    let isolated = tools
        .call(
            "skills_run",
            json!({"name": "demo", "command": "python scripts/argv.py /workspace/notes.txt"}),
        )
        .await;
    assert!(
        isolated.text().contains("['/workspace/notes.txt'] see"),
        "{}",
        isolated.text()
    );
    if crate::run::sees_virtual_paths() {
        assert_eq!(found, "./notes.txt:1:see /workspace/data here");
    }
}

#[tokio::test]
async fn a_skill_disabled_for_models_is_shown_by_no_tool() {
    let host = Host::new();
    host.skill("open", "")
        .skill("kept", "")
        .script("kept", "a.py", "print(1)\n");
    let modes =
        ListingModes::default().with_rule(Selector::Name("kept".to_owned()), ListingMode::Off);
    let tools = host.wrap(host.builder(host.runtime().modes(modes)).build().unwrap());
    assert!(
        !tools
            .set
            .definitions()
            .unwrap()
            .iter()
            .any(|definition| definition.name.contains("kept"))
    );
    assert_eq!(
        tools.call("search_skills", json!({})).await.structured["total"],
        1
    );
    assert!(
        tools
            .call("load_skill", json!({"name": "kept"}))
            .await
            .is_error
    );
    assert!(
        tools
            .call(
                "read_skill_resource",
                json!({"name": "kept", "path": "SKILL.md"})
            )
            .await
            .is_error
    );
}

#[tokio::test]
async fn calls_without_a_session_share_nothing() {
    if skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    host.skill("demo", "")
        .script("demo", "a.sh", "ls\ntouch seen\n");
    let rule = Rule::parse(Effect::Allow, RuleSource::Invocation, "spawn").unwrap();
    let tools = host.in_sessions(Policy::default().rule(rule));
    host.skill("demo", "allowed-tools: Bash\n");
    for _ in 0..2 {
        assert_eq!(tools.text("skill__demo__a", json!({})).await, "");
    }
    let context = CallContext::default().session("one");
    assert_eq!(
        tools
            .call_in("skill__demo__a", json!({}), &context)
            .await
            .text(),
        ""
    );
    assert_eq!(
        tools
            .call_in("skill__demo__a", json!({}), &context)
            .await
            .answer(),
        "seen\n"
    );
}

#[tokio::test]
async fn an_approval_for_a_session_does_not_apply_to_another() {
    if skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    host.skill("demo", "allowed-tools: Bash(expr:*)\n")
        .script("demo", "a.sh", "echo done\n");
    let requests = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&requests);
    let approver = move |_: &Question| {
        *counted.lock().unwrap() += 1;
        Answer::AllowSession
    };
    let approver: Arc<dyn skills_runtime::Approver> = Arc::new(approver);
    let tools = host.tools();
    let check = async |session: Option<&str>, name: &str, questions: usize| {
        let context = CallContext::default().approver(Arc::clone(&approver));
        let context = session.map_or(context.clone(), |session| context.session(session));
        let arguments = match name {
            "skills_run" => json!({"name": "demo", "command": "sh scripts/a.sh"}),
            "skills_bash" => json!({"command": "expr 1"}),
            "run_skill_script" => json!({"skill_name": "demo", "script_name": "a"}),
            _ => json!({}),
        };
        let outcome = tools.call_in(name, arguments, &context).await;
        assert!(!outcome.is_error, "{name}: {}", outcome.text());
        assert_eq!(*requests.lock().unwrap(), questions, "{name} {session:?}");
    };
    for name in ["skill__demo__a", "run_skill_script", "skills_run"] {
        check(Some("one"), name, 1).await;
    }
    check(Some("two"), "run_skill_script", 2).await;
    check(None, "run_skill_script", 3).await;
    check(Some("one"), "skills_bash", 4).await;
    check(Some("two"), "skills_bash", 5).await;
    tools.set.end_session("one");
    check(Some("two"), "skills_bash", 5).await;
    check(None, "skill__demo__a", 5).await;
    check(Some("one"), "skill__demo__a", 6).await;
    check(Some("one"), "skills_bash", 7).await;
}

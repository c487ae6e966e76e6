//! Sequences of file tool calls, as a model makes them.

use serde_json::{Value, json};
use skills_tools::{CallContext, ToolErrorCode};

use crate::fixture::Host;

fn names(entries: &Value) -> Vec<&str> {
    entries
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_file_is_written_read_and_listed() {
    let host = Host::new();
    let tools = host.tools();
    let written = tools
        .call(
            "skills_write",
            json!({"path": "output/result.txt", "content": "Hello 世界\n"}),
        )
        .await;
    assert!(!written.is_error, "{}", written.text());
    assert_eq!(
        written.text(),
        "Successfully wrote 13 bytes to '/workspace/output/result.txt'"
    );
    assert_eq!(written.files, ["/workspace/output/result.txt"]);
    let read = tools
        .call(
            "skills_read",
            json!({"path": "/workspace/output/result.txt"}),
        )
        .await;
    assert_eq!(
        (read.text().as_ref(), read.structured["content"].as_str()),
        ("Hello 世界\n", Some("Hello 世界\n"))
    );
    let listed = tools.call("skills_ls", json!({})).await;
    assert_eq!(names(&listed.structured["entries"]), ["output"]);
    let stale = json!({"path": "output/result.txt", "content": "x", "if_match": "0".repeat(64)});
    assert!(
        tools
            .call("skills_write", stale)
            .await
            .has_code(ToolErrorCode::Conflict)
    );
    assert_eq!(
        std::fs::read_to_string(host.path("workspace/output/result.txt")).unwrap(),
        "Hello 世界\n"
    );
}

#[tokio::test]
async fn large_files_are_written_in_parts() {
    let host = Host::new();
    let tools = host.tools();
    let written = tools
        .call(
            "skills_write",
            json!({"path": "long", "content": "x".repeat(3 << 20)}),
        )
        .await;
    assert!(
        written.has_code(ToolErrorCode::TooLarge) && written.text().contains("with mode `append`"),
        "{}",
        written.text()
    );
    assert!(!host.path("workspace/long").exists());
}

#[tokio::test]
async fn a_draft_is_created_edited_and_listed_but_does_not_run() {
    let host = Host::new();
    host.skill("demo", "");
    let tools = host.allowing(&["spawn", &host.write_rule()]);
    let draft = json!({"name": "my-tool", "description": "Does: something", "instructions": "# My tool\n", "scripts": {"main": "print('made')"}});
    let created = tools.call("skills_create", draft.clone()).await;
    assert_eq!(
        created.structured["uri"],
        "skill://my-tool/SKILL.md",
        "{}",
        created.text()
    );
    let script = json!({"path": "/skills/my-tool/scripts/run.py", "content": "print('written')\n"});
    let written = tools.call("skills_write", script).await;
    assert!(!written.is_error, "{}", written.text());
    assert_eq!(
        tools
            .text(
                "skills_read",
                json!({"path": "/skills/my-tool/scripts/run.py"})
            )
            .await,
        "print('written')\n"
    );
    assert_eq!(
        tools
            .text(
                "skills_read",
                json!({"path": "/skills/my-tool/scripts/main.py"})
            )
            .await,
        "print('made')"
    );

    let skills = tools.call("skills_ls", json!({"path": "/skills"})).await;
    let entries = &skills.structured["entries"];
    assert_eq!(names(entries), ["demo", "my-tool"]);
    assert_eq!(
        (&entries[0]["draft"], &entries[1]["draft"]),
        (&Value::Null, &json!(true)),
        "{entries}"
    );
    let scripts = tools
        .call("skills_ls", json!({"path": "/skills/my-tool/scripts"}))
        .await;
    assert_eq!(names(&scripts.structured["entries"]), ["main.py", "run.py"]);

    let run = tools
        .call(
            "skills_run",
            json!({"name": "my-tool", "command": "python scripts/run.py"}),
        )
        .await;
    assert!(
        run.has_code(ToolErrorCode::ApprovalRequired) && run.structured.get("stdout").is_none(),
        "{}",
        run.text()
    );
    let engine = tools
        .call(
            "run_skill_script",
            json!({"skill_name": "my-tool", "script_name": "run"}),
        )
        .await;
    assert!(
        engine.has_code(ToolErrorCode::ApprovalRequired) && engine.structured.get("raw").is_none(),
        "{}",
        engine.text()
    );
    let definitions = tools.set.definitions().unwrap();
    assert!(
        definitions
            .iter()
            .all(|definition| !definition.name.starts_with("skill__"))
    );
    assert!(
        tools
            .call("skills_create", draft)
            .await
            .has_code(ToolErrorCode::AlreadyExists)
    );
}

#[tokio::test]
async fn the_pages_of_the_skill_list_contain_each_skill_once() {
    let host = Host::new();
    for name in ["a", "b", "c"] {
        host.skill(name, "");
    }
    let tools = host.allowing(&[&host.write_rule()]);
    for name in ["x", "y"] {
        let draft = json!({"name": name, "description": "Made up", "instructions": "# Text\n"});
        assert!(!tools.call("skills_create", draft).await.is_error);
    }
    let (mut listed, mut lines, mut cursor) = (Vec::new(), String::new(), Some("0".to_owned()));
    while let Some(from) = cursor {
        let page = tools
            .call(
                "skills_ls",
                json!({"path": "/skills", "cursor": from, "limit": 2}),
            )
            .await;
        assert_eq!(page.structured["total"], 5);
        listed.extend(
            names(&page.structured["entries"])
                .into_iter()
                .map(str::to_owned),
        );
        lines += &page.text();
        cursor = page.structured["next_cursor"].as_str().map(str::to_owned);
    }
    assert_eq!(listed, ["a", "b", "c", "x", "y"]);
    assert!(
        listed
            .iter()
            .all(|name| lines.matches(&format!("\n  {name}/  ")).count() == 1),
        "{lines}"
    );
    for behind in ["5", &usize::MAX.to_string()] {
        let page = tools
            .call("skills_ls", json!({"path": "/skills", "cursor": behind}))
            .await;
        assert_eq!(
            (&page.structured["entries"], &page.structured["next_cursor"]),
            (&json!([]), &Value::Null),
            "{}",
            page.text()
        );
    }
}

#[tokio::test]
async fn the_skills_that_fit_a_task_are_listed_first() {
    let host = Host::new();
    for name in ["alpha", "invoices", "weather"] {
        host.skill(name, "");
    }
    let tools = host.tools();
    let list = async |arguments: Value| {
        let page = tools.call("skills_ls", arguments).await;
        let entries = &page.structured["entries"];
        (
            names(entries).join(" "),
            page.structured["next_cursor"].clone(),
        )
    };
    let task = |task: &str| json!({"path": "/skills", "task": task});
    let (all, _) = list(task("what will the weather be")).await;
    assert_eq!(all, "weather alpha invoices");
    // Nothing fits, and nothing is hidden.
    assert_eq!(list(task("thanks!")).await.0, "alpha invoices weather");
    let mut page = task("send invoices");
    page["limit"] = json!(2);
    let (first, next) = list(page.clone()).await;
    page["cursor"] = next;
    let (second, _) = list(page).await;
    assert_eq!([first, second], ["invoices alpha", "weather"]);
    let elsewhere = json!({"path": "/skills/alpha", "task": "send invoices"});
    let error = tools.call("skills_ls", elsewhere).await;
    assert!(
        error.has_code(ToolErrorCode::InvalidArguments),
        "{}",
        error.text()
    );
}

#[tokio::test]
async fn an_accepted_skill_is_readable_and_not_writable() {
    let host = Host::new();
    host.skill("demo", "").script("demo", "a.py", "print(1)\n");
    let tools = host.tools();
    assert_eq!(
        tools
            .text("skills_read", json!({"path": "/skills/demo/scripts/a.py"}))
            .await,
        "print(1)\n"
    );
    for path in [
        "skills/demo/scripts/a.py",
        "skills/demo/SKILL.md",
        "skills/demo/new.txt",
    ] {
        let written = tools
            .call(
                "skills_write",
                json!({"path": path, "content": "print(2)\n"}),
            )
            .await;
        assert!(
            written.has_code(ToolErrorCode::ReadOnly),
            "{path}: {}",
            written.text()
        );
    }
    assert_eq!(
        std::fs::read_to_string(host.path("skills/demo/scripts/a.py")).unwrap(),
        "print(1)\n"
    );
    assert!(!host.path("skills/demo/new.txt").exists());
}

#[tokio::test]
async fn a_missing_path_gets_the_nearest_one() {
    let host = Host::new();
    host.file("workspace/Report.md", "x")
        .file("workspace/src/main.py", "x")
        .file("workspace/.env.local", "x");
    let tools = host.tools();
    for (tool, path, nearest) in [
        ("skills_read", "report.md", Some("/workspace/Report.md")),
        (
            "skills_read",
            "/workspace/src/main",
            Some("/workspace/src/main.py"),
        ),
        (
            "skills_read",
            "srcs/main.py",
            Some("/workspace/src/main.py"),
        ),
        ("skills_ls", "srcs", Some("/workspace/src")),
        ("skills_read", "report.md/x", None),
        ("skills_read", "env.local", None),
        ("skills_read", "zzz", None),
    ] {
        let outcome = tools.call(tool, json!({"path": path})).await;
        assert!(
            outcome.has_code(ToolErrorCode::NotFound),
            "{}",
            outcome.text()
        );
        let hint = outcome
            .own_text()
            .rsplit_once("did you mean ")
            .map(|(_, rest)| rest);
        assert_eq!(
            hint.map(|hint| hint.trim_matches(['`', '?'])),
            nearest,
            "{path}"
        );
    }
}

/// Instructions name files by their paths in the skill, or by their names.
#[tokio::test]
async fn a_path_of_a_loaded_skill_is_a_hint() {
    let host = Host::new();
    host.skill("kit", "")
        .file("skills/kit/FORMS.md", "forms")
        .file("skills/kit/references/deep.md", "deep")
        .file("skills/kit/a/twice.md", "1")
        .file("skills/kit/b/twice.md", "2")
        .file("skills/kit/assets/x`y.md", "quoted")
        .file("skills/kit/.hidden/secret.md", "hidden")
        .skill("other", "")
        .file("skills/other/only.md", "not loaded")
        .file("workspace/deep.md.bak", "near");
    let tools = host.tools();
    let session = |name: &str| CallContext::default().session(name);
    let load = json!({"name": "kit"});
    for context in [session("one"), CallContext::default()] {
        let loaded = tools.call_in("load_skill", load.clone(), &context).await;
        assert!(!loaded.is_error);
    }
    let read = async |path: &str, context: CallContext| {
        let found = tools
            .call_in("skills_read", json!({"path": path}), &context)
            .await;
        assert_eq!(found.code(), Some("not_found"), "{path}");
        let hint = found.structured["error"]["hint"]
            .as_str()
            .unwrap_or_default();
        hint.to_owned()
    };
    for (path, expected) in [
        ("FORMS.md", "did you mean `/skills/kit/FORMS.md`?"),
        ("./forms.md", "did you mean `/skills/kit/FORMS.md`?"),
        (
            "references/deep.md",
            "did you mean `/skills/kit/references/deep.md`?",
        ),
        ("deep.md", "did you mean `/skills/kit/references/deep.md`?"),
        // Two files have the name, the name would end the quotation, no listing shows it, or the
        // skill is not loaded.
        ("twice.md", ""),
        ("x`y.md", ""),
        ("secret.md", ""),
        ("only.md", ""),
        // A path that names the workspace means it.
        ("/workspace/FORMS.md", ""),
    ] {
        assert_eq!(read(path, session("one")).await, expected, "{path}");
        // Of no other session, and none without one.
        assert!(
            !read(path, session("two")).await.contains("/skills/"),
            "{path}"
        );
        assert!(
            !read(path, CallContext::default())
                .await
                .contains("/skills/"),
            "{path}"
        );
    }
    // What the workspace has is never taken from a skill.
    host.file("workspace/FORMS.md", "mine");
    let own = json!({"path": "FORMS.md"});
    let own = tools.call_in("skills_read", own, &session("one")).await;
    assert_eq!(own.text(), "mine");
    // A skill that models may not load any more is not named.
    host.skill("kit", "disable-model-invocation: true\n");
    let found = tools.call("search_skills", json!({})).await;
    assert_eq!(found.structured["total"], 1);
    assert_eq!(read("references/deep.md", session("one")).await, "");
}

//! The working directory of a command.

use serde_json::json;
use skills_runtime::Policy;
use skills_test_support::skip_without_sandbox;
use skills_tools::Mount;

use super::{bash, kit};
use crate::fixture::{Host, ToolOutputExt};

fn host() -> Host {
    let host = kit(&[]);
    host.file("workspace/sub/deep/x.txt", "x")
        .file("workspace/file.txt", "f")
        .file("outside/canary", "canary")
        .file("data/d.txt", "d");
    std::os::unix::fs::symlink("sub/deep", host.path("workspace/inward")).unwrap();
    std::os::unix::fs::symlink(host.path("outside"), host.path("workspace/outward")).unwrap();
    std::os::unix::fs::symlink("../outside", host.path("workspace/upward")).unwrap();
    std::os::unix::fs::symlink("/proc/self/root", host.path("workspace/root")).unwrap();
    std::os::unix::fs::symlink("nowhere", host.path("workspace/dangling")).unwrap();
    host
}

#[tokio::test]
async fn a_command_starts_in_its_working_directory() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = host.allowing(&["spawn:pwd"]);
    for (cwd, directory) in [
        ("", "/workspace"),
        (".", "/workspace"),
        ("workspace", "/workspace"),
        ("/workspace", "/workspace"),
        ("sub", "/workspace/sub"),
        ("./sub/deep", "/workspace/sub/deep"),
        ("workspace/sub/", "/workspace/sub"),
        ("inward", "/workspace/sub/deep"),
        ("skills/kit", "/skills/kit"),
        ("/skills/kit", "/skills/kit"),
    ] {
        assert_eq!(
            bash(&tools, "pwd", cwd).await.answer(),
            directory,
            "{cwd:?}"
        );
    }
}

#[tokio::test]
async fn a_mount_can_be_the_working_directory() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let runtime = host.runtime().policy(Policy::default().rule(spawn("ls")));
    let tools = host.wrap(
        host.builder(runtime)
            .mount(Mount::read_only("data", host.path("data")))
            .build()
            .unwrap(),
    );
    for cwd in ["data", "/data"] {
        assert_eq!(bash(&tools, "ls", cwd).await.answer(), "d.txt", "{cwd}");
    }
}

fn spawn(program: &str) -> skills_runtime::policy::Rule {
    use skills_runtime::policy::{Effect, Rule, RuleSource};
    Rule::parse(
        Effect::Allow,
        RuleSource::Invocation,
        &format!("spawn:{program}"),
    )
    .unwrap()
}

#[tokio::test]
async fn a_missing_working_directory_is_rejected_and_not_created() {
    let host = host();
    let tools = host.allowing(&["spawn", &host.write_rule()]);
    for (cwd, code) in [
        ("missing", "not_found"),
        ("missing/deeper", "not_found"),
        ("dangling", "not_found"),
        ("skills/kit/missing", "not_found"),
        ("file.txt", "not_a_directory"),
        ("file.txt/x", "not_a_directory"),
        ("skills/kit/SKILL.md", "not_a_directory"),
        ("outward", "permission_denied"),
        ("upward", "permission_denied"),
        ("root/etc", "permission_denied"),
        ("skills", "path_outside_mounts"),
        ("skills/none", "skill_not_found"),
    ] {
        let outcome = bash(&tools, "ls; cat canary", cwd).await;
        assert_eq!(outcome.code(), Some(code), "{cwd}: {}", outcome.text());
        assert!(
            !outcome.text().contains("canary"),
            "{cwd}: {}",
            outcome.text()
        );
    }
    assert!(!host.path("workspace/missing").exists() && !host.path("workspace/nowhere").exists());
}

#[tokio::test]
async fn an_invalid_working_directory_is_rejected() {
    let host = host();
    let tools = host.allowing(&["spawn"]);
    let long = "a/".repeat(3000);
    for cwd in [
        "..",
        "../",
        "./..",
        "skills/../../x",
        "./../x",
        "a/../../x",
        "sub/..",
        "/skills/../etc/passwd",
        "skills/kit//etc/passwd",
        "//etc",
        "workspace/%2e%2e/x",
        "..%2f",
        "..\\x",
        "C:\\x",
        "C:x",
        "\\\\host\\share",
        "~",
        "~root",
        "sub\0",
        "sub ",
        "sub.",
        "sub/.. ",
        "su\u{200b}b",
        "su\nb",
        &long,
    ] {
        let outcome = bash(&tools, "pwd", cwd).await;
        let is_refused = matches!(outcome.code(), Some("invalid_path" | "invalid_arguments"));
        assert!(
            is_refused && !outcome.text().chars().any(|c| c.is_control() && c != '\n'),
            "{cwd:?}: {}",
            outcome.text()
        );
    }
    for cwd in [
        "/",
        "/etc",
        "/tmp",
        "/proc/self/cwd",
        "/skillsX/f",
        "/workspace2/f",
        "/workspac",
    ] {
        let outcome = bash(&tools, "pwd", cwd).await;
        assert!(
            matches!(outcome.code(), Some("path_outside_mounts" | "invalid_path")),
            "{cwd:?}: {}",
            outcome.text()
        );
    }
    // The host path of the workspace is not accepted either, unless the mount allows it.
    let own = host.path("workspace").display().to_string();
    let arguments = json!({"command": "pwd", "cwd": own});
    let outcome = tools
        .set
        .call(
            "skills_bash",
            arguments,
            &skills_tools::CallContext::default(),
        )
        .await
        .unwrap();
    assert_eq!(outcome.code(), Some("path_outside_mounts"));
}

#[tokio::test]
async fn without_a_workspace_the_working_directory_is_required() {
    let host = host();
    let runtime = host
        .runtime()
        .policy(Policy::default().rule(spawn("pwd")))
        .build();
    let tools = host.wrap(skills_tools::ToolSet::builder(runtime).build().unwrap());
    for cwd in ["", "workspace", "sub"] {
        assert_eq!(
            bash(&tools, "pwd", cwd).await.code(),
            Some("path_outside_mounts"),
            "{cwd:?}"
        );
    }
    if !skip_without_sandbox() {
        assert_eq!(
            bash(&tools, "pwd", "skills/kit").await.answer(),
            "/skills/kit"
        );
    }
}

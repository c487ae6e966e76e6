//! Files with keys, which programs cannot open unless a permission names them.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use skills_runtime::policy::Answer;
use skills_test_support::skip_without_sandbox;

use super::{bash, kit};
use crate::fixture::{Host, ToolOutputExt, Tools};

const CANARY: &str = "canary-3ce1";

/// A workspace with keys, and a skill with a key beside its script.
fn host() -> Host {
    let host = kit(&[("own.py", "print(open('/skills/kit/.env').read())\n")]);
    for path in [
        "workspace/.env",
        "workspace/a/.aws/credentials",
        "workspace/server.pem",
        "workspace/.git/modules/a/config",
        "skills/kit/.env",
    ] {
        host.file(path, format!("KEY={CANARY}\n"));
    }
    host.file("workspace/.env.example", "KEY=example\n")
        .file("workspace/a/notes.txt", "KEY notes\n")
        .file("workspace/empty", "");
    symlink("../.env", host.path("workspace/a/link.txt")).unwrap();
    std::fs::hard_link(
        host.path("workspace/.env"),
        host.path("workspace/a/hard.txt"),
    )
    .unwrap();
    symlink("plain.txt", host.path("workspace/.env.local")).unwrap();
    host.file("workspace/plain.txt", format!("KEY={CANARY}\n"));
    host
}

async fn check_withheld(tools: &Tools, command: &str, cwd: &str) {
    let outcome = bash(tools, command, cwd).await;
    assert!(
        !outcome.text().contains(CANARY),
        "{command}: {}",
        outcome.text()
    );
}

#[tokio::test]
async fn no_command_prints_keys_without_a_question() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = host.tools();
    for command in [
        "cat .env",
        "diff -N . empty",
        "diff --new-file .env empty",
        "grep --rec KEY .",
        "grep --directories=recurse KEY .",
        "grep -r KEY a .env",
        "cat a/link.txt",
        "cat a/hard.txt",
        "cat .env.local plain.txt",
        "head -c 100 server.pem",
        "grep '' /workspace/.git/modules/a/config",
        "cat /skills/kit/.env",
        "tail -n 5 a/.aws/credentials",
        "cmp -l .env empty",
        "file -f .env",
        "md5sum --check .env",
        "wc --files0-from=.env",
    ] {
        check_withheld(&tools, command, "").await;
    }
    check_withheld(&tools, "cat credentials", "a/.aws").await;
    check_withheld(&tools, "grep -r KEY .", "/skills/kit").await;
    check_withheld(&tools, "cat .env", "/skills/kit").await;
}

#[tokio::test]
async fn a_search_reads_everything_beside_keys_and_names_them() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let outcome = bash(&host.tools(), "grep -rn KEY .", "").await;
    assert!(
        outcome.text().contains("./a/notes.txt:1:KEY notes")
            && outcome.text().contains("./.env.example:1:KEY=example")
            && outcome.text().contains("`/workspace/.env`")
            && outcome.text().contains("may hold keys"),
        "{}",
        outcome.text()
    );
}

#[tokio::test]
async fn a_command_that_names_a_key_asks_for_it_and_then_reads_it_alone() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    for (command, cwd) in [
        ("cat .env", ""),
        ("cat link.txt", "a"),
        ("cat .env.local", ""),
        ("cat .aws/credentials", "a"),
        ("cat /skills/kit/.env", ""),
    ] {
        let denying = host.runtime().approver(Arc::new(Answer::Deny));
        let tools = host.wrap(host.builder(denying).build().unwrap());
        let refused = bash(&tools, command, cwd).await;
        assert!(
            refused.text().contains("may hold KEYS") && !refused.text().contains("--allow"),
            "{}",
            refused.text()
        );
        assert!(
            refused.text().contains("may hold KEYS"),
            "{}",
            refused.text()
        );
        let approving = host.runtime().approver(Arc::new(Answer::AllowOnce));
        let tools = host.wrap(host.builder(approving).build().unwrap());
        let outcome = bash(&tools, command, cwd).await;
        assert!(
            outcome.answer().starts_with(&format!("KEY={CANARY}")),
            "{}",
            outcome.text()
        );
    }
}

/// No wider rule includes keys, and `--allow read:FILE` does.
#[tokio::test]
async fn only_a_rule_for_the_file_itself_allows_reading_keys() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let rule = |path: &str| format!("read:{}", host.path(path).display());
    for allowed in ["read".to_owned(), rule("workspace")] {
        check_withheld(&host.allowing(&[&allowed]), "cat .env", "").await;
    }
    let tools = host.allowing(&[&rule("workspace/.env")]);
    let outcome = bash(&tools, "cat .env", "").await;
    assert!(outcome.text().contains(CANARY), "{}", outcome.text());
    check_withheld(&tools, "cat server.pem", "").await;
}

/// A key beside the scripts of a skill is there for them.
#[tokio::test]
async fn a_script_reads_the_keys_of_its_own_skill() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let outcome = bash(&host.tools(), "python3 /skills/kit/scripts/own.py", "").await;
    assert!(outcome.text().contains(CANARY), "{}", outcome.text());
}

/// The tools for files read no other name of a key either.
#[tokio::test]
async fn a_hard_link_of_a_key_is_not_read_by_a_tool() {
    let host = host();
    std::fs::hard_link(
        host.path("workspace/a/notes.txt"),
        host.path("workspace/other.txt"),
    )
    .unwrap();
    let tools = host.tools();
    let read = async |path: &str| {
        let arguments = serde_json::json!({"path": path});
        tools.call("skills_read", arguments).await
    };
    let refused = read("a/hard.txt").await;
    assert_eq!(
        refused.code(),
        Some("permission_denied"),
        "{}",
        refused.text()
    );
    assert!(read("other.txt").await.text().contains("KEY notes"));
}

/// Other files have such names, too.
#[tokio::test]
async fn only_the_content_makes_some_files_keys() {
    let host = host();
    let private = format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{CANARY}\n");
    host.file("workspace/deploy_rsa", private)
        .file("workspace/a/README.asc", "= Title\n");
    symlink("../deploy_rsa", host.path("workspace/a/other.txt")).unwrap();
    let tools = host.tools();
    for (path, is_read) in [
        ("deploy_rsa", false),
        ("a/other.txt", false),
        ("a/README.asc", true),
    ] {
        let arguments = serde_json::json!({"path": path});
        let outcome = tools.call("skills_read", arguments).await;
        let expected = (!is_read).then_some("permission_denied");
        assert_eq!(outcome.code(), expected, "{path}: {}", outcome.text());
    }
    if !skip_without_sandbox() {
        check_withheld(&tools, "cat deploy_rsa a/other.txt", "").await;
        let outcome = bash(&tools, "cat a/README.asc", "").await;
        assert!(outcome.text().contains("= Title"), "{}", outcome.text());
    }
}

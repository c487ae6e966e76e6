//! Passing of arguments to programs.

use crate::fixture::ToolOutputExt;
use serde_json::json;
use skills_test_support::skip_without_sandbox;

use super::lines::{given, host as lines_host};
use super::{SHOW, bash, kit, printed, quoted, run};

/// Arguments that a shell or a careless program would interpret.
const WORDS: &[&str] = &[
    "",
    " ",
    "a b",
    "; id",
    "| id",
    "& id",
    "&& id",
    "$(id)",
    "`id`",
    "${HOME}",
    "$HOME",
    "a'b",
    "a\"b",
    "'",
    "\"",
    "\\",
    "\\n",
    "line\nline",
    "\r\n",
    "\t",
    "-",
    "--",
    "-c",
    "-rf",
    "--help",
    "--version",
    "--x=y",
    "=",
    "=x",
    "A=1",
    "*",
    "?",
    "[a]",
    "{a,b}",
    "~",
    "~root",
    "#",
    "!",
    "!!",
    "%s",
    "<x",
    ">x",
    "2>&1",
    "日本 é",
    "🚀",
    "../../etc/passwd",
    "/etc/passwd",
    "/workspace",
    "/workspace/a b",
    "/workspaces",
    "--out=/workspace/x",
    "/skills/kit/SKILL.md",
    "/skills/other",
    "x=/workspace/y",
];

#[tokio::test]
async fn each_argument_is_passed_unchanged() {
    if skip_without_sandbox() {
        return;
    }
    let host = kit(&[("show.py", SHOW)]);
    let tools = host.tools();
    let line = WORDS
        .iter()
        .map(|word| quoted(word))
        .collect::<Vec<_>>()
        .join(" ");
    let outcome = run(&tools, &format!("python scripts/show.py {line}")).await;
    assert_eq!(printed(&outcome), json!(WORDS));
}

#[tokio::test]
async fn the_first_argument_is_not_an_option_of_the_interpreter() {
    if skip_without_sandbox() {
        return;
    }
    let host = kit(&[("show.py", SHOW), ("show.sh", "printf '%s\\n' \"$@\"\n")]);
    let tools = host.tools();
    for word in ["-c", "--help", "-", "--", "-V", "-i"] {
        assert_eq!(
            printed(&run(&tools, &format!("scripts/show.py {word}")).await),
            json!([word])
        );
        assert_eq!(
            run(&tools, &format!("scripts/show.sh {word}"))
                .await
                .answer(),
            word
        );
    }
}

#[tokio::test]
async fn a_long_argument_is_passed_and_a_longer_command_rejected() {
    if skip_without_sandbox() {
        return;
    }
    let host = kit(&[(
        "size.py",
        "import sys\nprint([len(a) for a in sys.argv[1:]], set(sys.argv[1]))\n",
    )]);
    let tools = host.tools();
    let outcome = run(
        &tools,
        &format!("scripts/size.py '{}'", "&".repeat(60 * 1024)),
    )
    .await;
    assert_eq!(outcome.answer(), "[61440] {'&'}");
    let outcome = run(
        &tools,
        &format!("scripts/size.py '{}'", "x".repeat(200 * 1024)),
    )
    .await;
    assert_eq!(outcome.code(), Some("invalid_arguments"));
}

/// The words by which skills name their directory are that of the skill for which a command runs.
#[tokio::test]
async fn words_for_the_directory_of_a_skill_are_paths() {
    if skip_without_sandbox() {
        return;
    }
    let host = kit(&[("show.py", SHOW)]);
    let tools = host.tools();
    for command in [
        "python3 {baseDir}/scripts/show.py 'a b' '{baseDir}'",
        "python3 \"{baseDir}/scripts/show.py\" 'a b' '{baseDir}'",
        "python3 ${CLAUDE_SKILL_DIR}/scripts/show.py 'a b' '{baseDir}'",
        "python3 \"${CLAUDE_SKILL_DIR}\"/scripts/show.py 'a b' '{baseDir}'",
        "$CLAUDE_SKILL_DIR/scripts/show.py 'a b' '{baseDir}'",
        "${SKILL_DIR}/scripts/show.py 'a b' '{baseDir}'",
        "python \"$SKILL_DIR/scripts/show.py\" 'a b' '{baseDir}'",
    ] {
        let outcome = run(&tools, command).await;
        assert_eq!(printed(&outcome), json!(["a b", "{baseDir}"]), "{command}");
    }
    let host = lines_host();
    let tools = given(&host);
    let command = "cat {baseDir}/SKILL.md | head -1; cat \"$SKILL_DIR/SKILL.md\" | head -1";
    assert_eq!(run(&tools, command).await.answer(), "---\n---");
    for cwd in ["/skills/kit", "/skills/kit/scripts"] {
        assert_eq!(bash(&tools, command, cwd).await.answer(), "---\n---");
    }
    // Without a skill, and for what is not its directory, only a shell can know them.
    for (command, cwd) in [
        ("cat {baseDir}/SKILL.md", ""),
        ("cat $SKILL_DIR/SKILL.md", "src"),
        ("cat $SKILL_DIR/SKILL.md $HOME", "/skills/kit"),
    ] {
        let outcome = bash(&tools, command, cwd).await;
        assert!(outcome.is_error, "{command}: {}", outcome.text());
    }
    let outcome = bash(&tools, "touch {baseDir}/x", "/skills/kit").await;
    assert!(outcome.is_error && !host.path("skills/kit/x").exists());
}

/// A script that imports by its path in the skill runs however it is started.
#[tokio::test]
async fn a_script_is_named_as_a_python_module_of_the_skill() {
    if skip_without_sandbox() {
        return;
    }
    let show = format!("from scripts.lib import shown\n{SHOW}");
    let host = kit(&[("show.py", &show), ("lib.py", "shown = 1\n")]);
    host.file("skills/kit/tool/__main__.py", SHOW);
    let tools = host.tools();
    for command in [
        "python -m scripts.show a",
        "python3 -m scripts.show a",
        "uv run -m scripts.show a",
        "uv run python -m scripts.show a",
        "python scripts/show.py a",
        "python -m tool a",
    ] {
        assert_eq!(
            printed(&run(&tools, command).await),
            json!(["a"]),
            "{command}"
        );
    }
    // Other modules are programs of the host.
    let outcome = run(&tools, "python -m json.tool").await;
    assert_eq!(
        outcome.code(),
        Some("approval_required"),
        "{}",
        outcome.text()
    );
    let outcome = tools.call("skill__kit__show", json!({"args": ["b"]})).await;
    assert_eq!(outcome.answer().trim(), "[\"b\"]");
}

/// The same script under each of its names.
#[tokio::test]
async fn a_script_has_several_names_and_needs_no_permission() {
    if skip_without_sandbox() {
        return;
    }
    let host = kit(&[("show.py", SHOW), ("say.sh", "echo \"$1\"\n")]);
    let tools = host.tools();
    for start in [
        "",
        "./",
        "skills/kit/",
        "/skills/kit/",
        "python ",
        "python3 ",
        "python /skills/kit/",
        "python ./",
        "python -u ",
        "uv run ",
        "uv run --no-project /skills/kit/",
        "uv run --with requests python ",
        "poetry run python ",
    ] {
        assert_eq!(
            printed(&run(&tools, &format!("{start}scripts/show.py a")).await),
            json!(["a"]),
            "{start:?}"
        );
    }
    for start in ["", "bash ", "sh ", "sh ./"] {
        assert_eq!(
            run(&tools, &format!("{start}scripts/say.sh a"))
                .await
                .answer(),
            "a",
            "{start:?}"
        );
    }
}

#[tokio::test]
async fn a_shell_command_needs_permission_for_any_program() {
    let host = kit(&[("show.py", SHOW)]);
    let texts = [
        "tee a; tee b",
        "echo $HOME",
        "tee a | tee b",
        "echo a >| x",
        "A=1 env",
        "scripts/show.py $(id)",
        "scripts/show.py\nid",
        "cd /",
    ];
    for tools in [
        host.tools(),
        host.allowing(&["spawn:echo", "spawn:sh", "spawn:cat"]),
    ] {
        for text in texts {
            for (tool, arguments) in [
                ("skills_run", json!({"name": "kit", "command": text})),
                ("skills_bash", json!({"command": text})),
            ] {
                let outcome = tools.call(tool, arguments).await;
                assert_eq!(
                    outcome.code(),
                    Some("approval_required"),
                    "{tool} {text:?}: {}",
                    outcome.text()
                );
            }
        }
    }
    if skip_without_sandbox() {
        return;
    }
    let tools = host.allowing(&["spawn"]);
    assert_eq!(
        run(&tools, "printf 'a b' | tr a-z A-Z; echo \"$((1+1))\"")
            .await
            .answer(),
        "A B2"
    );
    assert_eq!(
        tools
            .answer(
                "skills_bash",
                json!({"command": "for i in 1 2; do echo $i; done"})
            )
            .await,
        "1\n2"
    );
}

#[tokio::test]
async fn invalid_commands_are_rejected_with_a_reason() {
    let host = kit(&[]);
    let tools = host.allowing(&["spawn"]);
    for command in ["", "   ", "echo 'a", "echo \"a", "echo \0"] {
        for (tool, arguments) in [
            ("skills_run", json!({"name": "kit", "command": command})),
            ("skills_bash", json!({"command": command})),
        ] {
            assert_eq!(
                tools.call(tool, arguments).await.code(),
                Some("invalid_arguments"),
                "{tool} {command:?}"
            );
        }
    }
}

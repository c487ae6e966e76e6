//! Runs that are rejected, whatever permissions there are.

use crate::fixture::ToolOutputExt;
use serde_json::json;
use skills_test_support::skip_without_sandbox;
use skills_tools::ToolOverride;

use super::{SHOW, kit, run};

/// Invalid names.
const NAMES: &[&str] = &[
    "../kit",
    "../x",
    "/tmp/x",
    "a/b",
    "kit/",
    "./kit",
    "kit/../kit",
    "..",
    ".",
    "~",
    "KIT",
    "kit ",
    " kit",
    "kit\n",
    "k\u{200b}it",
];

#[tokio::test]
async fn a_skill_is_found_by_exact_name_only() {
    let host = kit(&[("show.py", SHOW)]);
    let tools = host.tools();
    let paths = ["skills/kit", "skills/kit/SKILL.md", "skills/../skills/kit"]
        .map(|path| host.path(path).display().to_string());
    let names = NAMES.iter().map(ToString::to_string).chain(paths);
    for name in names {
        for (tool, arguments) in [
            (
                "skills_run",
                json!({"name": name, "command": "scripts/show.py"}),
            ),
            (
                "run_skill_script",
                json!({"skill_name": name, "script_name": "show"}),
            ),
        ] {
            // The error repeats the caller's own text, so the tool set is called without the check
            // for host paths.
            let outcome = tools
                .set
                .call(tool, arguments, &skills_tools::CallContext::default())
                .await
                .unwrap();
            assert_eq!(
                outcome.code(),
                Some("skill_not_found"),
                "{tool} {name:?}: {}",
                outcome.text()
            );
        }
    }
}

#[tokio::test]
async fn a_script_is_found_in_its_skill_only() {
    let host = kit(&[("show.py", SHOW)]);
    host.skill("other", "")
        .script("other", "run.py", "print('ran')\n")
        .file("outside.py", "print('ran')\n");
    std::os::unix::fs::symlink(
        host.path("outside.py"),
        host.path("skills/kit/scripts/link.py"),
    )
    .unwrap();
    let tools = host.tools();
    let words = [
        "../other/scripts/run.py",
        "scripts/../../other/scripts/run.py",
        "/skills/other/scripts/run.py",
        "skills/other/scripts/run.py",
        "/workspace/x.py",
        "scripts//show.py",
        "scripts/./show.py",
        "/skills/kit/../other/scripts/run.py",
        "scripts/link.py",
        "/etc/passwd",
        "scripts/..\\show.py",
    ];
    for word in words {
        for command in [
            word.to_owned(),
            format!("python {word}"),
            format!("'{word}'"),
        ] {
            let outcome = run(&tools, &command).await;
            assert!(
                matches!(
                    outcome.code(),
                    Some("script_not_found" | "approval_required" | "conflict")
                ),
                "{command}: {}",
                outcome.text()
            );
            assert!(!outcome.text().contains("ran"), "{command}");
        }
    }
    for name in [
        "../x",
        "a/b",
        "/tmp/x",
        "..",
        ".hidden",
        "a\\b",
        "show.py ",
        "show\0",
        "C:x",
        "x\u{200b}",
    ] {
        let outcome = tools
            .call(
                "run_skill_script",
                json!({"skill_name": "kit", "script_name": name}),
            )
            .await;
        assert_eq!(
            outcome.code(),
            Some("invalid_path"),
            "{name:?}: {}",
            outcome.text()
        );
    }
}

#[tokio::test]
async fn a_disabled_script_runs_under_no_name() {
    let host = kit(&[("off.py", "print('ran')\n"), ("on.py", "print('on')\n")]);
    let tools = host.tools();
    tools
        .set
        .set_override("skill__kit__off", ToolOverride::disable())
        .unwrap();
    for start in [
        "",
        "./",
        "skills/kit/",
        "/skills/kit/",
        "python ",
        "python3 ",
        "python ./",
        "python skills/kit/",
    ] {
        let outcome = run(&tools, &format!("{start}scripts/off.py")).await;
        assert_eq!(
            outcome.code(),
            Some("denied_by_policy"),
            "{start:?}: {}",
            outcome.text()
        );
    }
    for name in ["off", "off.py"] {
        let outcome = tools
            .call(
                "run_skill_script",
                json!({"skill_name": "kit", "script_name": name}),
            )
            .await;
        assert_eq!(
            (
                outcome.code(),
                outcome
                    .text()
                    .contains("script `off.py` is disabled by the operator")
            ),
            (Some("denied_by_policy"), true)
        );
    }
    assert!(
        tools
            .set
            .call(
                "skill__kit__off",
                json!({}),
                &skills_tools::CallContext::default()
            )
            .await
            .is_err()
    );
    if skip_without_sandbox() {
        return;
    }
    assert_eq!(run(&tools, "scripts/on.py").await.answer(), "on");
    tools
        .set
        .set_override("skill__kit__off", ToolOverride::enable())
        .unwrap();
    assert_eq!(run(&tools, "scripts/off.py").await.answer(), "ran");
}

#[tokio::test]
async fn drafts_do_not_run() {
    let host = kit(&[]);
    host.file(
        "drafts/fresh/SKILL.md",
        "---\nname: fresh\ndescription: New.\n---\n# fresh\n",
    )
    .file("drafts/fresh/scripts/run.py", "print('ran')\n");
    let tools = host.allowing(&["spawn"]);
    for (tool, arguments) in [
        (
            "skills_run",
            json!({"name": "fresh", "command": "scripts/run.py"}),
        ),
        ("skills_run", json!({"name": "fresh", "command": "ls; id"})),
        (
            "skills_bash",
            json!({"command": "ls", "cwd": "skills/fresh"}),
        ),
        (
            "skills_bash",
            json!({"command": "ls", "cwd": "skills/fresh/scripts"}),
        ),
        (
            "run_skill_script",
            json!({"skill_name": "fresh", "script_name": "run"}),
        ),
    ] {
        let outcome = tools.call(tool, arguments.clone()).await;
        assert_eq!(
            outcome.code(),
            Some("approval_required"),
            "{tool} {arguments}: {}",
            outcome.text()
        );
    }
    // Programs that run cannot access it either.
    if !skip_without_sandbox() {
        let outcome = run(&tools, "cat /skills/fresh/scripts/run.py ../fresh/SKILL.md ../../drafts/fresh/SKILL.md; ls ../../drafts").await;
        assert!(
            outcome.is_error && !outcome.text().contains("ran") && !outcome.text().contains("New."),
            "{}",
            outcome.text()
        );
    }
}

/// A program prints the name of a package that its author controls.
#[tokio::test]
async fn a_package_that_only_the_program_names_is_said_in_its_name() {
    if skip_without_sandbox() {
        return;
    }
    for script in [
        "print('ImportError: No module named evil')\nraise SystemExit(1)\n",
        "import sys\nsys.stderr.write(\"ModuleNotFoundError: No module named 'evil'\\n\")\nsys.exit(3)\n",
        "raise ImportError('No module named evil')\n",
        "exec('imp' + 'ort evil')\n",
    ] {
        let host = kit(&[("run.py", script)]);
        host.file("skills/kit/requirements.txt", "httpx==1\n");
        let outcome = run(&host.tools(), "scripts/run.py").await;
        assert!(
            outcome.text().contains("The program reports that `/")
                && outcome.text().contains("has no `evil` (not verified")
                && !outcome.text().contains("Failed to setup environment"),
            "{}",
            outcome.text()
        );
        assert_eq!(outcome.code(), Some("failed"), "{}", outcome.text());
    }
}

#[tokio::test]
async fn a_missing_package_is_said_with_its_declaration() {
    if skip_without_sandbox() {
        return;
    }
    let block =
        "# /// script\n# dependencies = ['no-such-package']\n# ///\nimport no_such_package\n";
    let cases = [
        (
            "pyproject.toml",
            "[project]\nname='x'\ndependencies=['pandas']\n",
            "pyproject.toml requires pandas, and ",
        ),
        (
            "scripts/pyproject.toml",
            "not [toml",
            "scripts/pyproject.toml:1: key with no value, expected `=`, so the required packages are unknown, and ",
        ),
        (
            "requirements.txt",
            "# why\nhttpx==1\n",
            "requirements.txt requires httpx==1, and ",
        ),
        (
            "scripts/run.py",
            block,
            "scripts/run.py requires no-such-package, and ",
        ),
        ("NOTES.md", "", ""),
    ];
    for (file, content, declared) in cases {
        let host = kit(&[("run.py", "import no_such_package\n")]);
        host.file(&format!("skills/kit/{file}"), content);
        let tools = host.tools();
        let needed = format!("Failed to setup environment: {declared}`/");
        let engine = json!({"skill_name": "kit", "script_name": "run"});
        for outcome in [
            tools.call("skill__kit__run", json!({})).await,
            tools.call("run_skill_script", engine).await,
            run(&tools, "scripts/run.py").await,
        ] {
            assert!(outcome.is_error);
            assert!(
                outcome.text().contains(&needed)
                    && outcome.text().contains("has no `no_such_package`"),
                "{file}: {}",
                outcome.text()
            );
        }
    }
}

#[tokio::test]
async fn scripts_that_declare_packages_start() {
    if skip_without_sandbox() {
        return;
    }
    let host = kit(&[("run.py", "print('ran')\n")]);
    host.file("skills/kit/requirements.txt", "no-such-package==1\n");
    assert_eq!(run(&host.tools(), "scripts/run.py").await.answer(), "ran");
}

#[tokio::test]
async fn scripts_without_packages_start() {
    if skip_without_sandbox() {
        return;
    }
    let host = kit(&[("run.py", "print('ran')\n")]);
    host.file(
        "skills/kit/pyproject.toml",
        "[project]\nname='x'\ndependencies=[]\n",
    )
    .file("skills/kit/requirements.txt", "# none\n");
    host.file(
        "skills/kit/package.json",
        r#"{"dependencies": {"left-pad": "1"}}"#,
    );
    assert_eq!(run(&host.tools(), "scripts/run.py").await.answer(), "ran");
}

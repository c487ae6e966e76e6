//! Tests of `validate` (lenient and for clients), `list --roots`, `show --why`, `new` and `doctor`.

use std::path::Path;

use insta::{assert_json_snapshot, assert_snapshot};

use crate::fixture::Fixture;
use crate::skills::{examples, skills};

fn path(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn validate_reports_all_findings_at_once() {
    let fixture = Fixture::new();
    let text = "---\nname: My_Skill\ndescription: Use when: asked\nversion: 1.0\nallowed-tools: 7\n---\nSee [guide](references/guide.md) and `scripts/run.py`.\n";
    fixture.file("my-skill/SKILL.md", text).file(
        "my-skill/agents/openai.yaml",
        "interface:\n  brand_color: blue\n",
    );
    fixture
        .file("broken/SKILL.md", "---\nname: [a\nother: }\n---\n")
        .skill("good", "good");
    let run = |arguments: &[&str]| fixture.run("", arguments).page();
    assert_snapshot!(
        "validate_lenient",
        run(&["validate", "my-skill", "broken/SKILL.md", "good"])
    );
    assert_snapshot!(
        "validate_codex",
        run(&["validate", "my-skill", "--profile", "codex"])
    );
    assert_snapshot!(
        "validate_claude_api",
        run(&["validate", "my-skill", "--profile", "claude-api"])
    );
    assert_json_snapshot!(
        "validate_json",
        fixture
            .run("", &["validate", "my-skill", "broken", "--json"])
            .json()
    );
    assert_snapshot!(run(&["validate", "absent"]), @"
    exit 1
    -- stderr
    error: `absent` not found
    ");
    assert_eq!(
        fixture
            .run("", &["validate", "good", "--profile", "unknown"])
            .code,
        2
    );
    assert_eq!(
        fixture
            .run("", &["validate", "good", "--profile", "spec"])
            .code,
        0
    );
    assert_eq!(fixture.run("good", &["validate", "."]).code, 0);
}

#[test]
fn the_examples_are_valid() {
    for name in [
        "code-review",
        "csv-check",
        "incident-handbook",
        "release-notes",
        "sandbox-probe",
        "text-stats",
        "weather",
    ] {
        let done = skills(&["validate", &format!("examples/skills/{name}"), "--json"]);
        assert_eq!(
            (done.code, &done.json()["results"][0]["warnings"]),
            (0, &serde_json::json!([])),
            "{name}"
        );
    }
}

/// A project below a git root, with its own skills and those of the user.
fn project() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .file("repo/.git/HEAD", "")
        .file("repo/sub/readme", "")
        .skill("repo/.agents/skills/pdf", "pdf");
    fixture
        .skill("repo/sub/.claude/skills/near", "near")
        .skill("home/.agents/skills/pdf", "pdf")
        .skill("home/.claude/skills/mine", "mine");
    fixture
}

#[test]
fn skills_of_the_project_come_before_those_of_the_user() {
    let fixture = project();
    assert_snapshot!(
        "list_project",
        fixture.run("repo/sub", &["list", "--trust-project"]).page()
    );
    assert_snapshot!(
        "list_long",
        fixture
            .run("repo/sub", &["list", "--long", "--trust-project"])
            .page()
    );
    assert_snapshot!(
        "roots",
        fixture
            .run("repo/sub", &["list", "--roots", "--trust-project"])
            .page()
    );
    assert_snapshot!(
        "list_codex",
        fixture
            .run(
                "repo/sub",
                &["list", "--profile", "codex", "--trust-project"]
            )
            .page()
    );
    let json = fixture
        .run(
            "repo/sub",
            &[
                "list",
                "--roots",
                "--json",
                "--profile",
                "claude",
                "--trust-project",
            ],
        )
        .json();
    assert_json_snapshot!("roots_json", json);
}

#[test]
fn an_untrusted_project_is_blocked() {
    let fixture = project();
    assert_snapshot!("list_untrusted", fixture.run("repo/sub", &["list"]).page());
    let shown = fixture.run("repo/sub", &["show", "near"]);
    assert_snapshot!(shown.page(), @"
    exit 1
    -- stderr
    error: skill `near` (PLACE/repo/sub/.claude/skills/near/SKILL.md) is inactive: its root is not trusted
    help: trust its project with `skills trust --project`, or for one command with `--trust-project`
    ");
    assert!(!fixture.run("repo/sub", &["prompt"]).stdout.contains("near"));
}

#[test]
fn messages_about_an_untrusted_project_name_the_way_to_trust_it() {
    let fixture = project();
    let commands: [&[&str]; 9] = [
        &["run", "near"],
        &["policy", "check", "near"],
        &["trust", "near"],
        &["prompt", "load", "near"],
        &["show", "--why", "near"],
        &["list", "--long"],
        &["doctor"],
        &["call", "load_skill", r#"{"name": "near"}"#],
        &["call", "skills_run", r#"{"name": "near", "command": "x"}"#],
    ];
    for command in commands {
        let page = fixture.run("repo/sub", command).page();
        assert!(
            page.contains("`skills trust --project`"),
            "{command:?}: {page}"
        );
    }
}

#[test]
fn disabled_skills_are_listed_with_their_rule() {
    let fixture = project();
    assert_snapshot!(
        "list_disabled",
        fixture
            .run(
                "repo/sub",
                &[
                    "list",
                    "--disable",
                    "m*",
                    "--disable",
                    "absent",
                    "--trust-project"
                ]
            )
            .page()
    );
}

#[test]
fn explain() {
    let fixture = project();
    fixture
        .file("repo/.agents/skills/bad/SKILL.md", "no")
        .skill("repo/.agents/skills/.hidden/h", "h");
    let mut text = String::new();
    for query in ["pdf", "bad", "pfd", "near", "../.agents/skills/.hidden/h"] {
        text.push_str(&format!(
            "$ show --why {query}\n{}\n",
            fixture
                .run("repo/sub", &["show", "--why", query, "--trust-project"])
                .page()
        ));
    }
    assert_snapshot!(text);
    assert_eq!(
        fixture
            .run(
                "repo/sub",
                &["show", "--why", "pdf", "--json", "--trust-project"]
            )
            .json()["status"],
        "model-invocable"
    );
}

#[test]
fn new_skills_are_valid_for_every_client() {
    let fixture = Fixture::new();
    fixture.file("skills/readme", "");
    let done = fixture.run(
        "skills",
        &[
            "new",
            "quarterly-report",
            "--description",
            "It's: new # really",
        ],
    );
    assert_snapshot!(done.page(), @"
    exit 0
    -- stdout
    ./quarterly-report/SKILL.md
    -- stderr
    next: describe in `description` what it does and when to use it, then run `skills validate ./quarterly-report`
    ");
    assert_eq!(
        fixture
            .run("skills", &["compat", "validate", "quarterly-report"])
            .code,
        0
    );
    for name in ["true", "123", "1e3", "null"] {
        fixture.run("skills", &["new", name]);
        let checked = fixture.run("skills", &["validate", name, "--json"]).json();
        assert_eq!(
            checked["results"][0]["warnings"],
            serde_json::json!([]),
            "{name}"
        );
    }
    for profile in [
        "spec",
        "claude",
        "claude-api",
        "codex",
        "gemini",
        "copilot",
        "openclaw",
        "goose",
        "deepagents",
        "agent-framework",
    ] {
        assert_eq!(
            fixture
                .run(
                    "skills",
                    &["validate", "quarterly-report", "--profile", profile]
                )
                .code,
            0,
            "{profile}"
        );
    }
    assert_snapshot!(fixture.run("skills", &["new", "quarterly-report"]).page(), @"
    exit 2
    -- stderr
    error: `./quarterly-report` already exists
    ");
    assert_snapshot!(fixture.run("skills", &["new", "My Skill"]).page(), @"
    exit 2
    -- stderr
    error: Skill name 'My Skill' must be lowercase
    help: did you mean `my-skill`?
    ");
    assert_eq!(fixture.run("skills", &["new", "../out"]).code, 2);
    assert_eq!(
        fixture.run("skills", &["new", "a", "--in", "absent"]).code,
        2
    );
    assert!(!fixture.path().join("out").exists());
}

#[test]
fn doctor_reports_all_problems() {
    let fixture = Fixture::new();
    let needs = "---\nname: needs\ndescription: d\nmetadata: {openclaw: {os: [plan9], requires: {bins: [no-such-program], anyBins: [neither, nor], env: [NO_SUCH_VARIABLE]}}}\n---\n[gone](references/gone.md)\n";
    fixture
        .file("skills/needs/SKILL.md", needs)
        .file("skills/bad/SKILL.md", "no")
        .skill("skills/deep/2/3/4/5/6/7", "deep");
    fixture.file(
        "skills/odd/SKILL.md",
        "---\ndescription: d\nhooks: 7\n---\n",
    );
    let done = fixture.run(
        "",
        &["doctor", "--root", &path(&fixture.path().join("skills"))],
    );
    let until_sandboxes: Vec<&str> = done
        .stdout
        .lines()
        .take_while(|line| !line.starts_with("scripts"))
        .collect();
    assert_snapshot!(until_sandboxes.join("\n"));
    assert_eq!(done.code, 1);
    let sandboxes: Vec<&str> = done
        .stdout
        .lines()
        .filter(|line| line.starts_with("scripts") || line.starts_with("wasm"))
        .collect();
    assert_eq!(sandboxes.len(), 2, "{}", done.stdout);
    let json = fixture
        .run(
            "",
            &[
                "doctor",
                "--json",
                "--root",
                &path(&fixture.path().join("skills")),
            ],
        )
        .json();
    let codes: Vec<&str> = json["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["code"].as_str().unwrap())
        .collect();
    assert_eq!(
        codes,
        [
            "broken-link",
            "requirement",
            "requirement",
            "requirement",
            "requirement",
            "restriction-unread"
        ]
    );
    assert_eq!(json["sandboxes"][1]["backend"], "wasm");
}

#[cfg(target_os = "linux")]
#[test]
fn doctor_succeeds_without_problems() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new();
    fixture.skill("skills/good", "good");
    let done = fixture.run(
        "",
        &["doctor", "--root", &path(&fixture.path().join("skills"))],
    );
    assert_eq!(done.code, 0, "{}", done.page());
}

/// Paths and texts of a skill cannot produce a line that looks like output of the command.
#[test]
fn validation_results_cannot_be_forged() {
    let fixture = Fixture::new();
    fixture.file("a\nValid skill: b\u{1b}]0;x\u{7}/SKILL.md", "no");
    let done = fixture.run("", &["validate", "a\nValid skill: b\u{1b}]0;x\u{7}"]);
    assert_eq!(done.stdout, "");
    assert!(
        !done.stderr.contains("\nValid skill") && !done.stderr.contains('\u{1b}'),
        "{}",
        done.stderr
    );
}

#[test]
fn a_missing_path_is_one_of_the_results() {
    let fixture = Fixture::new();
    fixture.skill("good", "good");
    let json = fixture.run("", &["validate", "good", "absent", "--json"]);
    assert_eq!(
        (json.code, json.json()["results"].as_array().unwrap().len()),
        (1, 2)
    );
}

#[test]
fn linked_skill_files_need_an_option() {
    let fixture = Fixture::new();
    fixture
        .file("dotfiles/note.md", "---\nname: note\ndescription: d\n---\n")
        .file("skills/note/data.txt", "");
    std::os::unix::fs::symlink(
        fixture.path().join("dotfiles/note.md"),
        fixture.path().join("skills/note/SKILL.md"),
    )
    .unwrap();
    let root = path(&fixture.path().join("skills"));
    assert_eq!(
        fixture.run("", &["list", "--json", "--root", &root]).json()["skills"],
        serde_json::json!([])
    );
    let followed = fixture
        .run(
            "",
            &["list", "--json", "--root", &root, "--follow-skill-links"],
        )
        .json();
    assert_eq!(followed["skills"][0]["name"], "note");
    assert_eq!(
        fixture
            .run(
                "",
                &[
                    "show",
                    "skills/note/SKILL.md",
                    "--root",
                    &root,
                    "--follow-skill-links"
                ]
            )
            .code,
        0
    );
    let disabled = fixture.run(
        "",
        &[
            "list",
            "--long",
            "--root",
            &root,
            "--follow-skill-links",
            "--disable",
            "skills/note/SKILL.md",
        ],
    );
    assert!(
        disabled.stderr.contains("disabled by rule"),
        "{}",
        disabled.page()
    );
}

/// A declared restriction that cannot be parsed denies the run, as a policy would.
#[test]
fn a_skill_with_an_unparsed_restriction_does_not_run() {
    let fixture = Fixture::new();
    fixture
        .file(
            "skills/odd/SKILL.md",
            "---\nname: odd\ndescription: d\nhooks: 7\n---\n",
        )
        .file("skills/odd/scripts/run.sh", "echo ran\n");
    let root = path(&fixture.path().join("skills"));
    let done = fixture.run("", &["run", "odd", "--root", &root]);
    assert_snapshot!(done.page(), @"
    exit 125
    -- stderr
    error: PLACE/skills/odd/SKILL.md:4: cannot run skill `odd`: invalid `hooks`
    ");
    assert!(
        !fixture
            .run("", &["prompt", "--root", &root])
            .stdout
            .contains("odd")
    );
    assert_eq!(examples(&["list"]).code, 0);
}

#[cfg(unix)]
#[test]
fn a_skill_that_cannot_be_written_completely_is_not_left_behind() {
    let fixture = Fixture::new();
    let scratch = tempfile::tempdir().unwrap();
    let command = crate::skills::command(&["new", "half"], scratch.path());
    // As on a full disk, a file can be created, and a write to it fails.
    let limited = "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"";
    let output = std::process::Command::new("/bin/sh")
        .args(["-c", limited])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .env("HOME", scratch.path())
        .current_dir(fixture.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("cannot create `./half/SKILL.md`"),
        "{stderr}"
    );
    assert!(!fixture.path().join("half").exists());
}

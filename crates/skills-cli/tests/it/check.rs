//! `validate` leniently and for clients, `roots`, `explain`, `new`, `doctor`.

use std::path::{Path, PathBuf};

use insta::{assert_json_snapshot, assert_snapshot};

use crate::skills::{Done, command, examples, skills};

/// A directory of skills and the home of a user beside it.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn skill(&self, directory: &str, name: &str) -> &Self {
        self.file(
            &format!("{directory}/SKILL.md"),
            &format!("---\nname: {name}\ndescription: About {name}.\n---\nBody\n"),
        )
    }

    /// Runs a command in a directory of the place, with `home` as the home.
    fn run(&self, directory: &str, arguments: &[&str]) -> Done {
        let scratch = tempfile::tempdir().unwrap();
        let mut command = command(arguments, scratch.path());
        let home = self.path().join("home");
        std::fs::create_dir_all(&home).unwrap();
        let output = command
            .current_dir(self.path().join(directory))
            .env("HOME", home)
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| {
            String::from_utf8(bytes)
                .unwrap()
                .replace(self.path().to_str().unwrap(), "PLACE")
        };
        Done {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

fn path(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn validate_tells_everything_at_once() {
    let place = Place::new();
    let text = "---\nname: My_Skill\ndescription: Use when: asked\nversion: 1.0\nallowed-tools: 7\n---\nSee [guide](references/guide.md) and `scripts/run.py`.\n";
    place.file("my-skill/SKILL.md", text).file(
        "my-skill/agents/openai.yaml",
        "interface:\n  brand_color: blue\n",
    );
    place
        .file("broken/SKILL.md", "---\nname: [a\nother: }\n---\n")
        .skill("good", "good");
    let run = |arguments: &[&str]| place.run("", arguments).page();
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
        place
            .run("", &["validate", "my-skill", "broken", "--json"])
            .json()
    );
    assert_snapshot!(run(&["validate", "absent"]), @"
    exit 2
    -- stderr
    error: absent: no such file or directory
    ");
    assert_eq!(
        place
            .run("", &["validate", "good", "--profile", "nobody"])
            .code,
        2
    );
    assert_eq!(
        place
            .run("", &["validate", "good", "--profile", "spec"])
            .code,
        0
    );
    assert_eq!(place.run("good", &["validate", "."]).code, 0);
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

/// A project below a git root, with skills of its own and of the user.
fn project() -> Place {
    let place = Place::new();
    place
        .file("repo/.git/HEAD", "")
        .file("repo/sub/readme", "")
        .skill("repo/.agents/skills/pdf", "pdf");
    place
        .skill("repo/sub/.claude/skills/near", "near")
        .skill("home/.agents/skills/pdf", "pdf")
        .skill("home/.claude/skills/mine", "mine");
    place
}

#[test]
fn skills_of_the_project_come_before_those_of_the_user() {
    let place = project();
    assert_snapshot!(
        "list_project",
        place.run("repo/sub", &["list", "--trust-project"]).page()
    );
    assert_snapshot!(
        "list_long",
        place
            .run("repo/sub", &["list", "--long", "--trust-project"])
            .page()
    );
    assert_snapshot!(
        "roots",
        place.run("repo/sub", &["roots", "--trust-project"]).page()
    );
    assert_snapshot!(
        "list_codex",
        place
            .run(
                "repo/sub",
                &["list", "--profile", "codex", "--trust-project"]
            )
            .page()
    );
    let json = place
        .run(
            "repo/sub",
            &["roots", "--json", "--profile", "claude", "--trust-project"],
        )
        .json();
    assert_json_snapshot!("roots_json", json);
}

#[test]
fn an_untrusted_project_is_blocked() {
    let place = project();
    assert_snapshot!("list_untrusted", place.run("repo/sub", &["list"]).page());
    let shown = place.run("repo/sub", &["show", "near"]);
    assert_snapshot!(shown.page(), @r#"
    exit 1
    -- stderr
    error: the skill "near" is there (PLACE/repo/sub/.claude/skills/near/SKILL.md) and not used: its root is not trusted
    "#);
    assert!(!place.run("repo/sub", &["prompt"]).stdout.contains("near"));
}

#[test]
fn disabled_skills_are_named_with_their_rule() {
    let place = project();
    assert_snapshot!(
        "list_disabled",
        place
            .run(
                "repo/sub",
                &[
                    "list",
                    "--disable",
                    "m*",
                    "--disable",
                    "nobody",
                    "--trust-project"
                ]
            )
            .page()
    );
}

#[test]
fn explain() {
    let place = project();
    place
        .file("repo/.agents/skills/bad/SKILL.md", "no")
        .skill("repo/.agents/skills/.hidden/h", "h");
    let mut text = String::new();
    for query in ["pdf", "bad", "pfd", "near", "../.agents/skills/.hidden/h"] {
        text.push_str(&format!(
            "$ explain {query}\n{}\n",
            place
                .run("repo/sub", &["explain", query, "--trust-project"])
                .page()
        ));
    }
    assert_snapshot!(text);
    assert_eq!(
        place
            .run("repo/sub", &["explain", "pdf", "--json", "--trust-project"])
            .json()["verdict"],
        "offered"
    );
}

#[test]
fn new_skills_are_valid_for_everybody() {
    let place = Place::new();
    place.file("skills/readme", "");
    let done = place.run(
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
    next: say in `description` what it does and when to use it, then `skills validate ./quarterly-report`
    ");
    assert_eq!(
        place
            .run("skills", &["validate", "--strict", "quarterly-report"])
            .code,
        0
    );
    for name in ["true", "123", "1e3", "null"] {
        place.run("skills", &["new", name]);
        let checked = place.run("skills", &["validate", name, "--json"]).json();
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
            place
                .run(
                    "skills",
                    &["validate", "quarterly-report", "--profile", profile]
                )
                .code,
            0,
            "{profile}"
        );
    }
    assert_snapshot!(place.run("skills", &["new", "quarterly-report"]).page(), @"
    exit 2
    -- stderr
    error: ./quarterly-report: there is something already
    ");
    assert_snapshot!(place.run("skills", &["new", "My Skill"]).page(), @"
    exit 2
    -- stderr
    error: Skill name 'My Skill' must be lowercase; `my-skill` would do
    ");
    assert_eq!(place.run("skills", &["new", "../out"]).code, 2);
    assert_eq!(place.run("skills", &["new", "a", "--in", "absent"]).code, 2);
    assert!(!place.path().join("out").exists());
}

#[test]
fn doctor_finds_what_hinders() {
    let place = Place::new();
    let needs = "---\nname: needs\ndescription: d\nmetadata: {openclaw: {os: [plan9], requires: {bins: [no-such-program], anyBins: [neither, nor], env: [NO_SUCH_VARIABLE]}}}\n---\n[gone](references/gone.md)\n";
    place
        .file("skills/needs/SKILL.md", needs)
        .file("skills/bad/SKILL.md", "no")
        .skill("skills/deep/2/3/4/5/6/7", "deep");
    place.file(
        "skills/odd/SKILL.md",
        "---\ndescription: d\nhooks: 7\n---\n",
    );
    let done = place.run(
        "",
        &["doctor", "--root", &path(&place.path().join("skills"))],
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
    let json = place
        .run(
            "",
            &[
                "doctor",
                "--json",
                "--root",
                &path(&place.path().join("skills")),
            ],
        )
        .json();
    let codes: Vec<&str> = json["troubles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|trouble| trouble["code"].as_str().unwrap())
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
fn doctor_is_content_with_a_good_root() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let place = Place::new();
    place.skill("skills/good", "good");
    let done = place.run(
        "",
        &["doctor", "--root", &path(&place.path().join("skills"))],
    );
    assert_eq!(done.code, 0, "{}", done.page());
}

/// Paths and texts of others make no line of ours.
#[test]
fn verdicts_cannot_be_forged() {
    let place = Place::new();
    place.file("a\nValid skill: b\u{1b}]0;x\u{7}/SKILL.md", "no");
    let done = place.run("", &["validate", "a\nValid skill: b\u{1b}]0;x\u{7}"]);
    assert_eq!(done.stdout, "");
    assert!(
        !done.stderr.contains("\nValid skill") && !done.stderr.contains('\u{1b}'),
        "{}",
        done.stderr
    );
}

#[test]
fn mistakes_are_documents_too() {
    let wrong = skills(&["--json", "list", "--bogus"]);
    assert_eq!(
        (wrong.code, wrong.json()["error"]["code"].as_str()),
        (2, Some("usage"))
    );
    let place = Place::new();
    place.skill("good", "good");
    let json = place.run("", &["validate", "good", "absent", "--json"]);
    assert_eq!(
        (json.code, json.json()["results"].as_array().unwrap().len()),
        (2, 2)
    );
}

#[test]
fn linked_skill_files_are_a_switch() {
    let place = Place::new();
    place
        .file("dotfiles/note.md", "---\nname: note\ndescription: d\n---\n")
        .file("skills/note/data.txt", "");
    std::os::unix::fs::symlink(
        place.path().join("dotfiles/note.md"),
        place.path().join("skills/note/SKILL.md"),
    )
    .unwrap();
    let root = path(&place.path().join("skills"));
    assert_eq!(
        place.run("", &["list", "--json", "--root", &root]).json()["skills"],
        serde_json::json!([])
    );
    let followed = place
        .run(
            "",
            &["list", "--json", "--root", &root, "--follow-skill-links"],
        )
        .json();
    assert_eq!(followed["skills"][0]["name"], "note");
    assert_eq!(
        place
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
    let disabled = place.run(
        "",
        &[
            "list",
            "--root",
            &root,
            "--follow-skill-links",
            "--disable",
            "skills/note/SKILL.md",
        ],
    );
    assert!(
        disabled.stderr.contains("disabled by the rule"),
        "{}",
        disabled.page()
    );
}

/// A declared restriction that cannot be read denies the run, as a policy would.
#[test]
fn nothing_runs_while_a_restriction_is_unread() {
    let place = Place::new();
    place
        .file(
            "skills/odd/SKILL.md",
            "---\nname: odd\ndescription: d\nhooks: 7\n---\n",
        )
        .file("skills/odd/scripts/run.sh", "echo ran\n");
    let root = path(&place.path().join("skills"));
    let done = place.run("", &["run", "odd", "--root", &root]);
    assert_snapshot!(done.page(), @r#"
    exit 3
    -- stderr
    error: PLACE/skills/odd/SKILL.md: nothing of the skill "odd" runs until `hooks` is mended, which could not be read
    "#);
    assert!(
        !place
            .run("", &["prompt", "--root", &root])
            .stdout
            .contains("odd")
    );
    assert_eq!(examples(&["list"]).code, 0);
}

//! `skills_write`.

use super::*;
use crate::files::read::sha256;

#[test]
fn a_write_creates_directories_and_reports_the_result() {
    let fixture = Fixture::new();
    let outcome = fixture
        .write(json!({"path": "output/deep/result.txt", "content": "héllo"}))
        .unwrap();
    assert_eq!(
        outcome.text(),
        "Successfully wrote 6 bytes to '/workspace/output/deep/result.txt'"
    );
    assert_eq!(outcome.files, ["/workspace/output/deep/result.txt"]);
    let expected = json!({"path": "/workspace/output/deep/result.txt", "bytes_written": 6, "sha256": sha256("héllo".as_bytes()), "created": true});
    assert_eq!(outcome.structured, expected);
    let again = fixture
        .write(json!({"path": "output/deep/result.txt", "content": "AAE=", "encoding": "base64"}))
        .unwrap();
    assert_eq!(again.structured["created"], json!(false));
    assert_eq!(
        fixture.top.read("work/output/deep/result.txt").unwrap(),
        [0, 1]
    );
    assert_eq!(
        fixture.top.read_dir("work/output/deep").unwrap().count(),
        1,
        "no file of the writer is left"
    );
}

#[test]
fn write_modes_treat_existing_files_as_documented() {
    let fixture = Fixture::new();
    let write = |mode: &str| fixture.write(json!({"path": "a", "content": "x", "mode": mode}));
    assert_eq!(write("create").unwrap().structured["created"], json!(true));
    assert_eq!(code(write("create")), ToolErrorCode::AlreadyExists);
    let appended = write("append").unwrap().structured;
    assert_eq!(
        (&appended["sha256"], &appended["created"]),
        (&json!(sha256(b"xx")), &json!(false))
    );
    assert_eq!(fixture.text("work/a"), "xx");
    done(fixture.write(json!({"path": "new", "content": "y", "mode": "append"})));
    assert_eq!(fixture.text("work/new"), "y");
}

#[test]
fn rejected_writes_keep_the_old_file() {
    let fixture = Fixture::new();
    fixture.top.write("work/a", "old").unwrap();
    fixture.top.create_dir("work/d").unwrap();
    let cases = [
        (
            json!({"path": "a", "content": "x".repeat((1 << 20) + 1)}),
            ToolErrorCode::TooLarge,
        ),
        (
            json!({"path": "a", "content": "x", "if_match": sha256(b"other")}),
            ToolErrorCode::Conflict,
        ),
        (
            json!({"path": "gone", "content": "x", "if_match": sha256(b"old")}),
            ToolErrorCode::Conflict,
        ),
        (
            json!({"path": "e/f/gone", "content": "x", "if_match": sha256(b"old")}),
            ToolErrorCode::Conflict,
        ),
        (
            json!({"path": "a", "content": "?", "encoding": "base64"}),
            ToolErrorCode::InvalidArguments,
        ),
        (
            json!({"path": "a/b", "content": "x"}),
            ToolErrorCode::NotADirectory,
        ),
        (
            json!({"path": "d", "content": "x"}),
            ToolErrorCode::IsADirectory,
        ),
        (
            json!({"path": "", "content": "x"}),
            ToolErrorCode::IsADirectory,
        ),
        (
            json!({"path": "/skills", "content": "x"}),
            ToolErrorCode::IsADirectory,
        ),
        (
            json!({"path": "data/facts.txt", "content": "x"}),
            ToolErrorCode::ReadOnly,
        ),
        (
            json!({"path": "/skills/pdf/SKILL.md", "content": PDF}),
            ToolErrorCode::ReadOnly,
        ),
        (
            json!({"path": "/skills/none/x", "content": "x"}),
            ToolErrorCode::SkillNotFound,
        ),
        (
            json!({"path": ".git/hooks/pre-commit", "content": "x"}),
            ToolErrorCode::PermissionDenied,
        ),
        (
            json!({"path": "sub/.ENV", "content": "x"}),
            ToolErrorCode::PermissionDenied,
        ),
        (
            json!({"path": ".bashrc", "content": "x"}),
            ToolErrorCode::PermissionDenied,
        ),
        (
            json!({"path": "sub/.npmrc", "content": "x"}),
            ToolErrorCode::PermissionDenied,
        ),
        (
            json!({"path": ".github/workflows/ci.yml", "content": "x"}),
            ToolErrorCode::PermissionDenied,
        ),
        (
            json!({"path": ".\u{17f}\u{17f}h/authorized_keys", "content": "x"}),
            ToolErrorCode::PermissionDenied,
        ),
    ];
    for (arguments, expected) in cases {
        let path = arguments["path"].to_string();
        assert_eq!(code(fixture.write(arguments)), expected, "{path}");
    }
    assert_eq!(
        (
            fixture.text("work/a"),
            fixture.text("data/facts.txt"),
            fixture.text("skills/pdf/SKILL.md")
        ),
        ("old".into(), "facts".into(), PDF.into())
    );
    assert_eq!(
        fixture.top.read_dir("work").unwrap().count(),
        2,
        "nothing else was made"
    );
    done(
        fixture.write(
            json!({"path": "a", "content": "new", "if_match": sha256(b"old").to_uppercase()}),
        ),
    );
    assert_eq!(fixture.text("work/a"), "new");
}

#[test]
fn a_write_quota_is_enforced() {
    let fixture = Fixture::new();
    done(fixture.write(json!({"path": "out/a", "content": "123456"})));
    let error = fixture
        .write(json!({"path": "out/a", "content": "12345"}))
        .unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (
            ToolErrorCode::TooLarge,
            "cannot write: 4 bytes left in the write quota of '/out'"
        )
    );
    assert_eq!(
        code(fixture.write(json!({"path": "out/a/b", "content": "1234"}))),
        ToolErrorCode::NotADirectory
    );
    done(fixture.write(json!({"path": "out/b", "content": "1234"})));
    assert_eq!(
        (fixture.text("out/a"), fixture.text("out/b")),
        ("123456".into(), "1234".into())
    );
}

#[test]
fn a_draft_remains_valid_and_keeps_its_name() {
    let fixture = Fixture::new();
    let write = |path: &str, content: &str| {
        fixture.write(json!({"path": format!("skills/note/{path}"), "content": content}))
    };
    for content in [
        "",
        "no frontmatter",
        "---\nname: note\n---\n",
        "---\nname: other\ndescription: x\n---\n",
        "---\ndescription: x\n---\n",
    ] {
        assert_eq!(
            code(write("SKILL.md", content)),
            ToolErrorCode::InvalidArguments,
            "{content:?}"
        );
    }
    for spelling in ["skill.md", "S\u{212a}ILL.md", "\u{17f}kill.MD"] {
        assert_eq!(
            code(write(spelling, NOTE)),
            ToolErrorCode::PermissionDenied,
            "{spelling}"
        );
    }
    assert_eq!(fixture.text("drafts/note/SKILL.md"), NOTE);
    done(write(
        "SKILL.md",
        "---\nname: note\ndescription: Better.\n---\n",
    ));
    let listed = fixture
        .ls(json!({"path": "/skills"}))
        .unwrap()
        .text()
        .into_owned();
    assert!(listed.contains("note/  - Better."), "{listed}");
    let appended = fixture
        .write(json!({"path": "/skills/note/SKILL.md", "content": "Body\n", "mode": "append"}))
        .unwrap();
    assert_eq!(appended.structured["bytes_written"], json!(5));
    assert_eq!(
        fixture.text("drafts/note/SKILL.md"),
        "---\nname: note\ndescription: Better.\n---\nBody\n"
    );
    done(write("scripts/run.py", "print(1)"));
    assert_eq!(fixture.text("drafts/note/scripts/run.py"), "print(1)");
}

#[test]
fn hints_name_only_tools_that_are_listed() {
    let hint = |group| {
        let fixture = Fixture::with(|files| files.groups = vec![group]);
        let written = fixture.write(json!({"path": "/skills/pdf/a", "content": "x"}));
        written.unwrap_err().hint
    };
    assert_eq!(
        hint(ToolGroup::Core).as_deref(),
        Some("write to the workspace instead")
    );
    assert_eq!(
        hint(ToolGroup::Workspace).as_deref(),
        Some("create a skill with skills_create, or write to the workspace")
    );
}

#[test]
fn the_host_controls_which_skills_are_writable() {
    let fixture = Fixture::with(|files| files.skill_writes = SkillWrites::Never);
    assert_eq!(
        code(fixture.write(json!({"path": "/skills/note/a", "content": "x"}))),
        ToolErrorCode::ReadOnly
    );
    let fixture = Fixture::with(|files| files.skill_writes = SkillWrites::All);
    done(fixture.write(json!({"path": "/skills/pdf/a", "content": "x"})));
    assert_eq!(fixture.text("skills/pdf/a"), "x");
}

#[cfg(unix)]
#[test]
fn the_mode_is_kept_without_set_id_bits() {
    use cap_std::fs::{Permissions, PermissionsExt};
    let fixture = Fixture::new();
    fixture.top.write("work/a", "old").unwrap();
    fixture
        .top
        .set_permissions("work/a", Permissions::from_mode(0o4640))
        .unwrap();
    let mode = || fixture.top.metadata("work/a").unwrap().permissions().mode() & 0o7777;
    done(fixture.write(json!({"path": "a", "content": "x"})));
    assert_eq!(mode(), 0o640);
    done(fixture.write(json!({"path": "a", "content": "x", "executable": true})));
    assert_eq!(mode(), 0o750);
    done(
        fixture.write(json!({"path": "a", "content": "x", "mode": "append", "executable": false})),
    );
    assert_eq!(mode(), 0o640);
}

#[cfg(unix)]
#[test]
fn appending_to_an_unreadable_file_succeeds() {
    use cap_std::fs::{Permissions, PermissionsExt};
    let fixture = Fixture::new();
    fixture.top.write("work/log", "old").unwrap();
    fixture
        .top
        .set_permissions("work/log", Permissions::from_mode(0o200))
        .unwrap();
    if fixture.top.open("work/log").is_ok() {
        return skills_test_support::skip("root reads every file");
    }
    let written = fixture
        .write(json!({"path": "log", "content": "new", "mode": "append"}))
        .unwrap()
        .structured;
    assert_eq!(
        (&written["sha256"], &written["bytes_written"]),
        (&Value::Null, &json!(3))
    );
    fixture
        .top
        .set_permissions("work/log", Permissions::from_mode(0o600))
        .unwrap();
    assert_eq!(fixture.text("work/log"), "oldnew");
}

#[cfg(unix)]
#[test]
fn writes_do_not_follow_symlinks() {
    let fixture = Fixture::new();
    fixture
        .top
        .symlink_contents("../outside/canary", "work/file")
        .unwrap();
    fixture
        .top
        .symlink_contents("../outside", "work/directory")
        .unwrap();
    fixture
        .top
        .symlink_contents("../outside/new", "work/dangling")
        .unwrap();
    fixture
        .top
        .symlink_contents("directory", "work/chain")
        .unwrap();
    fixture.top.create_dir("work/real").unwrap();
    fixture.top.symlink("real", "work/inner").unwrap();
    fixture
        .top
        .hard_link("outside/canary", &fixture.top, "work/hard")
        .unwrap();
    for path in [
        "file",
        "directory/canary",
        "directory/new",
        "dangling",
        "dangling/x",
        "chain/x",
        "inner/x",
        "hard",
    ] {
        for mode in ["overwrite", "append"] {
            let error = fixture
                .write(json!({"path": path, "content": "x", "mode": mode}))
                .unwrap_err();
            assert_eq!(
                error.code,
                ToolErrorCode::PermissionDenied,
                "{path} {mode}: {error}"
            );
        }
    }
    assert!(fixture.is_outside_untouched());
}

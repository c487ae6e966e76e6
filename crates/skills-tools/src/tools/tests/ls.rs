//! `skills_ls`.

use super::*;
use crate::files::list::ListLimits;

#[test]
fn messages_match_the_reference() {
    let fixture = Fixture::new();
    assert_eq!(
        fixture.ls(json!({})).unwrap().text(),
        "Directory '/workspace' is empty"
    );
    fixture.top.create_dir("work/src").unwrap();
    fixture.top.write("work/b.txt", "12345").unwrap();
    fixture.top.write("work/.hidden", "").unwrap();
    for path in ["", ".", "workspace", "/workspace/"] {
        let expected = "Contents of '/workspace' (2 items):\n  b.txt  (5 bytes)\n  src/";
        assert_eq!(fixture.ls(json!({"path": path})).unwrap().text(), expected);
    }
    let skills =
        "Skills (2):\n  pdf/  - Reads PDF files.\n  note/  - A draft.  [draft, not accepted]";
    assert_eq!(
        fixture.ls(json!({"path": "/skills"})).unwrap().text(),
        skills
    );
    let pdf = "Contents of '/skills/pdf' (2 items):\n  SKILL.md  (54 bytes)\n  scripts/";
    assert_eq!(
        fixture.ls(json!({"path": "/skills/pdf"})).unwrap().text(),
        pdf
    );
    let error = fixture.ls(json!({"path": "b.txt"})).unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (
            ToolErrorCode::NotADirectory,
            "'/workspace/b.txt' is not a directory"
        )
    );
    let error = fixture.ls(json!({"path": "nope"})).unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (ToolErrorCode::NotFound, "path '/workspace/nope' not found")
    );
}

#[test]
fn without_a_workspace_the_skills_are_the_root() {
    let runtime = SkillRuntime::builder().build();
    let files = VirtualFiles::new(runtime, MountTable::default());
    let ls = |arguments: Value| call(&skills_ls::TOOL, &files, arguments);
    assert_eq!(ls(json!({})).unwrap().text(), "No skills found");
    assert_eq!(
        code(ls(json!({"path": "src"}))),
        ToolErrorCode::PathOutsideMounts
    );
}

#[test]
fn the_skill_list_shows_inactive_skills() {
    let fixture = Fixture::new();
    let data = fixture.ls(json!({"path": "/skills"})).unwrap().structured;
    let expected = json!({"name": "pdf", "path": "/skills/pdf", "type": "directory", "description": "Reads PDF files.", "source": "repo",
        "enabled": true, "warnings": []});
    assert_eq!(data["entries"][0], expected);
    assert_eq!(
        (
            &data["entries"][1]["enabled"],
            &data["entries"][1]["reason"]
        ),
        (&json!(false), &json!("untrusted"))
    );
    let first = fixture
        .ls(json!({"path": "/skills", "limit": 1}))
        .unwrap()
        .structured;
    let second = fixture
        .ls(json!({"path": "/skills", "limit": 1, "cursor": first["next_cursor"]}))
        .unwrap()
        .structured;
    assert_eq!(
        (&second["entries"][0]["name"], &second["next_cursor"]),
        (&json!("note"), &Value::Null)
    );
}

#[test]
fn text_of_untrusted_skills_is_not_shown() {
    let fixture = Fixture::with(|files| files.drafts_dir = None);
    let listed = fixture.ls(json!({"path": "/skills"})).unwrap();
    assert_eq!(
        listed.text(),
        "Skills (2):\n  pdf/  - Reads PDF files.\n  note/  [inactive: untrusted]"
    );
    assert!(!listed.structured.to_string().contains("A draft."));
    assert_eq!(
        code(fixture.read(json!({"path": "/skills/note/SKILL.md"}))),
        ToolErrorCode::SkillNotFound
    );
}

/// Reads all pages and returns the paths in them.
fn pages(fixture: &Fixture, mut arguments: Value) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let data = fixture.ls(arguments.clone()).unwrap().structured;
        let entries = data["entries"].as_array().unwrap();
        assert!(entries.len() <= arguments["limit"].as_u64().unwrap() as usize);
        all.extend(
            entries
                .iter()
                .map(|entry| entry["path"].as_str().unwrap().to_owned()),
        );
        if data["next_cursor"].is_null() {
            return all;
        }
        arguments["cursor"] = data["next_cursor"].clone();
    }
}

#[test]
fn large_directories_are_paged_without_gaps() {
    let fixture = Fixture::new();
    let expected: Vec<String> = (0..5000)
        .map(|number| format!("/workspace/{number:05}"))
        .collect();
    for path in &expected {
        fixture
            .top
            .create(path.replace("/workspace", "work"))
            .unwrap();
    }
    assert_eq!(pages(&fixture, json!({"limit": 999})), expected);
    assert_eq!(
        pages(&fixture, json!({"limit": 1000, "recursive": true})),
        expected
    );
    let error = Fixture {
        files: VirtualFiles {
            list_limits: ListLimits {
                max_entries: 4999,
                max_visited: 10,
            },
            ..fixture.files
        },
        ..fixture
    }
    .ls(json!({}))
    .unwrap_err();
    assert_eq!(error.code, ToolErrorCode::TooLarge);
}

#[test]
fn recursion_is_limited_and_reported() {
    let fixture = Fixture::with(|files| {
        files.list_limits = ListLimits {
            max_entries: 100,
            max_visited: 4,
        }
    });
    fixture.top.create_dir_all("work/a/b").unwrap();
    fixture.top.write("work/a/x", "").unwrap();
    fixture.top.write("work/c", "").unwrap();
    let listed = fixture.ls(json!({"recursive": true})).unwrap();
    assert_eq!(
        pages(&fixture, json!({"recursive": true, "limit": 1})),
        [
            "/workspace/a",
            "/workspace/a/b",
            "/workspace/a/x",
            "/workspace/c"
        ]
    );
    assert_eq!(listed.structured["truncated"], json!(false));
    assert_eq!(
        pages(&fixture, json!({"recursive": true, "limit": 9, "depth": 1})),
        ["/workspace/a", "/workspace/c"]
    );
    fixture.top.write("work/a/b/y", "").unwrap();
    assert_eq!(
        fixture.ls(json!({"recursive": true})).unwrap().structured["truncated"],
        json!(true)
    );
    assert_eq!(
        code(fixture.ls(json!({"depth": 9}))),
        ToolErrorCode::InvalidArguments
    );
    assert_eq!(
        code(fixture.ls(json!({"limit": 1001}))),
        ToolErrorCode::InvalidArguments
    );
    assert_eq!(
        code(fixture.ls(json!({"cursor": "!"}))),
        ToolErrorCode::InvalidArguments
    );
}

#[cfg(unix)]
#[test]
fn deceptive_names_are_escaped() {
    use std::os::unix::ffi::OsStrExt;
    let fixture = Fixture::new();
    let names: [&[u8]; 5] = [
        "a\u{202e}txt.exe".as_bytes(),
        b"line\nbreak",
        "zero\u{200b}".as_bytes(),
        b"\xff\xfe",
        b"back\\slash",
    ];
    for name in names {
        if let Err(error) = fixture.top.create("work/x").and_then(|_| {
            fixture.top.rename(
                "work/x",
                &fixture.top.open_dir("work").unwrap(),
                std::ffi::OsStr::from_bytes(name),
            )
        }) {
            return skills_test_support::skip(format!(
                "this file system refuses such names: {error}"
            ));
        }
    }
    let listed = fixture.ls(json!({})).unwrap();
    let expected = "Contents of '/workspace' (5 items):\n  a\\u{202e}txt.exe  (0 bytes)\n  back\\\\slash  (0 bytes)\n  \
                    line\\nbreak  (0 bytes)\n  zero\\u{200b}  (0 bytes)\n  \\xff\\xfe  (0 bytes)";
    assert_eq!(listed.text(), expected);
    assert!(
        listed.structured["entries"]
            .as_array()
            .unwrap()
            .iter()
            .all(|entry| entry["unreadable_name"] == json!(true))
    );
    assert_eq!(pages(&fixture, json!({"limit": 1})).len(), 5);
}

#[cfg(unix)]
#[test]
fn symlinks_are_listed_and_not_followed_outside() {
    let fixture = Fixture::new();
    fixture
        .top
        .symlink_contents("../outside", "work/away")
        .unwrap();
    fixture.top.symlink_contents("/", "work/root").unwrap();
    fixture.top.create_dir("work/real").unwrap();
    fixture.top.symlink("real", "work/inner").unwrap();
    let expected = "Contents of '/workspace' (4 items):\n  away  (symlink without an accessible target)\n  inner/\n  \
                    real/\n  root  (symlink without an accessible target)";
    assert_eq!(fixture.ls(json!({})).unwrap().text(), expected);
    assert_eq!(
        fixture.ls(json!({"path": "inner"})).unwrap().text(),
        "Directory '/workspace/inner' is empty"
    );
    fixture
        .top
        .symlink_contents("../inner", "work/real/up")
        .unwrap();
    for arguments in [json!({"path": "real"}), json!({"path": "inner"})] {
        assert!(
            fixture
                .ls(arguments)
                .unwrap()
                .text()
                .ends_with("(1 items):\n  up/")
        );
    }
    assert!(
        fixture
            .ls(json!({"recursive": true}))
            .unwrap()
            .text()
            .contains("\n  real/\n  real/up/\n  root  ")
    );
    assert_eq!(
        code(fixture.ls(json!({"path": "away"}))),
        ToolErrorCode::PermissionDenied
    );
    assert_eq!(
        code(fixture.ls(json!({"path": "root/etc"}))),
        ToolErrorCode::PermissionDenied
    );
}

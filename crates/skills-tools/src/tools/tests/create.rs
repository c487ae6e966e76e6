//! `skills_create`.

use skills_runtime::manifest::Document;

use super::*;

#[test]
fn a_new_skill_is_a_draft_that_is_listed_read_and_written() {
    let fixture = Fixture::new();
    let arguments = json!({
        "name": "my-tool", "description": "Does: things.", "instructions": "# My Tool\n", "license": "MIT", "metadata": {"version": "1.10"},
        "scripts": {"main": "print(1)\n", "setup.sh": "#!/bin/sh\n"},
    });
    let outcome = fixture.create(arguments.clone()).unwrap();
    let expected = json!({"status": "created", "name": "my-tool", "path": "/skills/my-tool", "uri": "skill://my-tool/SKILL.md"});
    assert_eq!(
        (
            &outcome.structured,
            serde_json::from_str(&outcome.text()).ok()
        ),
        (&expected, Some(expected.clone()))
    );
    assert_eq!(
        outcome.files,
        [
            "/skills/my-tool/SKILL.md",
            "/skills/my-tool/scripts/main.py",
            "/skills/my-tool/scripts/setup.sh"
        ]
    );
    let text = "---\nname: my-tool\ndescription: 'Does: things.'\nlicense: MIT\nmetadata:\n  version: '1.10'\n---\n\n# My Tool\n";
    assert_eq!(
        fixture
            .read(json!({"path": "/skills/my-tool"}))
            .unwrap()
            .text(),
        text
    );
    let listed = fixture
        .ls(json!({"path": "/skills"}))
        .unwrap()
        .text()
        .into_owned();
    assert!(
        listed.contains("\n  my-tool/  - Does: things.  [draft, not accepted]"),
        "{listed}"
    );
    done(
        fixture.write(json!({"path": "/skills/my-tool/scripts/main.py", "content": "print(2)\n"})),
    );
    assert_eq!(fixture.text("drafts/my-tool/scripts/main.py"), "print(2)\n");
    assert!(
        fixture.files.runtime.get_skill("my-tool").is_err(),
        "nothing of it runs"
    );
    assert_eq!(
        code(fixture.create(arguments)),
        ToolErrorCode::AlreadyExists
    );
    assert_eq!(fixture.text("drafts/my-tool/scripts/main.py"), "print(2)\n");
    assert_eq!(
        fixture.top.read_dir("drafts").unwrap().count(),
        2,
        "nothing of the builder is left"
    );
}

#[test]
fn invalid_names_are_rejected_with_the_rule() {
    let fixture = Fixture::new();
    let long = "a".repeat(65);
    let names = [
        "..",
        ".",
        "",
        "/tmp/x",
        "a-",
        "a--b",
        "-a",
        "1a",
        &long,
        "Code-Reviewer",
        "dataAnalyzer",
        "my_tool",
        "tööl",
        "a/b",
        "a\0",
    ];
    for name in names {
        assert_eq!(
            code(fixture.create(json!({"name": name, "description": "x", "instructions": ""}))),
            ToolErrorCode::InvalidName,
            "{name:?}"
        );
    }
    let error = fixture
        .create(json!({"name": "Code-Reviewer", "description": "x", "instructions": ""}))
        .unwrap_err();
    assert!(
        error.message.contains("did you mean `code-reviewer`?"),
        "{error}"
    );
    assert_eq!(
        fixture.top.read_dir("drafts").unwrap().count(),
        1,
        "nothing was made"
    );
    for (number, name) in ["code-reviewer", "data-analyzer", "pdf2image"]
        .into_iter()
        .enumerate()
    {
        done(fixture.create(json!({"name": name, "description": "x", "instructions": ""})));
        assert_eq!(fixture.top.read_dir("drafts").unwrap().count(), number + 2);
    }
}

#[test]
fn a_description_cannot_add_fields() {
    let fixture = Fixture::new();
    let create = |description: &str| {
        fixture.create(json!({"name": "x", "description": description, "instructions": "Body"}))
    };
    for description in [
        "",
        " ",
        "a\n---\nb",
        "a\nallowed-tools: Bash",
        "tag\u{e0041}",
        "bidi\u{202e}",
    ] {
        assert_eq!(
            code(create(description)),
            ToolErrorCode::InvalidArguments,
            "{description:?}"
        );
    }
    assert_eq!(code(create(&"x".repeat(1025))), ToolErrorCode::TooLarge);
    let description = "a: b # 'c' \"d\" --- - {e} [f] *g &h !i |j >k %l @m `n` ~ null";
    done(create(description));
    let document = Document::parse(fixture.text("drafts/x/SKILL.md").as_bytes()).unwrap();
    assert_eq!(
        (document.manifest().description(), document.body().trim()),
        (description, "Body")
    );
}

#[test]
fn invalid_arguments_create_nothing() {
    let fixture = Fixture::new();
    let base = json!({"name": "new", "description": "x", "instructions": "Body"});
    let cases = [
        (
            "instructions",
            json!("---\nname: other\n---\n"),
            ToolErrorCode::InvalidArguments,
        ),
        (
            "instructions",
            json!("x".repeat(65537)),
            ToolErrorCode::TooLarge,
        ),
        ("license", json!("a\nb"), ToolErrorCode::InvalidArguments),
        (
            "metadata",
            json!({"a": "b\nc"}),
            ToolErrorCode::InvalidArguments,
        ),
        (
            "scripts",
            json!({"../evil": ""}),
            ToolErrorCode::InvalidArguments,
        ),
        (
            "scripts",
            json!({"/tmp/evil": ""}),
            ToolErrorCode::InvalidArguments,
        ),
        (
            "scripts",
            json!({".env": ""}),
            ToolErrorCode::InvalidArguments,
        ),
        (
            "scripts",
            json!({"-rf": ""}),
            ToolErrorCode::InvalidArguments,
        ),
        ("scripts", json!({"": ""}), ToolErrorCode::InvalidArguments),
        (
            "scripts",
            json!({"a": "", "A.py": ""}),
            ToolErrorCode::InvalidArguments,
        ),
        (
            "scripts",
            json!({"a": "x".repeat((1 << 20) + 1)}),
            ToolErrorCode::TooLarge,
        ),
        ("name", json!("pdf"), ToolErrorCode::AlreadyExists),
        ("name", json!("note"), ToolErrorCode::AlreadyExists),
    ];
    for (field, value, expected) in cases {
        let mut arguments = base.clone();
        arguments[field] = value;
        assert_eq!(
            code(fixture.create(arguments.clone())),
            expected,
            "{field}: {:.80}",
            arguments[field].to_string()
        );
    }
    assert_eq!(fixture.top.read_dir("drafts").unwrap().count(), 1);
}

#[test]
fn existing_files_with_the_name_are_kept() {
    let fixture = Fixture::new();
    fixture.top.create_dir("drafts/directory").unwrap();
    fixture.top.write("drafts/file", "mine").unwrap();
    for name in ["directory", "file"] {
        assert_eq!(
            code(fixture.create(json!({"name": name, "description": "x", "instructions": ""}))),
            ToolErrorCode::AlreadyExists
        );
    }
    assert_eq!(fixture.text("drafts/file"), "mine");
}

#[test]
fn the_host_controls_whether_skills_are_created() {
    let arguments = json!({"name": "new", "description": "x", "instructions": ""});
    assert_eq!(
        code(Fixture::with(|files| files.drafts_dir = None).create(arguments.clone())),
        ToolErrorCode::ReadOnly
    );
    assert_eq!(
        code(Fixture::with(|files| files.skill_writes = SkillWrites::Never).create(arguments)),
        ToolErrorCode::ReadOnly
    );
}

//! `skills_read`.

use skills_runtime::discovery::SkillFileSymlinks;

use super::*;

#[test]
fn text_is_returned_unchanged() {
    let fixture = Fixture::new();
    let outcome = fixture.read(json!({"path": "data/facts.txt"})).unwrap();
    assert_eq!(outcome.text(), "facts");
    let expected = json!({"path": "/data/facts.txt", "content": "facts", "encoding": "utf-8", "mime_type": "text/plain", "size": 5,
        "sha256": crate::files::read::sha256(b"facts"), "offset": 0, "next_offset": null, "truncated": false});
    assert_eq!(outcome.structured, expected);
    for path in ["skills/pdf", "skills/pdf/SKILL.md", "/skills/pdf/SKILL.md"] {
        assert_eq!(fixture.read(json!({"path": path})).unwrap().text(), PDF);
    }
    assert_eq!(
        fixture
            .read(json!({"path": "/skills/note"}))
            .unwrap()
            .text(),
        NOTE
    );
}

#[test]
fn error_messages_match_the_reference() {
    let fixture = Fixture::new();
    fixture.top.create_dir("work/src").unwrap();
    fixture.top.write("work/x.png", b"\x89PNG\0\0").unwrap();
    let message = |path: &str| fixture.read(json!({"path": path})).unwrap_err().message;
    assert_eq!(
        message("src"),
        "'/workspace/src' is a directory, use skills_ls() instead"
    );
    assert_eq!(message("gone"), "path '/workspace/gone' not found");
    assert_eq!(
        message("x.png"),
        "'/workspace/x.png' is not a text file (binary file): image/png, 6 bytes"
    );
    let outcome = fixture
        .read(json!({"path": "x.png", "encoding": "base64"}))
        .unwrap();
    assert_eq!(
        (outcome.text().as_ref(), &outcome.structured["mime_type"]),
        ("iVBORwAA", &json!("image/png"))
    );
}

#[test]
fn concatenated_parts_equal_the_file() {
    let fixture = Fixture::new();
    let text = "äöü漢字🦀abc\n".repeat(20);
    let wide = |unit: fn(u16) -> [u8; 2]| {
        "\u{FEFF}"
            .chars()
            .chain(text.chars())
            .collect::<String>()
            .encode_utf16()
            .flat_map(unit)
            .collect()
    };
    let codings: [(&str, Vec<u8>); 4] = [
        ("utf-8", text.clone().into_bytes()),
        ("utf-8", format!("\u{FEFF}{text}").into_bytes()),
        ("utf-16le", wide(u16::to_le_bytes)),
        ("utf-16be", wide(u16::to_be_bytes)),
    ];
    for (coding, bytes) in codings {
        fixture.top.write("work/t.ts", bytes).unwrap();
        for (unit, limit) in [("bytes", 1), ("bytes", 7), ("bytes", 4096), ("lines", 3)] {
            let (mut together, mut offset) = (String::new(), json!(0));
            while !offset.is_null() {
                let part = fixture
                    .read(json!({"path": "t.ts", "offset": offset, "limit": limit, "unit": unit}))
                    .unwrap();
                assert_eq!(
                    (&part.structured["encoding"], &part.structured["mime_type"]),
                    (&json!(coding), &json!("text/plain"))
                );
                assert_eq!(
                    part.structured["truncated"],
                    json!(!part.structured["next_offset"].is_null())
                );
                assert_ne!(part.structured["next_offset"], offset);
                together.push_str(part.structured["content"].as_str().unwrap());
                offset = part.structured["next_offset"].clone();
            }
            assert_eq!(together, text, "{coding} {unit} {limit}");
        }
    }
}

#[test]
fn an_offset_inside_a_character_starts_after_it() {
    let fixture = Fixture::new();
    fixture.top.write("work/a", "é1").unwrap();
    let part = fixture.read(json!({"path": "a", "offset": 1})).unwrap();
    assert_eq!(
        (part.text().as_ref(), &part.structured["offset"]),
        ("1", &json!(2))
    );
    assert_eq!(
        fixture
            .read(json!({"path": "a", "offset": 99}))
            .unwrap()
            .text(),
        ""
    );
    fixture.top.write("work/wide", b"\xff\xfea\0b\0").unwrap();
    for (path, unit) in [
        ("a", "bytes"),
        ("a", "lines"),
        ("wide", "bytes"),
        ("wide", "lines"),
    ] {
        let part = fixture
            .read(json!({"path": path, "unit": unit, "offset": u64::MAX}))
            .unwrap();
        assert_eq!(
            (part.text().as_ref(), &part.structured["next_offset"]),
            ("", &Value::Null),
            "{path} {unit}"
        );
    }
    assert_eq!(
        code(fixture.read(json!({"path": "a", "limit": 0}))),
        ToolErrorCode::InvalidArguments
    );
    assert_eq!(
        code(fixture.read(json!({"path": "a", "limit": 4194305}))),
        ToolErrorCode::InvalidArguments
    );
}

#[test]
fn large_files_are_returned_in_parts() {
    let fixture = Fixture::new();
    fixture.top.write("work/long", "x".repeat(300_000)).unwrap();
    let part = fixture.read(json!({"path": "long"})).unwrap();
    assert_eq!(
        part.structured["content"].as_str().map(str::len),
        Some(16_384)
    );
    assert!(
        part.text()
            .ends_with("x\n[The file has 300000 bytes. Continue with offset 16384.]"),
    );
    let sparse = fixture.top.create("work/sparse").unwrap();
    if let Err(error) = sparse.set_len(10 << 30) {
        return skills_test_support::skip(format!("no sparse files: {error}"));
    }
    assert_eq!(
        code(fixture.read(json!({"path": "sparse"}))),
        ToolErrorCode::BinaryFile
    );
    assert_eq!(
        code(fixture.read(json!({"path": "sparse", "unit": "lines"}))),
        ToolErrorCode::TooLarge
    );
    let part = fixture
        .read(json!({"path": "sparse", "encoding": "base64", "limit": 3, "offset": 5_u64 << 30}))
        .unwrap();
    assert_eq!(
        (&part.structured["content"], &part.structured["sha256"]),
        (&json!("AAAA"), &Value::Null)
    );
    let part = fixture
        .read(json!({"path": "sparse", "encoding": "base64", "offset": u64::MAX}))
        .unwrap();
    assert_eq!(
        (part.text().as_ref(), &part.structured["next_offset"]),
        ("", &Value::Null)
    );
}

#[test]
fn key_files_are_not_readable() {
    let fixture = Fixture::new();
    for name in [".env", "id_rsa", "server.PEM", ".npmrc"] {
        fixture.top.write(format!("work/{name}"), "secret").unwrap();
        assert_eq!(
            code(fixture.read(json!({"path": name}))),
            ToolErrorCode::PermissionDenied,
            "{name}"
        );
    }
}

#[cfg(unix)]
#[test]
fn symlinks_do_not_leave_the_mount() {
    let fixture = Fixture::new();
    fixture.top.write("work/.env", "secret").unwrap();
    fixture.top.write("work/real", "inside").unwrap();
    fixture.top.symlink("real", "work/inner").unwrap();
    fixture.top.symlink(".env", "work/harmless").unwrap();
    assert_eq!(
        fixture.read(json!({"path": "inner"})).unwrap().text(),
        "inside"
    );
    assert_eq!(
        code(fixture.read(json!({"path": "harmless"}))),
        ToolErrorCode::PermissionDenied
    );
    fixture
        .top
        .symlink_contents("../outside/canary", "work/file")
        .unwrap();
    fixture
        .top
        .symlink_contents("../outside", "work/directory")
        .unwrap();
    fixture.top.symlink_contents("file", "work/chain").unwrap();
    fixture
        .top
        .symlink_contents("/proc/self/root", "work/magic")
        .unwrap();
    fixture
        .top
        .symlink_contents(fixture.held.path().join("outside/canary"), "work/absolute")
        .unwrap();
    fixture.top.symlink_contents("loop", "work/loop").unwrap();
    fixture
        .top
        .symlink_contents("../../../outside/canary", "skills/pdf/scripts/leak")
        .unwrap();
    for path in [
        "file",
        "directory/canary",
        "chain",
        "magic/etc/passwd",
        "absolute",
        "loop",
        "skills/pdf/scripts/leak",
    ] {
        assert_eq!(
            code(fixture.read(json!({"path": path}))),
            ToolErrorCode::PermissionDenied,
            "{path}"
        );
    }
}

#[cfg(unix)]
#[test]
fn pipes_and_sockets_do_not_block() {
    let fixture = Fixture::new();
    let path = fixture.held.path().join("work");
    nix::unistd::mkfifo(&path.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(path.join("socket")).unwrap();
    for name in ["pipe", "socket"] {
        assert_eq!(
            code(fixture.read(json!({"path": name}))),
            ToolErrorCode::PermissionDenied,
            "{name}"
        );
        assert_eq!(
            code(fixture.write(json!({"path": name, "content": "x"}))),
            ToolErrorCode::PermissionDenied,
            "{name}"
        );
        assert_eq!(
            code(fixture.write(json!({"path": name, "content": "x", "mode": "append"}))),
            ToolErrorCode::PermissionDenied,
            "{name}"
        );
    }
}

#[cfg(unix)]
#[test]
fn only_a_linked_manifest_may_be_outside_of_a_skill() {
    let fixture = Fixture::new();
    let path = fixture.held.path().canonicalize().unwrap();
    let text = "---\nname: linked\ndescription: Elsewhere.\n---\n";
    fixture.top.write("outside/linked.md", text).unwrap();
    fixture.top.create_dir_all("links/linked").unwrap();
    fixture
        .top
        .symlink_contents("../../outside/linked.md", "links/linked/SKILL.md")
        .unwrap();
    fixture
        .top
        .symlink_contents("../../outside/canary", "links/linked/other.md")
        .unwrap();
    let root =
        Root::new(path.join("links"), Scope::Repo).skill_file_symlinks(SkillFileSymlinks::Follow);
    let files = VirtualFiles::new(
        SkillRuntime::builder().root(root).build(),
        MountTable::default(),
    );
    let read = |path: &str| call(&skills_read::TOOL, &files, json!({"path": path}));
    assert_eq!(read("skills/linked").unwrap().text(), text);
    assert_eq!(
        code(read("skills/linked/other.md")),
        ToolErrorCode::PermissionDenied
    );
}

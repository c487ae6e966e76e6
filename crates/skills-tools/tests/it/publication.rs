//! Publication of skills: contents, omissions and changes.

mod race;
mod refused;

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use skills_runtime::discovery::NestedSkills;
use skills_runtime::{Root, Scope, SkillRuntime};
use skills_tools::{PublicationErrorKind, PublishedSkill, ToolSet};

use crate::fixture::Host;

const TEXT: &str = "---\nname: demo\ndescription: |\n  About demo.\n  More.\nversion: 1.10\nx-vendor: {deep: [1, {e: null}], flag: true}\n\
                    metadata:\n  author: someone\n---\n# Demo\n";

fn sha256(content: &[u8]) -> String {
    Sha256::digest(content)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn set(host: &Host) -> ToolSet {
    host.builder(host.runtime()).build().unwrap()
}

fn paths(publication: &PublishedSkill) -> Vec<&str> {
    publication
        .files
        .iter()
        .map(|file| file.path.as_str())
        .collect()
}

/// Reads a file, and asserts that the snapshot lists its content.
fn read(set: &ToolSet, skill: &str, path: &str) -> Result<Vec<u8>, PublicationErrorKind> {
    let given = set
        .published_file(skill, path)
        .map_err(|error| error.kind())?;
    let listed = given.skill.file(path).unwrap();
    assert_eq!(&given.file, listed);
    assert_eq!(
        (listed.bytes, listed.sha256.as_str()),
        (given.content.len() as u64, sha256(&given.content).as_str())
    );
    assert_eq!(given.text().is_some(), listed.is_text);
    Ok(given.content)
}

#[test]
fn a_skill_is_published_with_all_files_and_frontmatter() {
    let host = Host::new();
    host.file("skills/demo/SKILL.md", TEXT)
        .script("demo", "run.py", "print(1)\n");
    host.file("skills/demo/assets/a b%20c.bin", [0, 159, 146])
        .file("skills/demo/empty", "");
    let set = set(&host);
    let publications = set.published_skills();
    assert_eq!(publications.unpublished, []);
    let [demo] = publications.skills.as_slice() else {
        panic!("{publications:?}")
    };
    assert_eq!(
        (
            demo.name.as_str(),
            demo.description.as_str(),
            demo.visible_description().as_str()
        ),
        ("demo", "About demo.\nMore.\n", "About demo.\nMore.\n")
    );
    let frontmatter = json!({
        "name": "demo", "description": "About demo.\nMore.\n", "version": 1.1, "x-vendor": {"deep": [1, {"e": null}], "flag": true},
        "metadata": {"author": "someone"},
    });
    assert_eq!(Value::Object(demo.frontmatter.clone()), frontmatter);
    assert!(
        demo.frontmatter
            .keys()
            .eq(["name", "description", "version", "x-vendor", "metadata"]),
        "the order of the file"
    );
    let facts: Vec<_> = demo
        .files
        .iter()
        .map(|file| {
            (
                file.path.as_str(),
                file.bytes,
                file.media_type.as_str(),
                file.is_text,
            )
        })
        .collect();
    assert_eq!(
        facts,
        [
            ("SKILL.md", TEXT.len() as u64, "text/markdown", true),
            ("assets/a b%20c.bin", 3, "application/octet-stream", false),
            ("empty", 0, "text/plain", true),
            ("scripts/run.py", 9, "text/plain", true),
        ]
    );
    assert_eq!(
        demo.file("SKILL.md").unwrap().sha256,
        sha256(TEXT.as_bytes())
    );
    assert_eq!(read(&set, "demo", "SKILL.md"), Ok(TEXT.as_bytes().to_vec()));
    assert_eq!(
        read(&set, "demo", "assets/a b%20c.bin"),
        Ok(vec![0, 159, 146])
    );
    assert_eq!(read(&set, "demo", "empty"), Ok(Vec::new()));
    assert_eq!(set.published_skill("demo").as_deref(), Some(&**demo));
}

#[test]
fn crlf_line_ends_are_supported() {
    let host = Host::new();
    let text = TEXT.replace('\n', "\r\n");
    host.file("skills/demo/SKILL.md", &text);
    let set = set(&host);
    assert_eq!(
        set.published_skill("demo").unwrap().description,
        "About demo.\nMore.\n"
    );
    assert_eq!(read(&set, "demo", "SKILL.md"), Ok(text.into_bytes()));
}

#[cfg(unix)]
#[test]
fn omitted_files_cannot_be_read() {
    let host = Host::new();
    host.file("secret", "TOPSECRET")
        .skill("demo", "")
        .file("skills/demo/good.txt", "good");
    let left_out = [
        ".env",
        ".hidden/x",
        ".git/config",
        "sub/.git/HEAD",
        "tls.key",
        "keys/id_rsa",
        "a\u{202e}b",
        "back\\slash",
        "dot.",
        "space ",
        "c:d",
        "enc%2e%2e",
        "x%2fy",
    ];
    for path in left_out {
        host.file(&format!("skills/demo/{path}"), "TOPSECRET");
    }
    std::os::unix::fs::symlink("good.txt", host.path("skills/demo/inner")).unwrap();
    std::os::unix::fs::symlink(host.path("secret"), host.path("skills/demo/outer")).unwrap();
    std::os::unix::fs::symlink(host.path(""), host.path("skills/demo/above")).unwrap();
    nix::unistd::mkfifo(
        &host.path("skills/demo/pipe"),
        nix::sys::stat::Mode::S_IRWXU,
    )
    .unwrap();
    let set = set(&host);
    assert_eq!(
        paths(&set.published_skill("demo").unwrap()),
        ["SKILL.md", "good.txt"]
    );
    let never = [
        "inner",
        "outer",
        "above/secret",
        "pipe",
        "",
        ".",
        "./good.txt",
        "good.txt/",
        "//good.txt",
        "sub/../good.txt",
        "../demo/good.txt",
    ];
    let absolute = host.path("secret").to_string_lossy().into_owned();
    for path in left_out
        .into_iter()
        .chain(never)
        .chain([absolute.as_str(), "SKILL.MD", "good"])
    {
        assert_eq!(
            read(&set, "demo", path),
            Err(PublicationErrorKind::FileNotFound),
            "{path:?}"
        );
    }
    for name in ["", "..", "Demo", "demo/", absolute.as_str()] {
        assert_eq!(
            read(&set, name, "good.txt"),
            Err(PublicationErrorKind::NotPublished),
            "{name:?}"
        );
        assert_eq!(set.published_skill(name), None);
    }
    let message = set
        .published_file("demo", "a\u{202e}b")
        .unwrap_err()
        .to_string();
    assert_eq!(message, "skill `demo` has no file 'a\\u{202e}b'");
}

#[test]
fn a_nested_skill_is_part_of_the_outer_one() {
    let host = Host::new();
    host.skill("outer", "").file(
        "skills/outer/inner/SKILL.md",
        "---\nname: inner\ndescription: Inside.\n---\n",
    );
    host.file("skills/outer/inner/data.txt", "data");
    let of_root = |nested| {
        let root = Root::new(host.path("skills"), Scope::Custom).nested(nested);
        let set = ToolSet::builder(SkillRuntime::builder().root(root).build())
            .build()
            .unwrap();
        assert_eq!(read(&set, "outer", "inner/data.txt"), Ok(b"data".to_vec()));
        let publications = set.published_skills();
        publications
            .skills
            .iter()
            .map(|skill| format!("{}: {}", skill.name, paths(skill).join(" ")))
            .collect::<Vec<_>>()
    };
    let outer = "outer: SKILL.md inner/SKILL.md inner/data.txt";
    assert_eq!(of_root(NestedSkills::Skip), [outer]);
    assert_eq!(
        of_root(NestedSkills::Search),
        ["inner: SKILL.md data.txt", outer]
    );
}

#[test]
fn a_changed_file_is_read_with_a_new_snapshot() {
    let host = Host::new();
    host.skill("demo", "")
        .file("skills/demo/data", "first")
        .file("skills/demo/gone", "x");
    let set = set(&host);
    let first = set.published_skill("demo").unwrap();
    host.file("skills/demo/data", "other")
        .file("skills/demo/new", "new");
    fs::remove_file(host.path("skills/demo/gone")).unwrap();
    assert_eq!(read(&set, "demo", "data"), Ok(b"other".to_vec()));
    assert_eq!(read(&set, "demo", "new"), Ok(b"new".to_vec()));
    assert_eq!(
        read(&set, "demo", "gone"),
        Err(PublicationErrorKind::FileNotFound)
    );
    let now = set.published_skill("demo").unwrap();
    assert_ne!(now.file("data"), first.file("data"));
    assert_eq!(paths(&now), ["SKILL.md", "data", "new"]);

    host.skill("demo", "disable-model-invocation: true\n");
    assert_eq!(
        read(&set, "demo", "data"),
        Err(PublicationErrorKind::NotPublished)
    );
    host.skill("demo", "x-new: 1\n");
    assert_eq!(set.published_skill("demo").unwrap().frontmatter["x-new"], 1);
    fs::remove_dir_all(host.path("skills/demo")).unwrap();
    assert_eq!(
        read(&set, "demo", "data"),
        Err(PublicationErrorKind::NotPublished)
    );
    assert_eq!(set.published_skills().skills, []);
}

#[test]
fn unchanged_skills_are_not_captured_again() {
    let host = Host::new();
    host.skill("demo", "").file("skills/demo/data", "first");
    let set = set(&host);
    let again = || {
        (
            set.published_skill("demo").unwrap(),
            set.published_skills().skills.remove(0),
        )
    };
    // Recently written files are read again until they are old enough.
    let deadline = Instant::now() + Duration::from_secs(60);
    let (one, two) = std::iter::repeat_with(again)
        .find(|(one, two)| Arc::ptr_eq(one, two) || Instant::now() > deadline)
        .unwrap();
    assert!(Arc::ptr_eq(&one, &two));
    assert!(Arc::ptr_eq(
        &set.published_file("demo", "data").unwrap().skill,
        &one
    ));
    host.file("skills/demo/data", "other");
    let (three, _) = again();
    assert_eq!(three.file("SKILL.md"), one.file("SKILL.md"));
    assert_eq!(three.file("data").unwrap().sha256, sha256(b"other"));
}

#[test]
fn names_and_paths_are_completed() {
    let host = Host::new();
    host.skill("pdf-tools", "")
        .skill("pdf_old", "")
        .skill("slides", "")
        .skill("pdf-forms", "");
    for number in 0..120 {
        host.file(&format!("skills/slides/pages/{number:03}"), "")
            .file(
                &format!("skills/many-{number:03}/SKILL.md"),
                format!("---\nname: many-{number:03}\ndescription: d\n---\n"),
            );
    }
    let set = set(&host);
    assert_eq!(set.complete_skill("pdf").values, ["pdf-forms", "pdf-tools"]);
    let many = set.complete_skill("many");
    assert_eq!(
        (many.values.len(), many.has_more, many.values[99].as_str()),
        (100, true, "many-099")
    );
    assert_eq!(set.complete_skill("x").values, [""; 0]);
    assert_eq!(set.complete_path("slides", "S").values, ["SKILL.md"]);
    let pages = set.complete_path("slides", "pages/");
    assert_eq!(
        (pages.values.len(), pages.has_more, pages.values[0].as_str()),
        (100, true, "pages/000")
    );
    assert!(!set.complete_path("slides", "pages/00").has_more);
    assert_eq!(set.complete_path("pdf_old", "").values, [""; 0]);
}

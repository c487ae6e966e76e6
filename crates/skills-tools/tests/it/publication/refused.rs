//! Skills that are not published, and their warnings.

use std::fs::File;

use skills_runtime::discovery::{Selector, SkillFileSymlinks, Trust};
use skills_runtime::prompt::{ListingMode, ListingModes};
use skills_runtime::{Root, Scope};
use skills_tools::{PublicationErrorKind, PublishedSkills};

use super::{paths, read, set};
use crate::fixture::Host;

fn warnings(skills: &PublishedSkills) -> String {
    let warnings = skills
        .unpublished
        .iter()
        .map(|skill| skill.warning.as_str());
    warnings.collect::<Vec<_>>().join("\n")
}

/// Returns the warnings, and asserts that only `good` is published.
fn notes(host: &Host, runtime: skills_runtime::Builder) -> String {
    host.skill("good", "");
    let set = host.builder(runtime).build().unwrap();
    let publications = set.published_skills();
    let names: Vec<&str> = publications
        .skills
        .iter()
        .map(|skill| skill.name.as_str())
        .collect();
    assert_eq!(names, ["good"]);
    let warnings = warnings(&publications);
    assert!(
        !warnings.contains(&*host.path("").to_string_lossy()),
        "{warnings}"
    );
    warnings
}

#[test]
fn names_that_clients_reject_are_not_published() {
    let host = Host::new();
    host.skill("tax_calculator", "")
        .skill("Upper", "")
        .skill("a--b", "")
        .skill("日本", "")
        .skill(&"x".repeat(65), "");
    host.file(
        "skills/one/SKILL.md",
        "---\nname: twin\ndescription: d\n---\n",
    )
    .file(
        "skills/two/SKILL.md",
        "---\nname: twin\ndescription: d\n---\n",
    );
    host.file(
        "skills/other/SKILL.md",
        "---\nname: named\ndescription: d\n---\n",
    );
    host.file("skills/nameless/SKILL.md", "---\ndescription: d\n---\n")
        .file(
            "skills/number/SKILL.md",
            "---\nname: 7\ndescription: d\n---\n",
        );
    host.skill("good", "");
    let set = set(&host);
    let publications = set.published_skills();
    let names: Vec<&str> = publications
        .skills
        .iter()
        .map(|skill| skill.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["good", "named"],
        "the name of the directory does not matter"
    );
    insta::assert_snapshot!(warnings(&publications), @"
    skill `7` is not published, only available through tools: `name` in SKILL.md is missing or not text
    skill `Upper` is not published, only available through tools: invalid name: expected 1 to 64 of a-z, 0-9 and single inner hyphens
    skill `a--b` is not published, only available through tools: invalid name: expected 1 to 64 of a-z, 0-9 and single inner hyphens
    skill `nameless` is not published, only available through tools: `name` in SKILL.md is missing or not text
    skill `tax_calculator` is not published, only available through tools: invalid name: expected 1 to 64 of a-z, 0-9 and single inner hyphens
    skill `twin` is not published, only available through tools: several skills have this name
    skill `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx` is not published, only available through tools: invalid name: expected 1 to 64 of a-z, 0-9 and single inner hyphens
    skill `日本` is not published, only available through tools: invalid name: expected 1 to 64 of a-z, 0-9 and single inner hyphens
    ");
    assert_eq!(
        read(&set, "twin", "SKILL.md"),
        Err(PublicationErrorKind::NotPublished)
    );
    assert_eq!(
        read(&set, "tax_calculator", "SKILL.md"),
        Err(PublicationErrorKind::NotPublished)
    );
}

#[test]
fn ambiguous_yaml_is_not_published() {
    let host = Host::new();
    let file = |name: &str, text: String| host.file(&format!("skills/{name}/SKILL.md"), text);
    let field = |name: &str| format!("name: {name}\ndescription: d\n");
    file("bom", format!("\u{feff}---\n{}---\n", field("bom")));
    file("late", format!("\n---\n{}---\n", field("late")));
    file("bare", format!("{}\nBody\n", field("bare")));
    file(
        "mended",
        format!("---\n{}argument-hint: [a] [b]\n---\n", field("mended")),
    );
    file(
        "tagged",
        format!("---\n{}x: !mine 1\n---\n", field("tagged")),
    );
    file(
        "merged",
        format!(
            "---\n{}x: &x {{a: 1}}\ny:\n  <<: *x\n---\n",
            field("merged")
        ),
    );
    file("twice", format!("---\n{}x: 1\nx: 2\n---\n", field("twice")));
    file(
        "spelled",
        "---\nName: spelled\ndescription: d\n---\n".to_owned(),
    );
    file(
        "wide",
        "---\nname: \" wide \"\ndescription: d\n---\n".to_owned(),
    );
    file(
        "list",
        "---\nname: list\ndescription: [d]\n---\n".to_owned(),
    );
    host.file(
        "skills/lower/skill.md",
        "---\nname: lower\ndescription: d\n---\n",
    );
    insta::assert_snapshot!(notes(&host, host.runtime()), @r#"
    skill `bare` is not published, only available through tools: YAML parsers disagree about SKILL.md: the frontmatter is not delimited by plain `---` lines: missing `---` delimiters; fields read up to the first blank line
    skill `bom` is not published, only available through tools: YAML parsers disagree about SKILL.md: the frontmatter is not delimited by plain `---` lines: byte order mark skipped; save the file without one
    skill `late` is not published, only available through tools: YAML parsers disagree about SKILL.md: the frontmatter is not delimited by plain `---` lines: blank lines before the opening `---`; other clients reject them
    skill `list` is not published, only available through tools: `description` in SKILL.md is missing or not text
    skill `lower` is not published, only available through tools: SKILL.md is a symlink or has a non-standard file name
    skill `mended` is not published, only available through tools: YAML parsers disagree about SKILL.md: line 4: invalid YAML: did not find expected key, while parsing a block mapping
    skill `merged` is not published, only available through tools: YAML parsers disagree about SKILL.md: a key is `<<` or not text
    skill `spelled` is not published, only available through tools: `name` in SKILL.md is missing or not text
    skill `tagged` is not published, only available through tools: YAML parsers disagree about SKILL.md: a value has a YAML tag (`!…`)
    skill `twice` is not published, only available through tools: YAML parsers disagree about SKILL.md: duplicate key `x`
    skill `wide` is not published, only available through tools: `name` in SKILL.md is ` wide `
    "#);
}

#[test]
fn fields_that_clients_reject_are_not_published() {
    let host = Host::new();
    let described = |name: &str, description: String| {
        let text = format!("---\nname: {name}\ndescription: \"{description}\"\n---\n");
        host.file(&format!("skills/{name}/SKILL.md"), text);
    };
    // Characters count, not bytes.
    described("at-limit", "é".repeat(1_024));
    described("long", "é".repeat(1_025));
    let text = |characters| format!("compatibility: {}\n", "é".repeat(characters));
    host.skill("compatible", &text(500))
        .skill("compatible-long", &text(501))
        .skill("compatible-empty", "compatibility:\n")
        .skill("compatible-blank", "compatibility: ''\n")
        .skill("licensed", "license: MIT\n")
        .skill("licensed-badly", "license: [MIT]\n")
        .skill("metadata", "metadata: {a: '1.0', b: x}\n")
        .skill("metadata-number", "metadata: {version: 1.5}\n")
        .skill("metadata-nested", "metadata:\n  openclaw: {os: [linux]}\n")
        .skill("metadata-empty", "metadata:\n")
        .skill("tools", "allowed-tools: Read\n")
        .skill("tools-list", "allowed-tools: [Read, Write]\n")
        .skill("good", "");
    let set = set(&host);
    let publications = set.published_skills();
    let names: Vec<&str> = publications
        .skills
        .iter()
        .map(|skill| skill.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "at-limit",
            "compatible",
            "good",
            "licensed",
            "metadata",
            "metadata-nested",
            "metadata-number",
            "tools",
            "tools-list"
        ]
    );
    insta::assert_snapshot!(warnings(&publications), @"
    skill `compatible-blank` is not published, only available through tools: `compatibility` in SKILL.md is not text of 1 to 500 characters
    skill `compatible-empty` is not published, only available through tools: `compatibility` in SKILL.md is not text of 1 to 500 characters
    skill `compatible-long` is not published, only available through tools: `compatibility` in SKILL.md is not text of 1 to 500 characters
    skill `licensed-badly` is not published, only available through tools: `license` in SKILL.md is not text
    skill `long` is not published, only available through tools: its description has 1025 characters, limit 1024
    skill `metadata-empty` is not published, only available through tools: `metadata` in SKILL.md is not a mapping
    ");
    assert_eq!(
        read(&set, "long", "SKILL.md"),
        Err(PublicationErrorKind::NotPublished)
    );
}

#[test]
fn skills_that_are_too_large() {
    let host = Host::new();
    host.skill("many", "")
        .skill("limit", "")
        .skill("large", "")
        .skill("deep", "")
        .skill("endless", "");
    for number in 0..600 {
        host.file(&format!("skills/many/f/{number}"), "");
    }
    for number in 0..1001 {
        host.file(&format!("skills/endless/f/{number}"), "");
    }
    for number in 0..17 {
        let path = host
            .file(&format!("skills/large/{number}"), "")
            .path(&format!("skills/large/{number}"));
        File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_len(1 << 20)
            .unwrap();
    }
    host.file("skills/deep/1/2/3/4/5/6/7/8/9/x", "");
    for number in 0..511 {
        host.file(&format!("skills/limit/{number}"), "");
    }
    let set = set(&host);
    let publications = set.published_skills();
    let sizes: Vec<_> = publications
        .skills
        .iter()
        .map(|skill| (skill.name.as_str(), skill.files.len()))
        .collect();
    assert_eq!(sizes, [("limit", 512)]);
    insta::assert_snapshot!(warnings(&publications), @"
    skill `deep` is not published, only available through tools: it is nested deeper than 8 directories, has more than 1000 files, or cannot be listed completely
    skill `endless` is not published, only available through tools: it is nested deeper than 8 directories, has more than 1000 files, or cannot be listed completely
    skill `large` is not published, only available through tools: it is 17825846 bytes, limit 16777216
    skill `many` is not published, only available through tools: it has 601 files, limit 512
    ");
    // Omitted files do not count.
    host.file("skills/limit/tls.key", "")
        .file("skills/limit/.more/x", "");
    assert_eq!(paths(&set.published_skill("limit").unwrap()).len(), 512);
}

#[test]
fn skills_that_are_not_model_invocable_are_not_published() {
    let host = Host::new();
    host.skill("manual", "disable-model-invocation: true\n")
        .skill(
            "kept",
            "disable-model-invocation: true\nuser-invocable: false\n",
        );
    host.skill("off", "")
        .skill("by-mode", "")
        .skill("unread", "allowed-tools: {a: 1}\n");
    host.file(
        "drafts/draft/SKILL.md",
        "---\nname: draft\ndescription: d\n---\n",
    );
    host.file(
        "others/foreign/SKILL.md",
        "---\nname: foreign\ndescription: d\n---\n",
    );
    let mode = |modes: ListingModes, name: &str, mode| {
        modes.with_rule(Selector::Name(name.to_owned()), mode)
    };
    let modes = mode(
        mode(ListingModes::default(), "off", ListingMode::Off),
        "by-mode",
        ListingMode::Manual,
    );
    let others = Root::new(host.path("others"), Scope::Repo).trust(Trust::Untrusted);
    insta::assert_snapshot!(notes(&host, host.runtime().root(others).modes(modes)), @"
    skill `by-mode` is not published: it is not model-invocable; users can invoke it by its prompt
    skill `kept` is not published: it is not model-invocable
    skill `manual` is not published: it is not model-invocable; users can invoke it by its prompt
    skill `off` is not published: it is not model-invocable
    skill `unread` is not published: it is not model-invocable; users can invoke it by its prompt
    skill `foreign` is not published: its project is not trusted; trust it with `skills trust --project`
    ");
}

#[cfg(unix)]
#[test]
fn a_linked_skill_file_is_not_published() {
    let host = Host::new();
    host.file(
        "skills/within/TEXT.md",
        "---\nname: within\ndescription: d\n---\n",
    );
    host.file(
        "elsewhere.md",
        "---\nname: elsewhere\ndescription: d\n---\n",
    )
    .file("linked/elsewhere/data", "x");
    std::os::unix::fs::symlink("TEXT.md", host.path("skills/within/SKILL.md")).unwrap();
    std::os::unix::fs::symlink(
        host.path("elsewhere.md"),
        host.path("linked/elsewhere/SKILL.md"),
    )
    .unwrap();
    let linked =
        Root::new(host.path("linked"), Scope::Repo).skill_file_symlinks(SkillFileSymlinks::Follow);
    insta::assert_snapshot!(notes(&host, host.runtime().root(linked)), @"
    skill `elsewhere` is not published, only available through tools: SKILL.md is a symlink or has a non-standard file name
    skill `within` is not published, only available through tools: SKILL.md is a symlink or has a non-standard file name
    ");
}

#[cfg(unix)]
#[test]
fn an_unreadable_file_prevents_publication() {
    use std::os::unix::fs::PermissionsExt;
    let host = Host::new();
    host.skill("closed", "").file("skills/closed/data", "x");
    let path = host.path("skills/closed/data");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).unwrap();
    if File::open(&path).is_ok() {
        return skills_test_support::skip("this user reads every file");
    }
    insta::assert_snapshot!(notes(&host, host.runtime()), @"skill `closed` is not published, only available through tools: cannot read 'data'");
}

/// What a skill nests is data, whatever it looks like.
#[test]
fn nested_metadata_is_published_as_text() {
    let host = Host::new();
    let nested = "metadata:\n  openclaw: {os: [linux], name: other}\n  version: 1.5\n  \
                  on: true\n  author: someone\n  note: \"a\\n- b\"\n";
    host.skill("nested", nested)
        .skill("list", "metadata: [a]\n");
    let publications = set(&host).published_skills();
    let [skill] = &publications.skills[..] else {
        panic!("{publications:?}")
    };
    assert!(skill.has_metadata_as_text);
    assert_eq!(
        skill.frontmatter["metadata"],
        serde_json::json!({
            "openclaw": r#"{"os":["linux"],"name":"other"}"#,
            "version": "1.5",
            "on": "true",
            "author": "someone",
            "note": "a\n- b",
        })
    );
    assert_eq!(skill.frontmatter["name"], "nested");
}

//! Detection of a skill's language.

use skills_build::{BuildErrorKind, Language, Source};

use crate::fixture::Fixture;

fn find(files: &[&str], chosen: Option<Language>) -> String {
    let files: Vec<_> = files.iter().map(|path| (*path, "")).collect();
    let fixture = Fixture::new(&files);
    match Source::find(&fixture.skill(), chosen) {
        Ok(source) => {
            assert!(source.directory.starts_with(fixture.skill()));
            format!("{}: {}", source.language, source.entries.join(" "))
        }
        Err(error) => format!("{}: {}", error.kind().code(), fixture.redact(error)),
    }
}

#[test]
fn the_files_determine_the_language() {
    for (files, expected) in [
        (&["guest/main.js", "guest/skill.ts"][..], "js: main.js"),
        (&["guest/index.mjs", "guest/package.json"], "js: index.mjs"),
        (
            &["guest/skill.ts", "guest/skill.d.ts", "guest/helper.js"],
            "ts: skill.ts",
        ),
        (
            &["guest/b.c", "guest/a.c", "guest/a.h", "guest/sub/c.c"],
            "c: a.c b.c",
        ),
        (&["guest/main.py"], "python: main.py"),
        (&["guest/main.py", "guest/app.py"], "python: app.py"),
        (&["main.c", "SKILL.md"], "c: main.c"),
    ] {
        assert_eq!(find(files, None), expected, "{files:?}");
    }
}

#[test]
fn several_languages_are_named_and_one_can_be_chosen() {
    let files = [
        "guest/main.js",
        "guest/main.ts",
        "guest/main.c",
        "guest/app.py",
    ];
    let error = find(&files, None);
    assert_eq!(
        error,
        "several-languages: `DIRECTORY/skill` has source in several languages (js, ts, c, python); select one with `--lang`"
    );
    assert_eq!(find(&files, Some(Language::TypeScript)), "ts: main.ts");
}

#[test]
fn missing_source_is_reported_with_the_expected_files() {
    insta::assert_snapshot!(find(&["SKILL.md", "guest/README.md"], None), @"no-source: cannot find source in `DIRECTORY/skill` (searched for guest/Cargo.toml, guest/{main,index,skill}.{js,mjs,ts}, guest/*.c, guest/{app,main}.py)");
    insta::assert_snapshot!(find(&["guest/main.c"], Some(Language::Rust)), @"no-source: cannot find source in `DIRECTORY/skill` (searched for rust among guest/Cargo.toml, guest/{main,index,skill}.{js,mjs,ts}, guest/*.c, guest/{app,main}.py)");
}

#[test]
fn a_package_names_its_program() {
    let program = |manifest: &str| {
        let fixture = Fixture::new(&[("guest/Cargo.toml", manifest)]);
        Source::find(&fixture.skill(), None)
            .map(|source| source.entries)
            .map_err(|error| fixture.redact(error))
    };
    assert_eq!(
        program("[package]\nname = \"a-b\""),
        Ok(vec!["a-b".to_owned()])
    );
    assert_eq!(
        program("[package]\nname = \"a\"\n[[bin]]\nname = \"tool\""),
        Ok(vec!["tool".to_owned()])
    );
    let several = program("[package]\nname = \"a\"\n[[bin]]\nname = \"x\"\n[[bin]]\nname = \"y\"");
    assert_eq!(
        several.unwrap_err(),
        "DIRECTORY/skill/guest/Cargo.toml: the package has several programs, expected one"
    );
    for name in ["../../x", "/x", "a/b", "", "..", "a\\\\b"] {
        let error = program(&format!("[package]\nname = \"{name}\"")).unwrap_err();
        assert!(error.ends_with("expected a file name"), "{name}: {error}");
    }
    assert!(
        program("[workspace]")
            .unwrap_err()
            .ends_with("no `[package]` section")
    );
    assert!(
        program("name = [")
            .unwrap_err()
            .starts_with("DIRECTORY/skill/guest/Cargo.toml: ")
    );
}

#[test]
fn a_missing_directory_is_an_error() {
    let fixture = Fixture::new(&[]);
    let error = Source::find(&fixture.path().join("absent"), None).unwrap_err();
    assert_eq!(
        (error.kind(), fixture.redact(&error)),
        (
            BuildErrorKind::Io,
            "cannot resolve `DIRECTORY/absent`".to_owned()
        )
    );
}

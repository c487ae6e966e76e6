//! Detection of a skill's language.

use skills_build::{BuildErrorKind, Language, Source};

use crate::place::Place;

fn find(files: &[&str], chosen: Option<Language>) -> String {
    let files: Vec<_> = files.iter().map(|path| (*path, "")).collect();
    let place = Place::new(&files);
    match Source::find(&place.skill(), chosen) {
        Ok(source) => {
            assert!(source.directory.starts_with(place.skill()));
            format!("{}: {}", source.language, source.entries.join(" "))
        }
        Err(error) => format!("{}: {}", error.kind().code(), place.told(error)),
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
    let told = find(&files, None);
    assert_eq!(
        told,
        "several-languages: `PLACE/skill` has source in several languages (js, ts, c, python); select one with `--lang`"
    );
    assert_eq!(find(&files, Some(Language::TypeScript)), "ts: main.ts");
}

#[test]
fn missing_source_is_reported_with_the_expected_files() {
    insta::assert_snapshot!(find(&["SKILL.md", "guest/README.md"], None), @"no-source: cannot find source in `PLACE/skill` (searched for guest/Cargo.toml, guest/{main,index,skill}.{js,mjs,ts}, guest/*.c, guest/{app,main}.py)");
    insta::assert_snapshot!(find(&["guest/main.c"], Some(Language::Rust)), @"no-source: cannot find source in `PLACE/skill` (searched for rust among guest/Cargo.toml, guest/{main,index,skill}.{js,mjs,ts}, guest/*.c, guest/{app,main}.py)");
}

#[test]
fn a_package_names_its_program() {
    let program = |manifest: &str| {
        let place = Place::new(&[("guest/Cargo.toml", manifest)]);
        Source::find(&place.skill(), None)
            .map(|source| source.entries)
            .map_err(|error| place.told(error))
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
        "PLACE/skill/guest/Cargo.toml: the package has several programs, expected one"
    );
    for name in ["../../x", "/x", "a/b", "", "..", "a\\\\b"] {
        let told = program(&format!("[package]\nname = \"{name}\"")).unwrap_err();
        assert!(told.ends_with("expected a file name"), "{name}: {told}");
    }
    assert!(
        program("[workspace]")
            .unwrap_err()
            .ends_with("no `[package]` section")
    );
    assert!(
        program("name = [")
            .unwrap_err()
            .starts_with("PLACE/skill/guest/Cargo.toml: ")
    );
}

#[test]
fn a_missing_directory_is_an_error() {
    let place = Place::new(&[]);
    let error = Source::find(&place.path().join("absent"), None).unwrap_err();
    assert_eq!(
        (error.kind(), place.told(&error)),
        (
            BuildErrorKind::Io,
            "cannot resolve `PLACE/absent`".to_owned()
        )
    );
}

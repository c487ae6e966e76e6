//! Missing tools, and how to install them.

use skills_build::{BuildErrorKind, LocalTools, Source, ToolFinder, install};

use crate::place::Place;

fn missing(file: &str, text: &str) -> String {
    let place = Place::new(&[(file, text)]);
    let source = Source::find(&place.skill(), None).unwrap();
    let error = ToolFinder::default()
        .find(&source, LocalTools::Allow, &mut |_| {})
        .unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::MissingTool);
    error.to_string()
}

#[test]
fn missing_tools_are_named_with_their_install_command() {
    assert_eq!(
        missing("guest/Cargo.toml", "[package]\nname = \"x\""),
        "`cargo` not found (install: https://rustup.rs); `rustc` not found (install: https://rustup.rs)"
    );
    let of_javascript = "`node` not found (install: https://nodejs.org); `esbuild` not found (install: npm install esbuild); `componentize-qjs` not found (install: npm install componentize-qjs)";
    assert_eq!(missing("guest/main.js", ""), of_javascript);
    assert_eq!(missing("guest/main.ts", ""), of_javascript);
    assert_eq!(
        missing("guest/main.c", ""),
        "`zig` not found (install: pip install ziglang)"
    );
    assert_eq!(
        missing("guest/app.py", ""),
        "`componentize-py` not found (install: pip install componentize-py)"
    );
}

#[test]
fn tools_that_cannot_be_installed_are_still_missing() {
    let place = Place::new(&[("guest/main.c", "")]);
    let tools = ToolFinder::default();
    let error = tools
        .find(
            &Source::find(&place.skill(), None).unwrap(),
            LocalTools::Allow,
            &mut |_| {},
        )
        .unwrap_err();
    let mut started = Vec::new();
    let into = place.path().join("tools");
    let failed = install(
        error.missing(),
        &tools,
        &place.skill(),
        &into,
        &mut |line| started.push(line.to_owned()),
    )
    .unwrap_err();
    assert_eq!(
        (failed.kind(), started.len(), into.exists()),
        (BuildErrorKind::MissingTool, 0, false)
    );
}

/// Finds the one tool of a source with stubs for all tools next to it, and returns its path and the
/// queried programs.
#[cfg(unix)]
fn found_beside(file: &str, beside: LocalTools) -> (std::path::PathBuf, String) {
    let stand_ins = crate::place::stand_ins();
    let place = Place::new(&[(file, "")]);
    let source = Source::find(&place.skill(), None).unwrap();
    std::fs::create_dir(source.directory.join(".venv")).unwrap();
    std::os::unix::fs::symlink(&stand_ins, source.directory.join(".venv/bin")).unwrap();
    let mut told = Vec::new();
    let found = ToolFinder::new([stand_ins.clone()])
        .find(&source, beside, &mut |line| told.push(line.to_owned()))
        .unwrap();
    assert_eq!(
        found.search_path, stand_ins,
        "the source does not choose what tools start by name"
    );
    let program = found.tools.values().next().unwrap().program.clone();
    assert_eq!(told.len(), 1);
    (
        program
            .strip_prefix(&source.directory)
            .map(std::path::Path::to_owned)
            .unwrap_or(program),
        place.told(&told[0]),
    )
}

#[cfg(unix)]
#[test]
fn packages_of_the_source_come_before_given_ones_and_never_in_checks() {
    let given = |name: &str| crate::place::stand_ins().join(name);
    let (program, told) = found_beside("guest/app.py", LocalTools::Allow);
    assert_eq!(
        (program, told.as_str()),
        (
            ".venv/bin/componentize-py".into(),
            "$ PLACE/skill/guest/.venv/bin/componentize-py --version"
        )
    );
    assert_eq!(
        found_beside("guest/app.py", LocalTools::Ignore).0,
        given("componentize-py")
    );
    for beside in [LocalTools::Allow, LocalTools::Ignore] {
        let (program, told) = found_beside("guest/main.c", beside);
        assert_eq!(
            (program, told),
            (
                given("zig"),
                format!("$ {} version", given("zig").display())
            )
        );
    }
}

#[cfg(unix)]
#[test]
fn python_packages_are_installed_without_building_them() {
    let stand_ins = crate::place::stand_ins();
    let place = Place::new(&[("guest/main.c", "")]);
    let missing = ToolFinder::default()
        .find(
            &Source::find(&place.skill(), None).unwrap(),
            LocalTools::Allow,
            &mut |_| {},
        )
        .unwrap_err();
    let tools = ToolFinder::new([stand_ins.clone(), "/usr/bin".into(), "/bin".into()]);
    let mut told = Vec::new();
    install(
        missing.missing(),
        &tools,
        &place.skill(),
        &place.path().join("tools"),
        &mut |line| told.push(place.told(line)),
    )
    .unwrap();
    let told = told
        .join("\n")
        .replace(stand_ins.to_str().unwrap(), "STAND-INS");
    insta::assert_snapshot!(told, @"
    $ STAND-INS/python3 -m venv PLACE/tools/python
    $ PLACE/tools/python/bin/python3 -m pip install --quiet --disable-pip-version-check --only-binary :all: ziglang==0.17.1
    ");
}

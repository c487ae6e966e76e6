//! Missing tools, and how to install them.

use skills_build::{BuildErrorKind, Source, SourceAccess, ToolFinder, install};

use crate::fixture::Fixture;

fn missing(file: &str, text: &str) -> String {
    let fixture = Fixture::new(&[(file, text)]);
    let source = Source::find(&fixture.skill(), None).unwrap();
    let error = ToolFinder::default()
        .find(&source, SourceAccess::Full, &mut |_| {})
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
    let fixture = Fixture::new(&[("guest/main.c", "")]);
    let tools = ToolFinder::default();
    let error = tools
        .find(
            &Source::find(&fixture.skill(), None).unwrap(),
            SourceAccess::Full,
            &mut |_| {},
        )
        .unwrap_err();
    let mut started = Vec::new();
    let into = fixture.path().join("tools");
    let failed = install(
        error.missing(),
        &tools,
        &fixture.skill(),
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
fn found_beside(file: &str, beside: SourceAccess) -> (std::path::PathBuf, String) {
    let stub_tools = crate::fixture::stub_tools();
    let fixture = Fixture::new(&[(file, "")]);
    let source = Source::find(&fixture.skill(), None).unwrap();
    std::fs::create_dir(source.directory.join(".venv")).unwrap();
    std::os::unix::fs::symlink(&stub_tools, source.directory.join(".venv/bin")).unwrap();
    let mut lines = Vec::new();
    let found = ToolFinder::new([stub_tools.clone()])
        .find(&source, beside, &mut |line| lines.push(line.to_owned()))
        .unwrap();
    assert_eq!(
        found.search_path, stub_tools,
        "the source does not choose what tools start by name"
    );
    let program = found.tools.values().next().unwrap().program.clone();
    assert_eq!(lines.len(), 1);
    (
        program
            .strip_prefix(&source.directory)
            .map(std::path::Path::to_owned)
            .unwrap_or(program),
        fixture.redact(&lines[0]),
    )
}

#[cfg(unix)]
#[test]
fn local_python_packages_take_precedence_except_in_checks() {
    let given = |name: &str| crate::fixture::stub_tools().join(name);
    let (program, lines) = found_beside("guest/app.py", SourceAccess::Full);
    assert_eq!(
        (program, lines.as_str()),
        (
            ".venv/bin/componentize-py".into(),
            "$ DIRECTORY/skill/guest/.venv/bin/componentize-py --version"
        )
    );
    assert_eq!(
        found_beside("guest/app.py", SourceAccess::ReadOnly).0,
        given("componentize-py")
    );
    for beside in [SourceAccess::Full, SourceAccess::ReadOnly] {
        let (program, lines) = found_beside("guest/main.c", beside);
        assert_eq!(
            (program, lines),
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
    let stub_tools = crate::fixture::stub_tools();
    let fixture = Fixture::new(&[("guest/main.c", "")]);
    let missing = ToolFinder::default()
        .find(
            &Source::find(&fixture.skill(), None).unwrap(),
            SourceAccess::Full,
            &mut |_| {},
        )
        .unwrap_err();
    let tools = ToolFinder::new([stub_tools.clone(), "/usr/bin".into(), "/bin".into()]);
    let mut lines = Vec::new();
    install(
        missing.missing(),
        &tools,
        &fixture.skill(),
        &fixture.path().join("tools"),
        &mut |line| lines.push(fixture.redact(line)),
    )
    .unwrap();
    let lines = lines
        .join("\n")
        .replace(stub_tools.to_str().unwrap(), "STUBS");
    insta::assert_snapshot!(lines, @"
    $ STUBS/python3 -m venv DIRECTORY/tools/python
    $ DIRECTORY/tools/python/bin/python3 -m pip install --quiet --disable-pip-version-check --only-binary :all: ziglang==0.17.1
    ");
}

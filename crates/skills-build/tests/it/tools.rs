//! What is missing, and how to get it.

use skills_build::{BuildErrorKind, Source, Tools, install};

use crate::place::Place;

fn missing(file: &str, text: &str) -> String {
    let place = Place::new(&[(file, text)]);
    let source = Source::find(&place.skill(), None).unwrap();
    let error = Tools::default().find(&source).unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::MissingTool);
    error.to_string()
}

#[test]
fn missing_tools_are_named_with_the_command_that_gets_them() {
    assert_eq!(missing("guest/Cargo.toml", "[package]\nname = \"x\""), "no cargo (https://rustup.rs); no rustc (https://rustup.rs)");
    let of_javascript =
        "no node (https://nodejs.org); no esbuild (npm install esbuild); no componentize-qjs (npm install componentize-qjs)";
    assert_eq!(missing("guest/main.js", ""), of_javascript);
    assert_eq!(missing("guest/main.ts", ""), of_javascript);
    assert_eq!(missing("guest/main.c", ""), "no zig (pip install ziglang)");
    assert_eq!(missing("guest/app.py", ""), "no componentize-py (pip install componentize-py)");
}

#[test]
fn what_cannot_be_installed_is_still_missing() {
    let place = Place::new(&[("guest/main.c", "")]);
    let tools = Tools::default();
    let error = tools.find(&Source::find(&place.skill(), None).unwrap()).unwrap_err();
    let mut started = Vec::new();
    let into = place.path().join("tools");
    let failed = install(error.missing(), &tools, &place.skill(), &into, &mut |line| started.push(line.to_owned())).unwrap_err();
    assert_eq!((failed.kind(), started.len(), into.exists()), (BuildErrorKind::MissingTool, 0, false));
}

#[cfg(unix)]
#[test]
fn tools_beside_the_source_come_before_given_ones() {
    let stand_ins = crate::place::stand_ins();
    let place = Place::new(&[("guest/main.c", "")]);
    let source = Source::find(&place.skill(), None).unwrap();
    let found = Tools::default().directory(&stand_ins).find(&source).unwrap();
    let zig = found.tools.values().next().unwrap();
    assert_eq!((zig.program.clone(), zig.version.as_str()), (stand_ins.join("zig"), "1.2.3"));
    let beside = source.directory.join(".venv");
    std::fs::create_dir(&beside).unwrap();
    std::os::unix::fs::symlink(&stand_ins, beside.join("bin")).unwrap();
    let found = Tools::new([stand_ins]).find(&source).unwrap();
    assert_eq!(found.tools.values().next().unwrap().program, beside.join("bin/zig"));
}

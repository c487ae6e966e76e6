//! The templates, built with the tools of this host: those in `PATH`, and in the directory that
//! `SKILLS_TEST_TOOLS` names.

use std::fs;
use std::path::{Path, PathBuf};

use skills_build::{
    BuildErrorKind, BuildMode, BuildRequest, BuildStatus, Language, ToolFinder, build, template,
};
use skills_test_support::skip;

use crate::fixture::Fixture;

const COMPONENT: [u8; 8] = *b"\0asm\x0d\0\x01\0";
const CORE_MODULE: [u8; 8] = *b"\0asm\x01\0\0\0";

/// Builds a template, and returns the first bytes of its artifact; `None` if this host cannot.
fn header(language: Language) -> Option<[u8; 8]> {
    let fixture = Fixture::new(template(language));
    if language == Language::Rust {
        fixture.write("guest/.cargo/config.toml", "[net]\noffline = true\n");
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut tools = ToolFinder::new(std::env::split_paths(&path));
    if let Some(directory) = std::env::var_os("SKILLS_TEST_TOOLS") {
        tools = tools.directory(PathBuf::from(directory));
    }
    // Building zig's C library takes long, so its cache is kept.
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join("build");
    let request =
        BuildRequest::new(fixture.skill(), tools, work).cargo_target(fixture.path().join("target"));
    let built = match build(&request, BuildMode::IfStale, &mut |_| {}) {
        Ok(built) => built,
        Err(error) if error.kind() == BuildErrorKind::MissingTool => {
            return skipped(&format!("no tools: {error}"));
        }
        Err(error) if language == Language::Rust && error.to_string().contains("offline") => {
            return skipped("no package serde_json without a network");
        }
        Err(error) => panic!("{error}"),
    };
    assert_eq!(built.status, BuildStatus::Built);
    assert_eq!(
        build(&request, BuildMode::IfStale, &mut |_| {})
            .unwrap()
            .status,
        BuildStatus::Fresh
    );
    let expected = if language.is_reproducible() {
        BuildStatus::Reproduced
    } else {
        BuildStatus::SourceUnchanged
    };
    assert_eq!(
        build(&request, BuildMode::Check, &mut |_| {})
            .unwrap()
            .status,
        expected
    );
    fs::read(built.path).unwrap().first_chunk().copied()
}

#[track_caller]
fn skipped(reason: &str) -> Option<[u8; 8]> {
    skip(reason);
    None
}

#[test]
fn rust() {
    assert!(header(Language::Rust).is_none_or(|header| header == COMPONENT));
}

#[test]
fn javascript() {
    assert!(header(Language::JavaScript).is_none_or(|header| header == COMPONENT));
}

#[test]
fn typescript() {
    assert!(header(Language::TypeScript).is_none_or(|header| header == COMPONENT));
}

#[test]
fn c_builds_a_core_module() {
    assert!(header(Language::C).is_none_or(|header| header == CORE_MODULE));
}

#[test]
fn python() {
    assert!(header(Language::Python).is_none_or(|header| header == COMPONENT));
}

//! Whatever files a source contains, a build reads below the skill and writes below it and the work
//! directory.

use std::path::{Component, Path};

use proptest::prelude::*;
use skills_build::{
    ArtifactLock, BuildDirs, BuildMode, BuildRequest, Language, Plan, Source, SourceAccess,
    ToolFinder, Toolchain, build,
};

use crate::fixture::{Fixture, stub_tools};

/// File names with a special meaning on some systems.
fn any_name() -> impl Strategy<Value = String> {
    let odd = prop_oneof![
        Just("..".to_owned()),
        Just("..\\..\\x.py".to_owned()),
        Just("..\\..\\..\\x".to_owned()),
        Just("C:x".to_owned()),
        Just("-o".to_owned()),
        Just("a\nb".to_owned()),
        Just("$(x)".to_owned()),
        Just("app.py".to_owned()),
        Just("Cargo.toml".to_owned()),
        Just("artifact.lock".to_owned()),
        Just("é".to_owned()),
    ];
    prop_oneof![2 => odd, 3 => "[a-z.\\\\ -]{1,8}(\\.c|\\.py|\\.js|)"]
}

/// Paths of files below a source: a few names each.
fn any_files() -> impl Strategy<Value = Vec<Vec<String>>> {
    proptest::collection::vec(proptest::collection::vec(any_name(), 1..3), 0..5)
}

/// Writes the files below `guest`, as far as possible.
fn write(fixture: &Fixture, files: &[Vec<String>]) {
    for parts in files
        .iter()
        .filter(|parts| parts.iter().all(|part| part != ".." && part != "."))
    {
        let path = fixture.skill().join("guest").join(parts.join("/"));
        // A file may have the path of another file's directory.
        if std::fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.exists() {
            std::fs::write(path, "text\n").unwrap();
        }
    }
}

/// Lists the files below a directory.
fn below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .map(Result::unwrap)
    {
        if entry.file_type().unwrap().is_dir() {
            found.extend(below(&entry.path()));
        } else {
            found.push(entry.path().to_str().unwrap().to_owned());
        }
    }
    found.sort();
    found
}

fn is_below(path: &str) -> bool {
    !path.is_empty()
        && Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// The detected source is in the skill, and so are its entry files.
    #[test]
    fn the_source_directory_is_inside_the_skill(files in any_files(), language in proptest::sample::select(&Language::ALL[..])) {
        let fixture = Fixture::new(&[]);
        write(&fixture, &files);
        if let Ok(source) = Source::find(&fixture.skill(), Some(language)) {
            prop_assert!(source.directory.starts_with(fixture.skill()));
            prop_assert!(source.entries.iter().all(|entry| is_below(entry)), "{:?}", source.entries);
        }
    }

    /// A build writes the artifact, the lock file, and caches in the work directory, and nothing
    /// else; names that are paths elsewhere are rejected.
    #[test]
    fn a_build_writes_below_the_skill_and_the_work_directory(files in any_files()) {
        let fixture = Fixture::new(&[("guest/app.py", "text\n")]);
        write(&fixture, &files);
        let before = below(&fixture.path());
        let work = fixture.path().join("deep/er/work");
        let request = BuildRequest::new(fixture.skill(), ToolFinder::default().directory(stub_tools()), &work).language(Language::Python);
        let built = build(&request, BuildMode::Force, &mut |_| {});
        let after = below(&fixture.path());
        let is_expected = |path: &&String| {
            let path = Path::new(path);
            path.starts_with(&work) || path == fixture.skill().join("wasm/skill.wasm") || path == fixture.skill().join("guest/artifact.lock")
        };
        let written: Vec<_> = after.iter().filter(|path| !before.contains(path)).filter(|path| !is_expected(path)).collect();
        prop_assert!(written.is_empty(), "{:?}", written);
        // A directory at the path of the lock file cannot be read.
        let is_odd = |path: &String| path.contains('\\') || path.contains("/artifact.lock/");
        prop_assert_eq!(built.is_err(), before.iter().any(is_odd), "{:?}: {:?}", built, before);
    }

    /// A package whose program name is a path is rejected: the artifact would be copied from
    /// elsewhere.
    #[test]
    fn the_artifact_stays_in_the_target_directory_for_any_package_name(name in prop_oneof!["[a-z/.\\\\_-]{1,8}", Just("../../x".to_owned()), Just("/x".to_owned())]) {
        let manifest = format!("[package]\nname = '{name}'\n");
        let fixture = Fixture::new(&[("guest/Cargo.toml", &manifest)]);
        let directories = BuildDirs {
            stage_dir: "/scratch/stage".into(),
            work_dir: "/scratch".into(),
            cargo_target: Some("/target".into()),
            source: SourceAccess::ReadOnly,
            cargo_home: "/cargo".into(),
        };
        if let Ok(source) = Source::find(&fixture.skill(), None) {
            let plan = Plan::new(&source, &[], &Toolchain::default(), &directories);
            prop_assert_eq!(plan.artifact.parent(), Some(Path::new("/target/wasm32-wasip2/release")), "{}", name);
        }
    }

    /// Parsing a lock file never panics, and a parsed one is written as it was read.
    #[test]
    fn parsed_lock_files_round_trip(text in "((language|sources|artifact|tool|x) ?(c|rust|[ -~\\r]{0,6})\n?){0,6}", any in ".{0,40}") {
        let _ = ArtifactLock::parse(&any);
        if let Some(lock) = ArtifactLock::parse(&text) {
            prop_assert_eq!(ArtifactLock::parse(&lock.to_text()), Some(lock));
        }
    }
}

//! Builds with stubs for compilers.

use std::fs;

use skills_build::{
    Artifact, BuildError, BuildErrorKind, BuildMode, BuildRequest, BuildStatus, ToolFinder, build,
};

use crate::fixture::{Fixture, stub_tools};

fn request(fixture: &Fixture) -> BuildRequest {
    BuildRequest::new(
        fixture.skill(),
        ToolFinder::default().directory(stub_tools()),
        fixture.path().join("work"),
    )
}

fn built(fixture: &Fixture, mode: BuildMode) -> Result<Artifact, BuildError> {
    build(&request(fixture), mode, &mut |_| {})
}

fn status(fixture: &Fixture, mode: BuildMode) -> Result<BuildStatus, BuildErrorKind> {
    built(fixture, mode)
        .map(|artifact| artifact.status)
        .map_err(|error| error.kind())
}

#[test]
fn a_skill_is_rebuilt_only_when_its_source_changes() {
    let fixture = Fixture::new(&[("guest/main.c", "one\n"), ("guest/x.h", "")]);
    assert_eq!(
        status(&fixture, BuildMode::Check),
        Err(BuildErrorKind::Stale)
    );
    let mut lines = Vec::new();
    let artifact = build(&request(&fixture), BuildMode::IfStale, &mut |line| {
        lines.push(line.to_owned())
    })
    .unwrap();
    assert_eq!(
        (artifact.status, artifact.bytes, artifact.path.clone()),
        (
            BuildStatus::Built,
            4,
            fixture.skill().join("wasm/skill.wasm")
        )
    );
    assert_eq!(fs::read_to_string(&artifact.path).unwrap(), "one\n");
    let zig = stub_tools().join("zig").display().to_string();
    assert_eq!(lines[0], format!("$ {zig} version"));
    assert!(
        lines[1].starts_with(&format!("$ {zig} cc -target wasm32-wasi")),
        "{lines:?}"
    );
    assert_eq!(lines[2..], ["a warning"]);
    insta::assert_snapshot!(fs::read_to_string(fixture.skill().join("guest/artifact.lock")).unwrap(), @"
    language c
    sources fa61b1825162fe3cd18cad96dc16cd5a05bb9983a47ec2fc3809aa8fbf23aef9
    artifact 2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806
    tool zig 1.2.3
    ");

    assert_eq!(status(&fixture, BuildMode::IfStale), Ok(BuildStatus::Fresh));
    assert_eq!(
        status(&fixture, BuildMode::Check),
        Ok(BuildStatus::Reproduced)
    );
    assert_eq!(status(&fixture, BuildMode::Force), Ok(BuildStatus::Built));
    fixture.write("guest/x.h", "changed");
    assert_eq!(
        status(&fixture, BuildMode::Check),
        Err(BuildErrorKind::Stale)
    );
    assert_eq!(status(&fixture, BuildMode::IfStale), Ok(BuildStatus::Built));
    assert_eq!(status(&fixture, BuildMode::IfStale), Ok(BuildStatus::Fresh));
    fixture.write("wasm/skill.wasm", "forged");
    assert_eq!(
        status(&fixture, BuildMode::Check),
        Err(BuildErrorKind::Stale)
    );
    assert_eq!(status(&fixture, BuildMode::IfStale), Ok(BuildStatus::Built));
}

#[test]
fn files_created_by_tools_are_not_source() {
    let fixture = Fixture::new(&[("guest/main.c", "one\n")]);
    assert_eq!(status(&fixture, BuildMode::IfStale), Ok(BuildStatus::Built));
    for path in [
        "guest/target/x",
        "guest/node_modules/a/index.js",
        "guest/.venv/lib/x.py",
        "guest/__pycache__/x.pyc",
        "guest/probe.wasm",
    ] {
        fixture.write(path, "made");
        assert_eq!(
            status(&fixture, BuildMode::IfStale),
            Ok(BuildStatus::Fresh),
            "{path}"
        );
    }
    fixture.write("guest/sub/new.h", "");
    assert_eq!(status(&fixture, BuildMode::IfStale), Ok(BuildStatus::Built));
}

#[test]
fn an_unreproducible_artifact_is_reported() {
    let fixture = Fixture::new(&[("guest/main.c", "one\n")]);
    assert_eq!(status(&fixture, BuildMode::IfStale), Ok(BuildStatus::Built));
    // As another compiler would have built them.
    fixture.write("wasm/skill.wasm", "two\n");
    let lock = fs::read_to_string(fixture.skill().join("guest/artifact.lock")).unwrap();
    let of_two = "27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a";
    let line = lock
        .lines()
        .find(|line| line.starts_with("artifact "))
        .unwrap();
    fixture.write(
        "guest/artifact.lock",
        &lock.replace(line, &format!("artifact {of_two}")),
    );
    let error = built(&fixture, BuildMode::Check).unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::NotReproduced);
    insta::assert_snapshot!(fixture.redact(&error), @"artifact `DIRECTORY/skill/wasm/skill.wasm` is not reproducible with these tools (built with zig 1.2.3)");
    assert_eq!(
        fs::read_to_string(fixture.skill().join("wasm/skill.wasm")).unwrap(),
        "two\n",
        "a check changes nothing"
    );
}

#[test]
fn for_unreproducible_languages_the_source_is_compared() {
    let fixture = Fixture::new(&[("guest/app.py", "one\n")]);
    let first = built(&fixture, BuildMode::IfStale).unwrap();
    assert_eq!(status(&fixture, BuildMode::IfStale), Ok(BuildStatus::Fresh));
    assert_eq!(
        status(&fixture, BuildMode::Check),
        Ok(BuildStatus::SourceUnchanged)
    );
    assert_ne!(
        built(&fixture, BuildMode::Force).unwrap().sha256,
        first.sha256
    );
    fixture.write("guest/app.py", "two\n");
    assert_eq!(
        status(&fixture, BuildMode::Check),
        Err(BuildErrorKind::Stale)
    );
    assert_eq!(
        fs::read_dir(fixture.skill().join("guest")).unwrap().count(),
        2,
        "only the source and its lock"
    );
}

#[test]
fn a_failing_compiler_changes_nothing() {
    let fixture = Fixture::new(&[("guest/main.c", "one\n")]);
    assert_eq!(status(&fixture, BuildMode::IfStale), Ok(BuildStatus::Built));
    let lock = fs::read(fixture.skill().join("guest/artifact.lock")).unwrap();
    fixture.write("guest/main.c", "wrong\n");
    let error = built(&fixture, BuildMode::IfStale).unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::CompileFailed);
    assert_eq!(
        error.to_string(),
        "`zig` ended with exit status: 1\n./main.c: that is wrong"
    );
    assert_eq!(
        fs::read_to_string(fixture.skill().join("wasm/skill.wasm")).unwrap(),
        "one\n"
    );
    assert_eq!(
        fs::read(fixture.skill().join("guest/artifact.lock")).unwrap(),
        lock
    );
    let kept: Vec<_> = fs::read_dir(fixture.path().join("work"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        kept.iter()
            .all(|name| !name.to_string_lossy().starts_with("stage-")),
        "{kept:?}"
    );
}

#[test]
fn a_source_without_a_skill_is_built_to_the_given_output() {
    let fixture = Fixture::new(&[("main.c", "one\n")]);
    let output = fixture.skill().join("probe.wasm");
    let artifact = build(
        &request(&fixture).output(&output),
        BuildMode::IfStale,
        &mut |_| {},
    )
    .unwrap();
    assert_eq!(
        (artifact.path, fs::read_to_string(&output).unwrap()),
        (output, "one\n".to_owned())
    );
    assert!(fixture.skill().join("artifact.lock").is_file());
}

#[test]
fn symlinks_and_special_files_are_rejected() {
    use std::os::unix::fs::symlink;
    let fixture = Fixture::new(&[("guest/main.c", "one\n"), ("outside.h", "secret")]);
    symlink("../outside.h", fixture.skill().join("guest/secret.h")).unwrap();
    let error = built(&fixture, BuildMode::IfStale).unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::CompileFailed);
    insta::assert_snapshot!(fixture.redact(&error), @"DIRECTORY/skill/guest/secret.h: is a symlink; source files must be regular files");
    fs::remove_file(fixture.skill().join("guest/secret.h")).unwrap();
    let _socket =
        std::os::unix::net::UnixListener::bind(fixture.skill().join("guest/socket")).unwrap();
    insta::assert_snapshot!(fixture.redact(built(&fixture, BuildMode::IfStale).unwrap_err()), @"DIRECTORY/skill/guest/socket: not a regular file");
    assert!(!fixture.skill().join("wasm").exists());
}

#[test]
fn source_size_and_file_count_are_limited() {
    let fixture = Fixture::new(&[("guest/main.c", "one\n"), ("guest/large.h", "")]);
    // A sparse file takes no disk space.
    fs::File::options()
        .write(true)
        .open(fixture.skill().join("guest/large.h"))
        .unwrap()
        .set_len(64 << 20)
        .unwrap();
    insta::assert_snapshot!(fixture.redact(built(&fixture, BuildMode::IfStale).unwrap_err()), @"DIRECTORY/skill/guest: source exceeds 64 MiB");
    fs::remove_file(fixture.skill().join("guest/large.h")).unwrap();
    (0..10_000).for_each(|number| fixture.write(&format!("guest/many/{number}.h"), ""));
    insta::assert_snapshot!(fixture.redact(built(&fixture, BuildMode::IfStale).unwrap_err()), @"DIRECTORY/skill/guest: source exceeds 10000 files");
    fs::remove_file(fixture.skill().join("guest/many/0.h")).unwrap();
    assert_eq!(status(&fixture, BuildMode::IfStale), Ok(BuildStatus::Built));
}

#[test]
fn symlinks_are_replaced_and_not_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let fixture = Fixture::new(&[("guest/main.c", "one\n"), ("mine", "kept"), ("wasm/x", "")]);
    for name in [
        "wasm/skill.wasm",
        "wasm/skill.wasm.new",
        "guest/artifact.lock",
    ] {
        symlink(fixture.skill().join("mine"), fixture.skill().join(name)).unwrap();
    }
    // That name is not used by this crate, and no source has it.
    assert_eq!(status(&fixture, BuildMode::IfStale), Ok(BuildStatus::Built));
    assert_eq!(
        fs::read_to_string(fixture.skill().join("mine")).unwrap(),
        "kept"
    );
    let metadata = fixture
        .skill()
        .join("wasm/skill.wasm")
        .symlink_metadata()
        .unwrap();
    assert!(metadata.is_file() && metadata.permissions().mode() & 0o400 != 0);
    assert_eq!(
        metadata.permissions().mode(),
        fixture
            .skill()
            .join("mine")
            .metadata()
            .unwrap()
            .permissions()
            .mode(),
        "as all new files"
    );
    assert_eq!(
        fs::read_dir(fixture.skill().join("wasm")).unwrap().count(),
        3,
        "nothing is left behind"
    );
}

#[test]
fn directories_outside_of_the_skill_require_an_output() {
    use std::os::unix::fs::symlink;
    let fixture = Fixture::new(&[("SKILL.md", "")]);
    let (guest, wasm) = (
        fixture.path().join("elsewhere"),
        fixture.path().join("artifacts"),
    );
    fs::create_dir(&guest).unwrap();
    fs::create_dir(&wasm).unwrap();
    fs::write(guest.join("main.c"), "one\n").unwrap();
    symlink(&guest, fixture.skill().join("guest")).unwrap();
    let error = built(&fixture, BuildMode::IfStale).unwrap_err();
    insta::assert_snapshot!(fixture.redact(&error), @"`DIRECTORY/skill/guest` is outside of the skill, at `DIRECTORY/elsewhere`; pass `--output`");
    let output = fixture.path().join("out.wasm");
    assert_eq!(
        build(
            &request(&fixture).output(&output),
            BuildMode::IfStale,
            &mut |_| {}
        )
        .unwrap()
        .status,
        BuildStatus::Built
    );
    assert_eq!(fs::read_to_string(output).unwrap(), "one\n");
    fs::remove_file(fixture.skill().join("guest")).unwrap();
    fixture.write("src/main.c", "one\n");
    symlink("src", fixture.skill().join("guest")).unwrap();
    symlink(&wasm, fixture.skill().join("wasm")).unwrap();
    let error = built(&fixture, BuildMode::IfStale).unwrap_err();
    insta::assert_snapshot!(fixture.redact(&error), @"`DIRECTORY/skill/wasm` is outside of the skill, at `DIRECTORY/artifacts`; pass `--output`");
    assert_eq!(fs::read_dir(&wasm).unwrap().count(), 0);
    fs::remove_file(fixture.skill().join("wasm")).unwrap();
    assert_eq!(status(&fixture, BuildMode::IfStale), Ok(BuildStatus::Built));
}

#[test]
fn the_lock_file_of_a_skill_describes_its_own_artifact() {
    let fixture = Fixture::new(&[("guest/main.c", "one\n")]);
    let output = fixture.path().join("out.wasm");
    assert_eq!(
        build(
            &request(&fixture).output(&output),
            BuildMode::IfStale,
            &mut |_| {}
        )
        .unwrap()
        .status,
        BuildStatus::Built
    );
    assert!(
        output.is_file()
            && !fixture.skill().join("guest/artifact.lock").exists()
            && !fixture.skill().join("wasm").exists()
    );
    assert_eq!(status(&fixture, BuildMode::IfStale), Ok(BuildStatus::Built));
    assert_eq!(
        build(
            &request(&fixture).output(&output),
            BuildMode::Check,
            &mut |_| {}
        )
        .unwrap()
        .status,
        BuildStatus::Reproduced
    );
}
